#!/usr/bin/env python3
"""Checks a saved lookup against a synthetic checkpoint, value by value, without the checkpoint's tables.

    check_synth.py --checkpoint DIR --lookup FILE.safetensors

DIR is a folder that `engram synth` wrote: config.json, tokenizer.json and engram_synth.json are read, nothing else.
FILE is what `engram lookup --output safetensors` saved: tokens I64 [T], token_mask U8 [T], and for each layer N
layers.N.hash_ids I64 [T, K] and/or layers.N.rows, U8 [T, K, D + D/32] (packed) or BF16 [T, K, D].

Hash constants, hash ids and row content are computed here from the published rules and docs/synthetic.md: standard
library only, and no code in common with the service. Exit code 1 when anything differs.
"""

import argparse
import json
import pathlib
import struct
import sys
import unicodedata

MASK64 = 2**64 - 1
MASK32 = 2**32 - 1
DEAD = -1


class Wrong(Exception):
    """What was found does not fit what should be there."""


# ---- files -----------------------------------------------------------------------------------------------------------


def read_safetensors(path):
    """{name: (dtype, shape, memoryview)}"""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    body = memoryview(data)[8 + length:]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["dtype"], entry["shape"], body[begin:end])
    return tensors


def integers(tensor):
    """The values of an I64, U64, U8 or BOOL tensor, flat."""
    dtype, _, data = tensor
    return data.cast({"I64": "q", "U64": "Q", "U8": "B", "BOOL": "B"}[dtype]).tolist()


class Config:
    """The engram keys of config.json, flat or under text_config."""

    def __init__(self, path):
        whole = json.loads(pathlib.Path(path).read_text())
        keys = whole if "engram_layer_ids" in whole else whole["text_config"]
        self.layer_ids = keys["engram_layer_ids"]
        self.rows = keys["engram_num_embeddings"]
        self.ngram = keys["engram_max_ngram_size"]
        self.heads = keys["engram_n_heads"]
        self.dim = keys["engram_head_dim"]
        self.first_prime_above = keys["engram_vocab_size"]
        self.classes = keys["engram_compressed_vocab_size"]
        self.vocabulary = keys["vocab_size"]
        self.pad = keys["engram_pad_id"] if "engram_pad_id" in keys else keys["engram_pad_token_id"]
        self.columns = (self.ngram - 1) * self.heads


# ---- token map -------------------------------------------------------------------------------------------------------


def byte_alphabet():
    """Character -> byte of the byte-level alphabet."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}


def is_white_space(char):
    return char.isspace() and not "\x1c" <= char <= "\x1f"


def key_of(raw, text):
    """What tokens fold by."""
    if "\ufffd" in text:
        return raw
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    folded = "".join(c for c in folded if not unicodedata.category(c).startswith("M"))
    folded = "".join(c.lower() for c in folded)
    out = []
    for c in folded:
        if c in " \t\r\n":
            if out[-1:] != [" "]:
                out.append(" ")
        else:
            out.append(c)
    if out != [" "]:
        while out and is_white_space(out[0]):
            out.pop(0)
        while out and is_white_space(out[-1]):
            out.pop()
    return "".join(out) or text


def derive_token_map(tokenizer, vocabulary):
    """[token] -> class, in order of first appearance."""
    alphabet = byte_alphabet()
    raw = {i: word for word, i in tokenizer["model"]["vocab"].items()}
    text = {}
    for i, word in raw.items():
        if all(c in alphabet for c in word):
            text[i] = bytes(alphabet[c] for c in word).decode("utf-8", errors="replace")
        else:
            text[i] = word
    for added in tokenizer["added_tokens"]:
        raw[added["id"]] = text[added["id"]] = added["content"]
    classes = {}
    return [classes.setdefault(key_of(raw[i], text[i]), len(classes)) for i in range(vocabulary)], len(classes)


# ---- primes and multipliers ------------------------------------------------------------------------------------------


def is_prime(n):
    """Miller-Rabin with bases that decide every n < 2^64."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    if n < 2:
        return False
    if any(n % p == 0 for p in bases):
        return n in bases
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in bases:
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def derive_primes(config):
    """[layer][column]: from engram_vocab_size up afresh for each layer and n-gram size, none used twice."""
    taken, layers = set(), []
    for _ in config.layer_ids:
        columns = []
        for _ in range(config.ngram - 1):
            candidate = config.first_prime_above - 1
            for _ in range(config.heads):
                candidate += 1
                while candidate in taken or not is_prime(candidate):
                    candidate += 1
                taken.add(candidate)
                columns.append(candidate)
        layers.append(columns)
    return layers


