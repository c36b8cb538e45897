"""What is refused of shared memory, and what becomes of steps whose memory was cut short."""

import os

from engram_client import HASH_IDS, OK, Stream, pb, segment
from engram_server import Server
from errors_bench import Sequence, arguments, end_of_stream, lookup, step

CLIENT = "bench"
MINE = 9
BYTES_MAX = 1 << 20
PREFIX = f"/engram-errors-{os.getpid()}-"
SETTINGS = {"shared_memory.enabled": "true", "shared_memory.segment_bytes_max": BYTES_MAX,
            "shared_memory.segments_max": 2, "shared_memory.name_prefix": PREFIX}


class Objects:
    """Files below /dev/shm, which go with the block."""

    def __enter__(self):
        self.paths = []
        return self

    def __exit__(self, *_):
        for path in self.paths:
            os.unlink(path)

    def path(self, word):
        self.paths.append(f"/dev/shm{PREFIX}{word}")
        return self.paths[-1]

    def make(self, word, size=BYTES_MAX, mode=0o600):
        path = self.path(word)
        with open(path, "wb") as file:
            file.truncate(size)
        os.chmod(path, mode)
        return PREFIX + word


def register(stream, segment_id, name, size):
    message = pb.RegisterSegment(segment_id=segment_id, name=name, bytes=size)
    stream.outgoing.put(pb.ClientMessage(register_segment=message))
    answer = next(stream.call)
    assert answer.HasField("segment") and answer.segment.segment_id == segment_id, answer
    return answer.segment.code, answer.segment.message


def check_segments(errors, stream, objects):
    good = objects.make("good")
    open_to_all = objects.make("open", mode=0o604)
    os.symlink("/dev/shm" + good, objects.path("link"))
    os.mkfifo(objects.path("pipe"), 0o600)
    long_name = PREFIX + "x" * 300
    for name, segment_id, called, size, values in (
            ("segment-zero", 0, good, 1, []),
            ("segment-name-long", 1, long_name, 1, [len(long_name)]),
            ("segment-name-prefix", 1, "/other", 1, ["/other", PREFIX]),
            ("segment-name-slash", 1, PREFIX + "a/b", 1, [PREFIX + "a/b"]),
            ("segment-bytes-zero", 1, good, 0, []),
            ("segment-bytes-max", 1, good, BYTES_MAX + 1, [BYTES_MAX + 1, BYTES_MAX]),
            ("segment-missing", 1, PREFIX + "missing", 1, [PREFIX + "missing"]),
            ("segment-link", 1, PREFIX + "link", 1, [PREFIX + "link"]),
            ("segment-kind", 1, PREFIX + "pipe", 1, [PREFIX + "pipe"]),
            ("segment-mode", 1, open_to_all, 1, [open_to_all, 4]),
            ("segment-size", 1, objects.make("small", 100), 101, [101, PREFIX + "small", 100])):
        errors.expect(name, *register(stream, segment_id, called, size), values)
    assert register(stream, 1, good, BYTES_MAX) == (OK, ""), "taken after all"
    errors.expect("segment-twice", *register(stream, 1, good, BYTES_MAX), [1])
    assert register(stream, 2, objects.make("cut", 1 << 16), 1 << 16) == (OK, ""), "the second"
    errors.expect("segment-count", *register(stream, 3, good, BYTES_MAX), [3, 2, 2])


def check_places(errors, stream, mine):
    """The segments of check_segments are registered."""
    result = stream.step([mine.overwrite()], place=pb.SegmentPlace(segment_id=5))
    errors.expect("place-unknown", result.code, result.last.message, [5])
    mine.go_on(stream)
    result = stream.step([mine.overwrite()], HASH_IDS, place=pb.SegmentPlace(segment_id=1, offset=BYTES_MAX - 1))
    errors.expect("place-size", result.code, result.last.message, [BYTES_MAX - 1, None, BYTES_MAX])
    mine.go_on(stream)
    os.truncate(f"/dev/shm{PREFIX}cut", 0)
    result = stream.step([mine.grow(4)], HASH_IDS, place=pb.SegmentPlace(segment_id=2, offset=8))
    errors.expect("segment-cut", result.code, result.last.message, [PREFIX + "cut", None, 8])
    mine.go_on(stream)
    result = stream.step([segment(0, 0, [1, 2])], HASH_IDS, place=pb.SegmentPlace(segment_id=1)).expect_ok()
    assert result.last.place_bytes > 0 and not result.last.hash_ids, result.last


def check_shared(errors, program, reference):
    with Server(program, arguments(SETTINGS)) as server, Objects() as objects:
        with Stream(server.address, CLIENT) as stream:
            mine = Sequence(reference, MINE, 5)
            mine.go_on(stream)
            check_segments(errors, stream, objects)
            check_places(errors, stream, mine)
        place = pb.StepRequest(segments=[segment(0, 0, [1])], place=pb.SegmentPlace(segment_id=1))
        errors.expect("place-unknown", *lookup(server.address, step=place), [1])
        first = pb.ClientMessage(register_segment=pb.RegisterSegment(segment_id=1))
        errors.expect("register-first", *end_of_stream(server.address, [first, step(1)]))
    with Server(program, arguments({})) as server, Stream(server.address) as stream:
        errors.expect("segment-off", *register(stream, 1, PREFIX + "good", 1))
    print("shared memory that cannot be had: refused", flush=True)
