#!/usr/bin/env python3
"""The tool `engram` against a real server: info, lookup, and a verify that passes and that fails when it must."""

import argparse
import json
import pathlib
import re
import shutil
import struct
import tempfile
import threading
import time

from client_tool_usage import check_output, check_usage
from engram_tool import DATA, Tool, counted, files_of, last_line, serve


def check_info(tool, server, case):
    of_server = json.loads(tool("info", "--server", server.address, "--json")[0])
    of_files = json.loads(tool("info", *files_of(case), "--json")[0])
    for key in ("geometry", "constants_digest", "model_digest", "name"):
        assert of_server[key] == of_files[key], (key, of_server[key], of_files[key])
    assert of_server["health"] == "SERVING", of_server
    assert len(of_server["model_digest"]) == 64, of_server
    text, _ = tool("info", "--server", server.address)
    assert f"model_digest: {of_server['model_digest']}\n" in text, text
    return of_server


def lookup(tool, server, *words):
    return json.loads(tool("lookup", "--server", server.address, *words, "--output", "json")[0])


def check_lookup(tool, server, info):
    ids = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
    mask = [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1]
    tokens, bits = ",".join(map(str, ids)), ",".join(map(str, mask))
    whole = lookup(tool, server, "--tokens", tokens, "--mask", bits)
    assert whole["tokens"] == ids and whole["token_mask"] == mask, whole
    assert [layer["layer"] for layer in whole["layers"]] == info["geometry"]["layer_ids"], whole
    for chunk in (1, 2, 4):
        assert lookup(tool, server, "--tokens", tokens, "--mask", bits, "--chunk", chunk) == whole, chunk
    tail = lookup(tool, server, "--tokens", "5,9,2", "--start-pos", 4, "--lookback", "1,4,1",
                  "--lookback-mask", "1,1,0")
    for there, here in zip(whole["layers"], tail["layers"]):
        assert here["hash_ids"] == there["hash_ids"][4:7], (here["hash_ids"], there["hash_ids"])
        assert here["rows_hex"] == there["rows_hex"][4:7]
        assert {len(row) for token in here["rows_hex"] for row in token} == {2 * info["geometry"]["packed_row_bytes"]}
    text, _ = tool("lookup", "--server", server.address, "--tokens", "1,2", "--format", "bf16", "--layers", 1)
    assert len(text.splitlines()) == 1 + 2 * info["geometry"]["columns"], text


def check_verify(tool, server, case):
    text, _ = tool("verify", "--server", server.address, *files_of(case), "--steps", 150, "--seed", 11)
    assert re.fullmatch(r"150 steps, [1-9][0-9]{4,} rows, 0 mismatches", last_line(text)), text
    again, _ = tool("verify", "--server", server.address, *files_of(case), "--steps", 150, "--seed", 11)
    assert last_line(again) == last_line(text), "the same seed must make the same traffic"
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as texts:
        texts.write(json.dumps({"tokens": [i * i % 60 for i in range(200)]}) + "\n")
        texts.write(json.dumps({"tokens": [5] * 70, "mask": [1] * 60 + [0] * 10}) + "\n")
        texts.flush()
        text, _ = tool("verify", "--server", server.address, *files_of(case), "--script", "prefill-decode", "--tokens",
                       texts.name, "--chunk", 64, "--decode", 20)
        assert re.search(r"(?m)^all +44 +270 ", text), text
        assert re.fullmatch(r"44 steps, [1-9][0-9]+ rows, 0 mismatches", last_line(text)), text
    _, error = tool("verify", "--server", server.address, *files_of("extremes" if case == "tiny" else "tiny"), code=1)
    assert "geometry" in error, error


def check_streams(tool, server, case):
    text, _ = tool("verify", "--server", server.address, *files_of(case), "--steps", 400, "--streams", 8, "--in-flight",
                   4, "--forks", 0.2, "--cancel", 0.3, "--speculative", "--seed", 12)
    assert re.fullmatch(r"400 steps, [1-9][0-9]{3,} rows, 0 mismatches", last_line(text)), text
    for words in ("forks", "of other clients", "draft trees", "draft blocks", r"of \d+ tokens rejected",
                  "cancelled steps"):
        assert counted(text, words) > 0, (words, text)
    assert counted(text, "moves between servers") == 0, text