def seed_words(entropy):
    """numpy's SeedSequence(entropy).generate_state(4, uint64)."""
    words = [entropy >> 32 * i & MASK32 for i in range(max(1, (entropy.bit_length() + 31) // 32))]
    constant = 0x43B0D7E5

    def hashed(value):
        nonlocal constant
        value ^= constant
        constant = constant * 0x931E8875 & MASK32
        value = value * constant & MASK32
        return value ^ value >> 16

    def mixed(x, y):
        value = (0xCA01F9DD * x - 0x4973F715 * y) & MASK32
        return value ^ value >> 16

    pool = [hashed(words[i] if i < len(words) else 0) for i in range(4)]
    for source in range(4):
        for target in range(4):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source]))
    for word in words[4:]:
        for target in range(4):
            pool[target] = mixed(pool[target], hashed(word))
    constant, state = 0x8B51F9DD, []
    for i in range(8):
        value = pool[i % 4] ^ constant
        constant = constant * 0x58F38DED & MASK32
        value = value * constant & MASK32
        state.append(value ^ value >> 16)
    return [state[2 * i] | state[2 * i + 1] << 32 for i in range(4)]


class Pcg64:
    """numpy's default bit generator."""

    MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645

    def __init__(self, entropy):
        high, low, stream_high, stream_low = seed_words(entropy)
        self.increment = ((stream_high << 64 | stream_low) << 1 | 1) & 2**128 - 1
        self.state = self.increment
        self.state = (self.state + (high << 64 | low)) & 2**128 - 1
        self._step()

    def _step(self):
        self.state = (self.state * self.MULTIPLIER + self.increment) & 2**128 - 1

    def next64(self):
        self._step()
        value = (self.state >> 64 ^ self.state) & MASK64
        turn = self.state >> 122
        return (value >> turn | value << (64 - turn)) & MASK64

    def below(self, bound):
        """Lemire's rejection on 64 bits, as Generator.integers does for ranges above 2^32."""
        if bound <= 2**32:
            raise Wrong(f"a multiplier range of {bound} takes numpy's 32-bit path, which is not written here")
        product = self.next64() * bound
        while product & MASK64 < (2**64 - bound) % bound:
            product = self.next64() * bound
        return product >> 64


