#!/usr/bin/env python3
"""A sequence has the same hash ids however it reaches the server: chunks, rewinds, hand-over between servers."""

import argparse
import itertools
import pathlib
import sys

from engram_client import HASH_IDS, SOURCE, Stream, pb, segment
from engram_server import Server
from golden_case import GoldenCase

sys.path.insert(0, str(pathlib.Path(SOURCE, "tests")))
from check_synth import DEAD, hash_position  # noqa: E402  the dumb oracle

LENGTH = 9
TOKENS = [7, 7, 31, 2, 0, 63, 7, 31, 40]
MASKS = [
    None,
    [1, 1, 0, 1, 1, 1, 1, 1, 1],
    [1, 0, 1, 1, 1, 1, 0, 0, 1],
    [0] * LENGTH,
]
NO_TOKEN = 4_000_000_000  # beyond any vocabulary: ignored under a mask of 0
IN_FLIGHT = 24


class Oracle:
    def __init__(self, case):
        self.case = case

    def compressed(self, tokens, mask):
        mask = mask or [1] * len(tokens)
        return [self.case.token_map[t] if live else DEAD for t, live in zip(tokens, mask)]

    def hash_ids(self, ids, begin=0):
        """{layer: flat ids} of the positions from `begin` on."""
        case = self.case
        return {
            layer: [row for p in range(begin, len(ids)) for row in
                    hash_position(ids, p, case.pad, case.multipliers[i], case.primes[i], case.heads)]
            for i, layer in enumerate(case.layer_ids)
        }

    def lookback(self, ids, position):
        return ids[max(0, position - (self.case.ngram - 1)):position]


def part(values, begin, end):
    return values[begin:end] if values is not None else None


def splits(length):
    """All 2^(length-1) ways to cut a sequence, as lists of chunk ends."""
    for cuts in itertools.product((False, True), repeat=length - 1):
        yield [i + 1 for i, cut in enumerate(cuts) if cut] + [length]


class Checker:
    """Runs steps with a few in flight and compares what comes back."""

    def __init__(self, stream, layers):
        self.stream = stream
        self.layers = layers
        self.pending = []
        self.compared = 0

    def expect(self, step_id, what, wanted):
        self.pending.append((step_id, what, wanted))
        while len(self.pending) >= IN_FLIGHT:
            self.check_one()

    def check_one(self):
        step_id, what, wanted = self.pending.pop(0)
        result = self.stream.result(step_id).expect_ok()
        for layer in self.layers:
            assert result.hash_ids(layer) == wanted[layer], \
                f"{what}, layer {layer}: found {result.hash_ids(layer)}, wanted {wanted[layer]}"
            self.compared += len(wanted[layer])

    def finish(self):
        while self.pending:
            self.check_one()
        return self.compared


def check_splits(stream, oracle, empty_chunks):
    checker = Checker(stream, oracle.case.layer_ids)
    session = 0
    for number, mask in enumerate(MASKS):
        ids = oracle.compressed(TOKENS, mask)
        sent = [t if mask is None or mask[i] else NO_TOKEN for i, t in enumerate(TOKENS)]
        for ends in splits(LENGTH):
            session += 1
            begin = 0
            for end in ends:
                step = stream.send([segment(session, begin, sent[begin:end], part(mask, begin, end))], HASH_IDS)
                wanted = {layer: rows for layer, rows in oracle.hash_ids(ids[:end], begin).items()}
                checker.expect(step, f"mask {number}, chunks {ends}, from {begin}", wanted)
                if empty_chunks:
                    step = stream.send([segment(session, end, [])], HASH_IDS)
                    checker.expect(step, f"mask {number}, empty chunk at {end}", oracle.hash_ids([], 0))
                begin = end
            stream.send([], HASH_IDS, close_sessions=[session])
    values = checker.finish()
    print(f"{session} splits{', an empty chunk after each,' if empty_chunks else ''}: {values} hash ids equal")


