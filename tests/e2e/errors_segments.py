"""Bad segments, each among 64 good ones: it fails alone, and its session is as it was."""

import random

from engram_client import BF16, HASH_IDS, Stream, pb, segment
from engram_server import Server
from errors_bench import SMALL_FRAMES, VOCABULARY, Crowd, HeldStream, Sequence, arguments

CLIENT = "bench"
MINE, SEEDED, CROWD, BUSY, NONE = 7, 20, 1000, 500, 99  # sessions
BASE, LENGTH = 17, 20  # of SEEDED
STEP_TOKENS, SESSION_TOKENS = 12000, 20000
CLASSES = 64


class Scene:
    """What a bad segment may refer to: session `id` of length `end`, and SEEDED."""

    def __init__(self, sequence, digest):
        self.id = sequence.session_id
        self.end = len(sequence.tokens)
        self.digest = digest

    def lookback(self, start_pos, tokens, mask=b""):
        return segment(self.id, start_pos, [1], lookback=pb.Lookback(token_ids=tokens, token_mask=mask))

    def state(self, position, ids, digest=None, start_pos=None):
        state = pb.HashState(position=position, compressed_ids=ids,
                             constants_digest=self.digest if digest is None else digest)
        return segment(self.id, position if start_pos is None else start_pos, [1], state=state)

    def fork(self, start_pos, source, position=None, **fields):
        fork = pb.ForkFrom(session_id=source, position=start_pos if position is None else position, **fields)
        return segment(self.id, start_pos, [1], fork_from=fork)


# id: the segment, and the values in its message after its own index.
SEGMENTS = {
    "session-twice": lambda s: (segment(CROWD, 0, [1]), [CROWD]),
    "position-overflow": lambda s: (s.lookback(2**64 - 1, [1, 2, 3]), [2**64 - 1, 1]),
    "token-range": lambda s: (segment(s.id, 2, [5, VOCABULARY]), [1, VOCABULARY, VOCABULARY]),
    "mask-length": lambda s: (segment(s.id, 2, [1, 2], [1]), [1, 2]),
    "mask-value": lambda s: (segment(s.id, 2, [1, 2], [1, 255]), [1, 255]),
    "lookback-count": lambda s: (s.lookback(5, [1, 2]), [2, 3, 5]),
    "lookback-token": lambda s: (s.lookback(3, [1, 2**32 - 1, 3]), [1, 2**32 - 1, VOCABULARY]),
    "lookback-mask-length": lambda s: (s.lookback(3, [1, 2, 3], b"\1\1"), [2, 3]),
    "lookback-mask-value": lambda s: (s.lookback(3, [1, 2, 3], b"\1\1\2"), [2, 2]),
    "state-position": lambda s: (s.state(3, [1, 2, 3], start_pos=4), [3, 4]),
    "state-digest": lambda s: (s.state(3, [1, 2, 3], b"\x11" * 32), ["11" * 32, s.digest.hex()]),
    "state-digest-size": lambda s: (s.state(3, [1, 2, 3], s.digest[:31]), [31, s.digest.hex()]),
    "state-count": lambda s: (s.state(9, [1, 2]), [2, 3, 9]),
    "state-id": lambda s: (s.state(3, [-1, 1, CLASSES]), [2, CLASSES, CLASSES]),
    "fork-zero": lambda s: (s.fork(0, 0), []),
    "fork-position": lambda s: (s.fork(5, SEEDED, position=4), [4, 5]),
    "fork-client": lambda s: (s.fork(5, SEEDED, client_id="c" * 257), [257]),
    "fork-unknown": lambda s: (s.fork(LENGTH, SEEDED, client_id="another"), [SEEDED]),
    "fork-beyond": lambda s: (s.fork(LENGTH + 1, SEEDED), [LENGTH + 1, LENGTH, SEEDED, BASE, LENGTH]),
    "fork-before": lambda s: (s.fork(19, SEEDED), [19, 16, BASE, LENGTH, SEEDED]),
    "session-unknown": lambda s: (segment(NONE, 1, [1]), [1, NONE]),
    "session-beyond": lambda s: (segment(s.id, s.end + 1, [1]), [s.end + 1, s.end, s.id, 0, s.end]),
    "session-before": lambda s: (segment(SEEDED, 19, [1]), [19, 16, BASE, LENGTH, SEEDED]),
    "stateless-seed": lambda s: (segment(0, 1, [1]), [1]),
    "session-busy": lambda s: (segment(BUSY, 1, [1]), [BUSY, 1]),
    "session-long": lambda s: (s.lookback(SESSION_TOKENS, [1, 2, 3]), [SESSION_TOKENS + 1, SESSION_TOKENS]),
}


def refuse(errors, stream, crowd, name, bad, values):
    """The segment among the crowd, somewhere."""
    at = random.Random(name).randrange(1, Crowd.SIZE + 1)
    segments = crowd.segments()
    segments.insert(at, bad)
    result = stream.step(segments)
    refused = result.results[at]
    errors.expect(name, refused.code, refused.message, [at, *values])
    assert refused.session_id == bad.session_id and not refused.length and not refused.HasField("state"), refused
    crowd.check(result, at, len(bad.token_ids))


def check_segments(errors, program, reference):
    settings = {"streams.step_tokens_max": STEP_TOKENS, "sessions.tokens_max": SESSION_TOKENS, **SMALL_FRAMES}
    with Server(program, arguments(settings), shards=2) as server, \
            Stream(server.address, CLIENT) as stream, HeldStream(server.address, CLIENT) as busy:
        mine, held = Sequence(reference, MINE, 1), Sequence(reference, BUSY, 2)
        crowd = Crowd(reference, CROWD)
        mine.go_on(stream)
        mine.go_on(stream)
        seed = pb.Lookback(token_ids=[1, 2, 3])
        stream.step([segment(SEEDED, LENGTH, [], lookback=seed)], HASH_IDS).expect_ok()
        step_id = busy.hold([held.grow(5000)], BF16)
        digest = stream.welcome.model.constants_digest
        for name, make in SEGMENTS.items():
            refuse(errors, stream, crowd, name, *make(Scene(mine, digest)))
            mine.go_on(stream)
        assert stream.step([segment(NONE, 0, [])]).expect_ok().results[0].length == 0
        busy.result(step_id).expect_ok()
        held.go_on(stream)
    print(f"{len(SEGMENTS)} bad segments, each among {Crowd.SIZE} good ones: failed alone", flush=True)
