#!/usr/bin/env python3
"""Rows that are there again, between ranks and on the wire: mpirun, both ways of gathering, every byte compared."""

import argparse
import json
import re
import tempfile

from engram_client import BF16, PACKED, Stream, segment
from engram_tool import Tool, files_of, last_line, serve

SUMMARY = r"\d+ steps, [1-9][0-9]{3,} rows, 0 mismatches"


def expand(frame, row_bytes):
    """All rows of a frame: what docs/dedup.md says of row_index."""
    if not frame.row_index:
        return frame.rows
    assert len(frame.rows) == row_bytes * (max(frame.row_index) + 1), "each row is used"
    return b"".join(frame.rows[row * row_bytes:(row + 1) * row_bytes] for row in frame.row_index)


def check_frames(server):
    """Stock gRPC: fewer bytes, the same rows; and none of it unless it is asked for."""
    with Stream(server.address) as stream:
        model = stream.welcome.model
        assert "unique_rows" in model.capabilities, model.capabilities
        tokens = [1, 2, 3] * 100
        for row_format, row_bytes in ((PACKED, model.geometry.packed_row_bytes), (BF16, 2 * model.geometry.head_dim)):
            if row_format not in model.formats:
                continue
            whole = stream.step([segment(0, 0, tokens)], row_format).expect_ok()
            unique = stream.step([segment(0, 0, tokens)], row_format, unique_rows=True).expect_ok()
            for layer in model.geometry.layer_ids:
                assert not any(frame.row_index for frame in whole.layers[layer])
                rows = b"".join(expand(frame, row_bytes) for frame in unique.layers[layer])
                assert rows == whole.rows(layer), f"layer {layer}"
                assert len(unique.rows(layer)) < len(rows) / 10, (len(unique.rows(layer)), len(rows))


def share_of_bytes(text):
    found = re.search(r"unique rows: (\d+) bytes came for (\d+) bytes compared", text)
    assert found, text
    return int(found[1]) / int(found[2])


def check_verify(tool, server, case):
    words = ["verify", "--server", server.address, *files_of(case), "--unique-rows", "--seed", 21]
    text, _ = tool(*words, "--steps", 200, "--streams", 2, "--cancel", 0.1)
    assert re.fullmatch(SUMMARY, last_line(text)), text
    share_of_bytes(text)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as texts:
        texts.write(json.dumps({"tokens": [i % 7 for i in range(300)]}) + "\n")
        texts.flush()
        script = ["--script", "prefill-decode", "--tokens", texts.name, "--chunk", 128]
        text, _ = tool(*words, *script)
        assert re.fullmatch(SUMMARY, last_line(text)), text
        assert share_of_bytes(text) < 0.5, text
        check_repeats(tool, case, texts.name)
    _, error = tool(*words, "--formats", "hash_ids", "--steps", 5)
    assert error == "", error


def check_repeats(tool, case, texts):
    text, _ = tool("repeats", *files_of(case), "--tokens", texts)
    assert re.search(r"(?m)^165 tokens +2 +\d+ ", text) and re.search(r"(?m)^a whole text +1 +\d+ ", text), text
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as empty:
        _, error = tool("repeats", *files_of(case), "--tokens", empty.name, code=2)
    assert "holds no tokens" in error, error


def check_lookup(tool, server):
    words = ["lookup", "--server", server.address, "--tokens", ",".join(["4", "5", "6"] * 20), "--format", "bf16",
             "--output", "json"]
    assert tool(*words, "--unique-rows") == tool(*words)


def check_load(tool, server, case):
    words = ["load", "--server", server.address, "--profile", "prefill", "--tokens", 100, "--duration", "1s",
             "--warm-up", "0s", "--verify-fraction", 1, *files_of(case), "--quiet", "--slo", "error_rate=0"]
    text, _ = tool(*words, "--format", "bf16", "--unique-rows")
    assert "sent once a frame" in text, text
    _, error = tool(*words, "--format", "hash_ids", "--unique-rows", code=2)
    assert "--unique-rows: --format hash_ids has no rows" in error, error


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--tool", required=True)
    options = parser.parse_args()
    tool = Tool(options.tool)
    for mode, repeated in (("OWNER_GATHER", "GATHER_ONCE"), ("ALL_REDUCE_BF16", "GATHER_ONCE"),
                           ("ALL_REDUCE_PACKED", "GATHER_EACH")):
        more = ["--combine", mode, "--set", f"sharding.repeated_rows={repeated}"]
        with serve(options.server, "medium", *more, ranks=2) as server:
            check_frames(server)
            check_verify(tool, server, "medium")
            check_lookup(tool, server)
            check_load(tool, server, "medium")
            word = "once, then copied" if repeated == "GATHER_ONCE" else "each time"
            assert f"several times are gathered {word}" in server.log(), server.log()
        print(f"{mode}, {repeated}: every byte as without", flush=True)
    return 0


if __name__ == "__main__":
    main()
