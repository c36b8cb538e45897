#!/usr/bin/env python3
"""Literal known answers for tests/check_synth.py: what checks others must itself be right. Standard library only."""

import json
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import check_synth  # noqa: E402


class FullSize:
    layer_ids = [1, 14]
    ngram = 4
    heads = 8
    classes = 99092
    first_prime_above = 16000000


def test_published_hash():
    golden = json.loads((TESTS / "golden" / "data" / "full_size_hash.json").read_text())
    primes = check_synth.derive_primes(FullSize)
    assert [sum(columns) for columns in primes] == [384006168, 384016682], primes
    multipliers = check_synth.derive_multipliers(FullSize)
    assert multipliers[0] == [76632096046245, 4839876093313, 35959672319349, 73987337458391], multipliers
    assert multipliers == golden["multipliers"], multipliers
    positions = 0
    for sequence in golden["sequences"]:
        for position, layers in enumerate(sequence["hash_ids"]):
            for index, wanted in enumerate(layers):
                found = check_synth.hash_position(sequence["compressed_ids"], position, golden["pad_id_compressed"],
                                                  multipliers[index], primes[index], FullSize.heads)
                assert found == wanted, (sequence["compressed_ids"], position, index)
                positions += 1
    assert positions > 20, positions


def test_rows():
    """The examples of docs/synthetic.md."""
    row = check_synth.synthetic_row(seed=1, layer_id=1, row=0, dim=256)
    assert row[:16].hex() == "8db61fa6042d7cbdb1f0520a09d40c10", row[:16].hex()
    assert row[256:].hex() == "7c8686817a868585", row[256:].hex()
    row = check_synth.synthetic_row(seed=2**64 - 1, layer_id=14, row=384016681, dim=256)
    assert row[:16].hex() == "ce6be61409589fca52a6a33e5af8b97e", row[:16].hex()
    assert row[256:].hex() == "867d817a83857784", row[256:].hex()
    for number in range(500):
        row = check_synth.synthetic_row(seed=5, layer_id=0, row=number, dim=96)
        assert len(row) == 99 and row[0] & 0x7F != 0, row.hex()
        assert not {0x7F, 0xFF} & set(row[:96]) and all(119 <= scale <= 134 for scale in row[96:]), row.hex()


def test_numbers():
    packed = bytes([0x38, 0xB8, 0x01, 0x80, 0x7E] + [0] * 27) + bytes([128])
    found = check_synth.dequantized(packed, 32)[:10]
    # 2, -2, 2^-8, -0, 896
    assert found.hex() == "004000c0803b00806044", found.hex()


def test_folding():
    assert check_synth.key_of("\u0120A\u0301", " \u00c1") == "a"
    assert check_synth.key_of("x", "\uff37\u0301") == "w"
    assert check_synth.key_of("\u00c3", "\ufffd") == "\u00c3"
    assert check_synth.key_of("x", "\t \n") == " "
    assert check_synth.key_of("x", "\u0301") == "\u0301"
    assert check_synth.key_of("x", " a \r\n b\u2003") == "a b"


def main():
    for test in (test_published_hash, test_rows, test_numbers, test_folding):
        test()
        print(f"{test.__name__}: as published")
    return 0


if __name__ == "__main__":
    sys.exit(main())