def check_servers(options, tool):
    """Sequences move between two servers of one model; servers of different models are told apart."""
    program = options.server
    with serve(program, "tiny") as one, serve(program, "tiny", shards=3) as two, serve(program, "extremes") as other:
        text, _ = tool("verify", "--servers", f"{one.address},{two.address}", *files_of("tiny"), "--steps", 400,
                       "--streams", 4, "--forks", 0.1, "--cancel", 0.1, "--seed", 13)
        assert re.fullmatch(r"400 steps, [1-9][0-9]{3,} rows, 0 mismatches", last_line(text)), text
        assert counted(text, "moves between servers") > 20, text
        _, error = tool("verify", "--servers", f"{one.address},{other.address}", *files_of("tiny"), code=1)
        assert "constants_digest" in error and one.address in error and other.address in error, error


def table_bytes(folder, name):
    """The file and extent of a tensor of a checkpoint folder."""
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    path = folder / index["weight_map"][name]
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        begin, end = json.loads(file.read(length))[name]["data_offsets"]
    return path, 8 + length + begin, end - begin


def digest(tool, folder):
    words = ["info", "--checkpoint", folder, "--hash-constants", DATA / "tiny_constants.gguf", "--json"]
    return json.loads(tool(*words)[0])["model_digest"]


def check_one_byte(options, tool, folder):
    """A file that differs from the served one in one byte a row, in rows that the digest does not sample."""
    copy = folder / "tiny_checkpoint"
    shutil.copytree(DATA / "tiny_checkpoint", copy, copy_function=shutil.copy)
    same = digest(tool, copy)
    path, offset, size = table_bytes(copy, "layers.1.engram.embed.weight")
    flipped = 0
    for row in range(size // 32):
        with open(path, "r+b") as file:
            file.seek(offset + 32 * row + 9)
            byte = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([byte ^ 0x04]))
        if digest(tool, copy) == same:
            flipped += 1
            if flipped == 8:
                break
            continue
        with open(path, "r+b") as file:
            file.seek(offset + 32 * row + 9)
            file.write(bytes([byte]))
    if flipped == 0:
        print("  the digest samples every row of so small a table: no byte can differ unseen", flush=True)
        return
    with serve(options.server, "tiny") as server:
        text, _ = tool("verify", "--server", server.address, "--checkpoint", copy, "--hash-constants",
                       DATA / "tiny_constants.gguf", "--steps", 400, "--formats", "packed", code=1)
    first = (r"first mismatch: .*position \d+, token \d+, layer 1, column \d+, row \d+, "
             r"byte 9: expected 0x\w\w, received 0x\w\w")
    assert re.search(first, text), text
    assert re.fullmatch(r"400 steps, \d+ rows, [1-9]\d* mismatches", last_line(text)), text


def check_lost_server(options, tool):
    with serve(options.server, "tiny") as server:
        killer = threading.Timer(1.0, server.process.kill)
        killer.start()
        text, error = tool("verify", "--server", server.address, *files_of("tiny"), "--duration", "60s", code=1)
        server.process.wait()
    assert not last_line(text).endswith(" 0 mismatches"), text
    assert "UNAVAILABLE" in error or "UNAVAILABLE" in text, text + error


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--tool", required=True)
    options = parser.parse_args()
    tool = Tool(options.tool)
    started = time.monotonic()
    for case, more in (("medium", ["--shards", 4]), ("extremes", ["--shards", 3, "--combine", "ALL_REDUCE_BF16"])):
        with serve(options.server, case, shards=more[1], *more[2:]) as server:
            info = check_info(tool, server, case)
            check_verify(tool, server, case)
            check_streams(tool, server, case)
            if "packed" in info["formats"]:
                check_lookup(tool, server, info)
                check_usage(tool, server)
                check_output(tool, server)
        print(f"  {case}: {time.monotonic() - started:.1f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        check_one_byte(options, tool, pathlib.Path(folder))
    check_servers(options, tool)
    check_lost_server(options, tool)
    tool("info", "--server", "127.0.0.1:1", code=1)
    print("client_tool_test: OK")


if __name__ == "__main__":
    main()