def check_rewinds(stream, oracle):
    """From every length back to every position, then other tokens."""
    checker = Checker(stream, oracle.case.layer_ids)
    session = 10_000
    other = [5, 44, 5]
    for mask in MASKS:
        ids = oracle.compressed(TOKENS, mask)
        for length in range(1, LENGTH + 1):
            for back in range(length + 1):
                session += 1
                step = stream.send([segment(session, 0, TOKENS[:length], part(mask, 0, length))], HASH_IDS)
                checker.expect(step, f"rewind: {length} tokens", oracle.hash_ids(ids[:length]))
                step = stream.send([segment(session, back, other)], HASH_IDS)
                rewound = ids[:back] + oracle.compressed(other, None)
                checker.expect(step, f"rewind from {length} to {back}", oracle.hash_ids(rewound, back))
                stream.send([], HASH_IDS, close_sessions=[session])
    print(f"{session - 10_000} rewinds: {checker.finish()} hash ids equal")


def check_gap(stream):
    """A position that nobody knows the look-back of is refused, never padded."""
    for fields in ({"session_id": 77, "start_pos": 4}, {"session_id": 0, "start_pos": 4}):
        result = stream.step([pb.Segment(token_ids=[1], **fields)], HASH_IDS)
        (refused,) = result.results
        assert refused.code == 9 and "4" in refused.message, refused  # FAILED_PRECONDITION
        assert not result.layers, "rows for a refused segment"
    print("gaps: refused")


def hand_over(source, target, oracle, position, mask, how, session):
    """Prefill on one server up to `position`, the rest on the other in two chunks."""
    ids = oracle.compressed(TOKENS, mask)
    first = source.step([segment(session, 0, TOKENS[:position], part(mask, 0, position))], HASH_IDS, return_states=True)
    (result,) = first.expect_ok().results
    assert (result.state.position, result.length) == (position, position), result
    assert list(result.state.compressed_ids) == oracle.lookback(ids, position), result.state
    if how == "state":
        seed = {"state": result.state}
    else:
        count = min(position, oracle.case.ngram - 1) if how == "shortest lookback" else position
        begin = position - count
        seed = {"lookback": pb.Lookback(token_ids=TOKENS[begin:position],
                                        token_mask=bytes(part(mask, begin, position) or []))}
    middle = min(position + 1, LENGTH)
    checker = Checker(target, oracle.case.layer_ids)
    what = f"hand-over by {how} at {position}"
    seeded = segment(session, position, TOKENS[position:middle], part(mask, position, middle), **seed)
    step = target.send([seeded], HASH_IDS)
    checker.expect(step, what, oracle.hash_ids(ids[:middle], position))
    step = target.send([segment(session, middle, TOKENS[middle:], part(mask, middle, LENGTH))], HASH_IDS)
    checker.expect(step, what, oracle.hash_ids(ids, middle))
    return checker.finish()


def check_hand_over(source, target, oracle):
    values = 0
    session = 20_000
    for mask in MASKS:
        for position in range(LENGTH + 1):
            for how in ("state", "shortest lookback", "whole lookback"):
                session += 1
                values += hand_over(source, target, oracle, position, mask, how, session)
    print(f"{session - 20_000} hand-overs: {values} hash ids equal")


def check_foreign_state(target, position=5):
    """A state of other hash constants is refused."""
    state = pb.HashState(position=position, compressed_ids=[1, 2, 3], constants_digest=b"\0" * 32)
    (refused,) = target.step([segment(30_000, position, [1], state=state)], HASH_IDS).results
    assert refused.code == 9 and "constants_digest" in refused.message, refused
    print("a state with other constants: refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    options = parser.parse_args()
    case = GoldenCase("tiny")
    oracle = Oracle(case)
    with Server(options.server, case.checkpoint_arguments(), shards=4) as prefill_server, \
            Server(options.server, case.checkpoint_arguments(), ranks=2) as decode_server, \
            Stream(prefill_server.address) as prefill, Stream(decode_server.address) as decode:
        check_splits(prefill, oracle, empty_chunks=False)
        check_splits(decode, oracle, empty_chunks=True)
        check_rewinds(prefill, oracle)
        check_gap(prefill)
        check_hand_over(prefill, decode, oracle)
        check_foreign_state(decode)
    return 0


if __name__ == "__main__":
    sys.exit(main())
