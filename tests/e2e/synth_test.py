#!/usr/bin/env python3
"""Synthetic checkpoints: written, served, verified, and a saved lookup checked by tests/check_synth.py."""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from engram_client import SOURCE  # noqa: F401  skips where grpcio is missing
from engram_server import Server

GEOMETRIES = SOURCE / "deploy" / "geometries"
TEXTS = SOURCE / "deploy" / "texts" / "texts.jsonl"
NO_HOLES = 3
FULL_SIZE_BYTES = 1 << 30  # free space that the sparse checkpoint may ask for


def run(command, code=0, seconds=120):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=seconds, check=False)
    text = done.stdout + done.stderr
    assert done.returncode == code, f"{command}: exit code {done.returncode}, wanted {code}:\n{text}"
    return text


def check_lookup(options, server, checkpoint, folder, row_format, arguments):
    saved = folder / "lookup.safetensors"
    run([options.tool, "lookup", "--server", server.address, *arguments, "--format", row_format,
         "--output", "safetensors", "--out", saved])
    text = run([sys.executable, SOURCE / "tests" / "check_synth.py", "--checkpoint", checkpoint, "--lookup", saved])
    assert text.rstrip().endswith(" 0 mismatches"), text
    print(f"  {row_format}: {text.strip()}", flush=True)
    return saved


def check_that_it_checks(checkpoint, saved):
    """One bit changed in a saved lookup is a mismatch."""
    data = bytearray(saved.read_bytes())
    data[-1] ^= 1
    saved.write_bytes(data)
    run([sys.executable, SOURCE / "tests" / "check_synth.py", "--checkpoint", checkpoint, "--lookup", saved], code=1)


def verify(options, server, checkpoint, duration):
    text = run([options.tool, "verify", "--server", server.address, "--checkpoint", checkpoint, "--duration", duration])
    last = text.strip().splitlines()[-1]
    assert last.endswith(" 0 mismatches") and not last.startswith("0 steps"), text
    print(f"  {last}", flush=True)


def test_dense(options, folder, geometry, arguments, launch, tokens):
    checkpoint = folder / geometry
    text = run([options.tool, "synth", "--out", checkpoint, "--config", GEOMETRIES / f"{geometry}.json", *arguments])
    print(text.strip(), flush=True)
    with Server(options.server, ["--checkpoint", str(checkpoint)], **launch) as server:
        verify(options, server, checkpoint, "4s")
        for row_format in ("packed", "bf16", "hash_ids"):
            saved = check_lookup(options, server, checkpoint, folder, row_format, tokens)
        check_that_it_checks(checkpoint, saved)


def test_small(options, folder):
    test_dense(options, folder, "small", ["--seed", "18446744073709551615"], {"shards": 2},
               ["--file", TEXTS, "--sequence", "english_carroll"])


def test_odd(options, folder):
    tokens = ",".join(str(t * 37 % 300) for t in range(150))
    test_dense(options, folder, "odd", ["--seed", "3", "--shards-files", "2"], {"ranks": 3},
               ["--tokens", tokens, "--chunk", "7"])


def few_sequences(path):
    """Pieces of two texts, the image of one in its middle: few rows, since on ext4 mounted with `discard` each of them
    costs a request of its own when the file is removed."""
    with open(TEXTS, encoding="utf-8") as lines:
        texts = {text["name"]: text for text in map(json.loads, lines)}
    pieces = []
    for name, begin, end in (("english_carroll", 40, 100), ("hindi_udhr", 0, 20)):
        piece = {"name": name, "tokens": texts[name]["tokens"][begin:end]}
        if "mask" in texts[name]:
            piece["mask"] = texts[name]["mask"][begin:end]
        pieces.append(piece)
    assert 0 in pieces[0]["mask"] and 1 in pieces[0]["mask"][-5:], pieces[0]
    path.write_text("".join(json.dumps(piece) + "\n" for piece in pieces))
    return [piece["name"] for piece in pieces]


