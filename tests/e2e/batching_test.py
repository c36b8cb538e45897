#!/usr/bin/env python3
"""Continuous batching as a model server does it, against one unsplit run of each sequence in the end.

32 sequences live on two servers that shard and combine differently. Every forward pass is a step of many segments: some
sequences in prefill chunks, others in draft blocks of 6 of which a part is accepted, which the next write rolls back.
Prompts begin with shared prefixes (fork_from) and hold images (masked, with ids that mean nothing); half of them are
prefilled on one server and decoded on the other (HashState). Several passes are in flight, of different sequences.
"""

import argparse
import random
import sys

from batching_sequence import Prefix, Sequence
from engram_client import HASH_IDS, PACKED, Stream, segment
from engram_server import Server
from golden_case import GoldenCase

SEQUENCES = 80
LIVE_MAX = 32
PASSES_MAX = 3  # in flight on a server
PASS_SEGMENTS = 7
PREFIXES = 3
FIRST_SESSION = 1000
FAILED_PRECONDITION = 9


def per_token(values, tokens):
    """Bytes, or a list, cut into equal parts."""
    width = len(values) // tokens
    return [values[i * width:(i + 1) * width] for i in range(tokens)]


def values_of(ids, rows, layers):
    """{layer: [(hash ids, rows) of each token of a step]}"""
    return {layer: list(zip(per_token(ids.hash_ids(layer), ids.tokens(layer)),
                            per_token(rows.rows(layer), rows.tokens(layer)))) for layer in layers}


class Replica:
    """One stream to one server and the passes in flight on it."""

    def __init__(self, address, layers):
        self.stream = Stream(address, "replica-0")
        self.layers = layers
        self.passes = []  # (step for hash ids, step for rows, sequences, segments)
        self.left = []  # sessions to close with the next pass
        self.in_flight = set()

    def start(self, sequences):
        """A forward pass. Its step is sent twice, for both formats: a repeat at the same positions is always right."""
        segments = [sequence.plan() for sequence in sequences]
        ids = self.stream.send(segments, HASH_IDS)
        rows = self.stream.send(segments, PACKED, return_states=True, close_sessions=self.left)
        self.left = []
        self.passes.append((ids, rows, sequences, segments))
        self.in_flight.update(sequences)

    def finish(self):
        """Takes in the answer to the oldest pass."""
        ids, rows, sequences, segments = self.passes.pop(0)
        ids, rows = self.stream.result(ids).expect_ok(), self.stream.result(rows).expect_ok()
        values = values_of(ids, rows, self.layers)
        begin = 0
        for sequence, written, result in zip(sequences, segments, rows.results):
            end = begin + len(written.token_ids)
            assert result.length == written.start_pos + end - begin, result
            left = sequence.take(written, {layer: values[layer][begin:end] for layer in self.layers}, result.state)
            if left is not None:
                left.left.append(sequence.session_id)
            begin = end
        self.in_flight.difference_update(sequences)


def write_prefixes(replicas, rng, vocabulary):
    prefixes = [Prefix(i + 1, [rng.randrange(vocabulary) for _ in range(rng.randint(5, 80))]) for i in range(PREFIXES)]
    for replica in replicas:
        replica.stream.step([segment(p.session_id, 0, p.tokens) for p in prefixes], HASH_IDS).expect_ok()
    return prefixes


def make_sequences(replicas, rng, vocabulary):
    """Routes in turn: A then B, A alone, A then B, B alone."""
    prefixes = write_prefixes(replicas, rng, vocabulary)
    a, b = replicas
    routes = [(a, b), (a, a), (a, b), (b, b)]
    return [Sequence(FIRST_SESSION + i, rng, vocabulary, *routes[i % len(routes)],
                     prefix=rng.choice(prefixes) if rng.random() < 0.5 else None) for i in range(SEQUENCES)]


def run_passes(replicas, rng, sequences):
    """The scheduler. Returns the number of passes and the largest number in flight together."""
    waiting, live = list(sequences), []
    passes = together_max = 0
    while waiting or live:
        while waiting and len(live) < LIVE_MAX:
            live.append(waiting.pop(0))
        replica = rng.choice(replicas)
        ready = [s for s in live if s.replica is replica and not any(s in r.in_flight for r in replicas)]
        if ready and len(replica.passes) < PASSES_MAX:
            replica.start(rng.sample(ready, min(len(ready), PASS_SEGMENTS)))
            passes += 1
            together_max = max(together_max, sum(len(r.passes) for r in replicas))
        elif replica.passes:
            replica.finish()
            live = [s for s in live if not s.done]
    return passes, together_max


def check_unsplit(replica, sequences):
    """Every accepted position against one stateless run of the whole; returns the number of rows compared."""
    compared = 0
    for s in sequences:
        whole = [segment(0, 0, s.tokens, s.mask)]
        ids, rows = (replica.stream.step(whole, form).expect_ok() for form in (HASH_IDS, PACKED))
        wanted = values_of(ids, rows, replica.layers)
        for layer in replica.layers:
            assert len(s.found[layer]) == s.accepted - s.begin == len(wanted[layer]) - s.begin, s.session_id
            for i, (found, whole_run) in enumerate(zip(s.found[layer], wanted[layer][s.begin:])):
                assert found[0] == whole_run[0], f"session {s.session_id}, position {s.begin + i}: other hash ids"
                assert found[1] == whole_run[1], f"session {s.session_id}, position {s.begin + i}: other rows"
                compared += len(found[0])
    return compared


def check_closed(replica, sequences):
    """No session of a sequence that ended, or went on elsewhere, is left."""
    replica.stream.step([], close_sessions=replica.left).expect_ok()
    result = replica.stream.step([segment(s.session_id, 1, []) for s in sequences], HASH_IDS)
    assert all(r.code == FAILED_PRECONDITION and "is unknown" in r.message for r in result.results), result.results


def describe(sequences):
    """What the trace was made of: a trace without one of these would prove little."""
    lengths = [s.accepted for s in sequences]
    parts = {
        "begun by a fork": sum(s.begin > 0 for s in sequences),
        "with an image": sum(0 in s.mask for s in sequences),
        "handed over": sum(s.handed_over for s in sequences),
        "drafts rejected": sum(s.rejected for s in sequences),
    }
    print(f"{len(sequences)} sequences of {min(lengths)} to {max(lengths)} tokens: {parts}")
    assert all(parts.values()), parts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"--seed {options.seed}")
    case, rng = GoldenCase("medium"), random.Random(options.seed)
    files = case.checkpoint_arguments()
    with Server(options.server, [*files, "--combine", "OWNER_GATHER"], ranks=2) as first, \
            Server(options.server, [*files, "--combine", "ALL_REDUCE_PACKED"], shards=3) as second:
        replicas = [Replica(server.address, case.layer_ids) for server in (first, second)]
        sequences = make_sequences(replicas, rng, len(case.token_map))
        passes, together = run_passes(replicas, rng, sequences)
        for replica in replicas:
            check_closed(replica, sequences)
            compared = check_unsplit(replica, sequences)
            replica.stream.__exit__()
    describe(sequences)
    print(f"{passes} passes, up to {together} in flight: {compared} rows and hash ids equal an unsplit run's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
