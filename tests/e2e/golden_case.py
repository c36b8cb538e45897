"""One golden case of tests/golden/data: what the reference returned, as the bytes a server must send."""

import array
import json
import pathlib
import struct

from engram_client import BF16, HASH_IDS, PACKED, SOURCE

DATA = SOURCE / "tests" / "golden" / "data"
NAN = 0x7FC0
MINUS_ZERO = 0x8000


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["shape"], data[8 + length + begin:8 + length + end])
    return metadata, tensors


def int64s(data):
    values = array.array("q")
    values.frombytes(data)
    return values.tolist()


def one_nan(rows):
    """Every NaN as the one that servers write."""
    values = array.array("H")
    values.frombytes(rows)
    for i, value in enumerate(values):
        if value & 0x7FFF > 0x7F80:
            values[i] = NAN
    return values.tobytes()


def without_minus_zero(rows):
    """As a sum over ranks leaves it: -0 + 0 is +0."""
    values = array.array("H")
    values.frombytes(rows)
    for i, value in enumerate(values):
        if value == MINUS_ZERO:
            values[i] = 0
    return values.tobytes()


class GoldenStep:
    """One call: `batch` sequences of `length` tokens at start_pos."""

    def __init__(self, case, number):
        prefix = f"step.{number}"
        shape, ids = case.tensors[f"{prefix}.input_ids"]
        self.batch, self.length = shape
        ids = int64s(ids)
        self.tokens = [ids[b * self.length:(b + 1) * self.length] for b in range(self.batch)]
        (self.start_pos,) = int64s(case.tensors[f"{prefix}.start_pos"][1])
        self.masks = [None] * self.batch
        if f"{prefix}.token_mask" in case.tensors:
            mask = case.tensors[f"{prefix}.token_mask"][1]
            self.masks = [mask[b * self.length:(b + 1) * self.length] for b in range(self.batch)]
        self.wanted = {PACKED: {}, BF16: {}, HASH_IDS: {}}
        self.wanted_summed = {}  # bf16 after a sum over ranks
        hashes = int64s(case.tensors[f"{prefix}.hash_ids"][1])
        columns, layers = case.columns, len(case.layer_ids)
        for index, layer in enumerate(case.layer_ids):
            rows = [hashes[(t * layers + index) * columns:(t * layers + index + 1) * columns]
                    for t in range(self.batch * self.length)]
            flat = [row for token in rows for row in token]
            self.wanted[HASH_IDS][layer] = flat
            self.wanted[PACKED][layer] = b"".join(case.packed_row(layer, row) for row in flat)
            self.wanted[BF16][layer] = one_nan(case.tensors[f"{prefix}.layers.{layer}.rows"][1])
            self.wanted_summed[layer] = without_minus_zero(self.wanted[BF16][layer])


class GoldenCase:
    def __init__(self, name):
        metadata, self.tensors = read_safetensors(DATA / f"{name}.safetensors")
        keys = json.loads(metadata["engram"])
        self.name = name
        self.layer_ids = keys["engram_layer_ids"]
        self.rows = keys["engram_num_embeddings"]
        self.ngram = keys["engram_max_ngram_size"]
        self.heads = keys["engram_n_heads"]
        self.dim = keys["engram_head_dim"]
        self.columns = (self.ngram - 1) * self.heads
        self.token_map = int64s(self.tensors["token_map"][1])
        self.pad = keys["pad_id_compressed"]
        multipliers = int64s(self.tensors["multipliers"][1])
        primes = int64s(self.tensors["primes"][1])
        count = range(len(self.layer_ids))
        self.multipliers = [multipliers[i * self.ngram:(i + 1) * self.ngram] for i in count]
        self.primes = [primes[i * self.columns:(i + 1) * self.columns] for i in count]
        # The tables are in the checkpoint: weight and scale of a layer, perhaps in different shards.
        self.tables = {}
        for shard in sorted((DATA / f"{name}_checkpoint").glob("*.safetensors")):
            for tensor, (_, data) in read_safetensors(shard)[1].items():
                if ".engram.embed." in tensor:
                    self.tables[tensor] = data
        self.steps = [GoldenStep(self, number) for number in range(keys["steps"])]

    def packed_row(self, layer, row):
        weight = self.tables[f"layers.{layer}.engram.embed.weight"]
        scale = self.tables[f"layers.{layer}.engram.embed.scale"]
        scales = self.dim // 32
        return weight[row * self.dim:(row + 1) * self.dim] + scale[row * scales:(row + 1) * scales]

    def checkpoint_arguments(self):
        return ["--checkpoint", str(DATA / f"{self.name}_checkpoint"),
                "--hash-constants", str(DATA / f"{self.name}_constants.gguf")]

    def gguf_arguments(self):
        return ["--checkpoint", str(DATA / f"{self.name}_tables.gguf")]