def test_sparse(options, folder):
    """All 768,022,850 rows, of which those that two short sequences reach are written."""
    free = shutil.disk_usage(folder).free
    if free < FULL_SIZE_BYTES:
        print(f"SKIPPED: {folder} has {free} bytes free; {FULL_SIZE_BYTES} are wanted")
        return 77
    checkpoint = folder / "full"
    tokens = folder / "tokens.jsonl"
    names = few_sequences(tokens)
    command = [options.tool, "synth", "--out", checkpoint, "--config", GEOMETRIES / "full.json", "--sparse",
               "--tokens", tokens]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    if done.returncode == NO_HOLES:
        print(f"SKIPPED: {done.stderr.strip()}")
        return 77
    assert done.returncode == 0, done.stderr
    print(done.stdout.strip(), flush=True)
    with Server(options.server, ["--checkpoint", str(checkpoint), "--placement", "MAPPED"], ranks=2) as server:
        verify(options, server, checkpoint, "4s")
        for name in names:
            check_lookup(options, server, checkpoint, folder, "packed", ["--file", tokens, "--sequence", name])
    return 0


def test_refusals(options, folder):
    """What a user can get wrong, each with its reason."""
    small = GEOMETRIES / "small.json"
    odd = GEOMETRIES / "odd.json"
    out = folder / "refused"

    def refused(*arguments, code=1):
        return run([options.tool, "synth", "--out", out, *arguments], code=code)

    wrong = folder / "wrong.json"
    wrong.write_text(odd.read_text().replace("1956", "1957"))
    text = refused("--config", wrong)
    assert "1957" in text and "1956" in text and "--derive-rows" in text, text
    run([options.tool, "synth", "--out", out, "--config", wrong, "--derive-rows"])
    derived = json.loads((out / "config.json").read_text())
    assert derived["text_config"]["engram_num_embeddings"] == [1956, 2180, 2398], derived

    assert "not empty" in refused("--config", odd)
    refused("--config", odd, "--force", "--shards-files", "1", code=0)
    assert [path.name for path in out.glob("*.safetensors")] == ["model-00001-of-00001.safetensors"]
    (out / "engram_synth.json").unlink()
    assert "engram_synth.json" in refused("--config", odd, "--force")

    out = folder / "refused_too"
    assert "--tokens" in refused("--config", odd, "--sparse", code=2)
    assert "from 1 to 999" in refused("--config", odd, "--shards-files", "0", code=2)
    for seed in ("-1", "18446744073709551616"):
        assert f"'{seed}' is no whole number from 0 to {2**64 - 1}" in refused("--config", odd, "--seed", seed, code=2)
    assert not out.exists(), list(out.iterdir())
    tokens = folder / "tokens.jsonl"
    tokens.write_text('{"tokens": [1, 2, 129280]}\n')
    assert "129280" in refused("--config", small, "--sparse", "--tokens", tokens)
    tokens.write_text('{"tokens": [1, 2, 129280], "mask": [1, 1, 0]}\n')
    refused("--config", small, "--sparse", "--tokens", tokens, code=0)

    # Files so large that the system refuses them, as some file systems do.
    command = [options.tool, "synth", "--out", folder / "large", "--config", GEOMETRIES / "full_64th.json", "--sparse",
               "--tokens", tokens]
    text = run(["sh", "-c", 'ulimit -f 200000 && exec "$@"', "sh", *command], code=NO_HOLES)
    assert "model-" in text, text
    assert not (folder / "large").exists(), "what was made before a failure must go again"
    print("refusals name what is wrong")


def test_tokenizer(options, folder):
    """The tokenizers library loads the made-up tokenizer.json and agrees on every id's text."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        print(f"SKIPPED: {error}")
        return 77
    sys.path.insert(0, str(SOURCE / "tests"))
    from check_synth import derive_token_map, key_of
    checkpoint = folder / "odd"
    run([options.tool, "synth", "--out", checkpoint, "--config", GEOMETRIES / "odd.json"])
    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == 300, tokenizer.get_vocab_size()
    token_map, classes = derive_token_map(json.loads((checkpoint / "tokenizer.json").read_text()), 300)
    keys = {}
    for token in range(300):
        key = key_of(tokenizer.id_to_token(token), tokenizer.decode([token], skip_special_tokens=False))
        assert keys.setdefault(token_map[token], key) == key, f"token {token}: {key} and {keys[token_map[token]]} fold"
    assert (classes, len(set(keys.values()))) == (200, 200), (classes, len(set(keys.values())))
    print("300 ids, 200 classes, the same by the tokenizers library")
    return 0


TESTS = {"small": test_small, "odd": test_odd, "sparse": test_sparse, "refusals": test_refusals,
         "tokenizer": test_tokenizer}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--test", required=True, choices=TESTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="engram-e2e-") as folder:
        return TESTS[options.test](options, pathlib.Path(folder)) or 0


if __name__ == "__main__":
    sys.exit(main())