def derive_multipliers(config):
    bound = max(1, (2**63 - 1) // config.classes // 2)
    layers = []
    for layer_id in config.layer_ids:
        generator = Pcg64(10007 * layer_id)
        layers.append([2 * generator.below(bound) + 1 for _ in range(config.ngram)])
    return layers


# ---- hash ------------------------------------------------------------------------------------------------------------


def hash_position(ids, position, pad, multipliers, primes, heads):
    """Row ids of one position of one layer."""
    window, blocked = [], False
    for shift in range(len(multipliers)):
        blocked = blocked or position < shift or ids[position - shift] == DEAD
        window.append(pad if blocked else ids[position - shift])
    rolled, offset, out = window[0] * multipliers[0], 0, []
    for size in range(1, len(multipliers)):
        rolled ^= window[size] * multipliers[size]
        for prime in primes[(size - 1) * heads:size * heads]:
            out.append(rolled % prime + offset)
            offset += prime
    return out


# ---- row content: docs/synthetic.md ----------------------------------------------------------------------------------

GOLDEN = 0x9E3779B97F4A7C15
NO_NAN = bytes(b ^ 1 if b & 0x7F == 0x7F else b for b in range(256))
SCALE = bytes(119 + b % 16 for b in range(256))


def mix(z):
    z &= MASK64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK64
    return z ^ z >> 31


def synthetic_row(seed, layer_id, row, dim):
    """The packed row: dim codes, dim/32 scales."""
    layer_key = mix(mix(seed + GOLDEN) + (layer_id + 1) * GOLDEN)
    row_key = mix(layer_key + (row + 1) * GOLDEN)
    scales = dim // 32
    words = dim // 8 + (scales + 7) // 8
    stream = b"".join(mix(row_key + (i + 1) * GOLDEN).to_bytes(8, "little") for i in range(words))
    codes = bytearray(stream[:dim].translate(NO_NAN))
    if codes[0] & 0x7F == 0:
        codes[0] |= 0x38
    return bytes(codes) + stream[dim:dim + scales].translate(SCALE)


def e4m3(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    value = (8 + mantissa) * 2.0 ** (exponent - 10) if exponent else mantissa * 2.0**-9
    return -value if code & 0x80 else value


def bf16_table(scale):
    """The two bytes of bf16(e4m3(code) * 2^(scale-127)) for each code: exact for every scale that synth writes."""
    return [struct.pack("<f", e4m3(code) * 2.0 ** (scale - 127))[2:] for code in range(256)]


BF16 = {scale: bf16_table(scale) for scale in range(119, 135)}


def dequantized(packed, dim):
    out = []
    for block in range(dim // 32):
        table = BF16[packed[dim + block]]
        out += [table[code] for code in packed[32 * block:32 * block + 32]]
    return b"".join(out)


# ---- the check -------------------------------------------------------------------------------------------------------


class Checker:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.config = Config(folder / "config.json")
        note = json.loads((folder / "engram_synth.json").read_text())
        if note["format"] != 1:
            raise Wrong(f"engram_synth.json has format {note['format']}; 1 is known here")
        self.seed = note["seed"]
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        self.token_map, classes = derive_token_map(tokenizer, self.config.vocabulary)
        if classes != self.config.classes:
            raise Wrong(f"tokenizer.json folds to {classes} classes; config.json says {self.config.classes}")
        self.pad = self.token_map[self.config.pad]
        self.primes = derive_primes(self.config)
        if [sum(columns) for columns in self.primes] != self.config.rows:
            raise Wrong(f"the primes add up to {[sum(c) for c in self.primes]}; config.json says {self.config.rows}")
        self.multipliers = derive_multipliers(self.config)
        self.values = 0
        self.mismatches = 0

    def compare(self, what, found, wanted):
        self.values += 1
        if found != wanted:
            self.mismatches += 1
            if self.mismatches <= 5:
                print(f"{what}: found {found}, wanted {wanted}", file=sys.stderr)

    def check_layer(self, index, ids, tensors):
        config, layer_id = self.config, self.config.layer_ids[index]
        name = f"layers.{layer_id}"
        hashes = tensors.get(f"{name}.hash_ids")
        rows = tensors.get(f"{name}.rows")
        if hashes is None and rows is None:
            return 0
        if hashes is not None:
            hashes = self.shaped(hashes, f"{name}.hash_ids", [len(ids), config.columns], ("I64", "U64"))
            hashes = integers(hashes)
        width = 0
        if rows is not None:
            packed = rows[0] == "U8"
            width = config.dim + config.dim // 32 if packed else 2 * config.dim
            shape = [len(ids), config.columns, width if packed else config.dim]
            rows = self.shaped(rows, f"{name}.rows", shape, ("U8", "BF16"))[2]
        at = 0
        for position in range(len(ids)):
            wanted = hash_position(ids, position, self.pad, self.multipliers[index], self.primes[index], config.heads)
            for column, row in enumerate(wanted):
                where = f"layer {layer_id}, position {position}, column {column}"
                if hashes is not None:
                    self.compare(f"{where}: hash id", hashes[at], row)
                if rows is not None:
                    content = synthetic_row(self.seed, layer_id, row, config.dim)
                    content = content if packed else dequantized(content, config.dim)
                    self.compare(f"{where}: row {row}", bytes(rows[at * width:(at + 1) * width]), content)
                at += 1
        return at

    def shaped(self, tensor, name, shape, dtypes):
        if tensor[0] not in dtypes or tensor[1] != shape:
            raise Wrong(f"{name} is {tensor[0]} {tensor[1]}; wanted {' or '.join(dtypes)} {shape}")
        return tensor

    def check(self, path):
        tensors = read_safetensors(path)
        tokens = integers(tensors["tokens"])
        mask = integers(tensors["token_mask"]) if "token_mask" in tensors else [1] * len(tokens)
        if len(mask) != len(tokens):
            raise Wrong(f"token_mask has {len(mask)} entries for {len(tokens)} tokens")
        ids = [self.token_map[token] if live else DEAD for token, live in zip(tokens, mask)]
        rows = sum(self.check_layer(index, ids, tensors) for index in range(len(self.config.layer_ids)))
        if rows == 0:
            raise Wrong(f"{path} holds no rows and no hash ids of layers {self.config.layer_ids}")
        print(f"{len(tokens)} tokens, {rows} rows, {self.values} values compared, {self.mismatches} mismatches")
        return self.mismatches == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", required=True, help="folder that engram synth wrote")
    parser.add_argument("--lookup", required=True, help="what engram lookup saved")
    options = parser.parse_args()
    try:
        return 0 if Checker(options.checkpoint).check(options.lookup) else 1
    except (Wrong, KeyError) as error:
        print(f"check_synth: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
