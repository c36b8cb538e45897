#!/usr/bin/env python3
"""The tool `engram` against a real server: info, lookup, and a verify that passes and that fails when it must."""

import argparse
import json
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import threading
import time

from engram_server import Server

DATA = pathlib.Path(__file__).resolve().parents[1] / "golden" / "data"


class Tool:
    """Runs the tool with stdin closed and checks its exit code."""

    def __init__(self, program):
        self.program = program

    def __call__(self, *words, code=0, seconds=90):
        done = subprocess.run([self.program, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=seconds, check=False)
        text = done.stdout + done.stderr
        assert done.returncode == code, f"{words}: exit code {done.returncode}, wanted {code}:\n{text}"
        return done.stdout, done.stderr


def files_of(case):
    return ["--checkpoint", DATA / f"{case}_checkpoint", "--hash-constants", DATA / f"{case}_constants.gguf"]


def serve(options, case, *more, **launch):
    return Server(options.server, [str(word) for word in [*files_of(case), *more]], **launch)


def last_line(text):
    return text.strip().splitlines()[-1]


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


def check_usage(tool, server):
    for words, message in (
            (["info"], "--server and --checkpoint"),
            (["lookup", "--server", server.address, "--tokens", "1,x"], "entry 1 is 'x'"),
            (["lookup", "--server", server.address, "--tokens", "1,2", "--mask", "1"], "1 entries for 2 tokens"),
            (["lookup", "--server", server.address, "--tokens", "1", "--start-pos", "5"], "--lookback"),
            (["lookup", "--server", server.address, "--tokens", "1", "--format", "fp4"], "fp4"),
            (["verify", "--server", server.address], "--checkpoint"),
            (["verify", "--server", server.address, "--checkpoint", "x", "--duration", "soon"], "soon"),
            (["nothing"], "subcommand")):
        _, error = tool(*words, code=2)
        assert message in error, (words, error)
    _, error = tool("lookup", "--server", server.address, "--tokens", "1", "--layers", "77", code=1)
    assert "77" in error, error
    _, error = tool("lookup", "--server", server.address, "--tokens", "999999", code=1)
    assert "999999" in error, error


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
    with serve(options, "tiny") as server:
        text, _ = tool("verify", "--server", server.address, "--checkpoint", copy, "--hash-constants",
                       DATA / "tiny_constants.gguf", "--steps", 400, "--formats", "packed", code=1)
    first = (r"first mismatch: .*position \d+, token \d+, layer 1, column \d+, row \d+, "
             r"byte 9: expected 0x\w\w, received 0x\w\w")
    assert re.search(first, text), text
    assert re.fullmatch(r"400 steps, \d+ rows, [1-9]\d* mismatches", last_line(text)), text


def check_lost_server(options, tool):
    with serve(options, "tiny") as server:
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
        with serve(options, case, shards=more[1], *more[2:]) as server:
            info = check_info(tool, server, case)
            check_verify(tool, server, case)
            if "packed" in info["formats"]:
                check_lookup(tool, server, info)
                check_usage(tool, server)
        print(f"  {case}: {time.monotonic() - started:.1f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        check_one_byte(options, tool, pathlib.Path(folder))
    check_lost_server(options, tool)
    tool("info", "--server", "127.0.0.1:1", code=1)
    print("client_tool_test: OK")


if __name__ == "__main__":
    main()
