"""Bad steps, Hellos, streams and Lookups against one server: nothing of them is applied."""

import itertools

from engram_client import BF16, HASH_IDS, OK, PACKED, Stream, grpc, pb, segment
from engram_server import Server
from errors_bench import Sequence, arguments, end_of_stream, hello, lookup, step

CLIENT = "bench"
MINE = 7
SEGMENTS_MAX = 40
STEP_TOKENS = 3000  # 2.2 MiB as bf16
BYTES_MAX = 1 << 20
TOKEN_BYTES = 6 * 64 * 2  # bf16, both layers
MESSAGE_MAX = (4 << 20) + 6 * STEP_TOKENS + 512 * SEGMENTS_MAX
LOOKUP_MAX = (64 << 10) + 6 * 128 + 512 * SEGMENTS_MAX
UNKNOWN_MAX = 16 * (SEGMENTS_MAX + 1)

# id: the fields of the step, one good segment among them, and the values in the message.
STEPS = {
    "segments-max": lambda good: ({"segments": [good] + [pb.Segment()] * SEGMENTS_MAX},
                                  [SEGMENTS_MAX + 1, SEGMENTS_MAX]),
    "closes-max": lambda good: ({"segments": [good], "close_sessions": range(1, SEGMENTS_MAX + 2)},
                                [SEGMENTS_MAX + 1, SEGMENTS_MAX]),
    "step-tokens": lambda good: ({"segments": [good, segment(0, 0, [1] * STEP_TOKENS)]},
                                 [STEP_TOKENS + 1, 0, STEP_TOKENS]),
    "bytes-in-flight": lambda good: ({"segments": [good, segment(0, 0, [1] * 2999)], "format": BF16},
                                     [3000 * TOKEN_BYTES, BYTES_MAX, BYTES_MAX]),
    "close-zero": lambda good: ({"segments": [good], "close_sessions": [MINE, 0]}, [1]),
    "layer-unknown": lambda good: ({"segments": [good], "layers": [1, 0]}, [1, 0, "1, 4"]),
    "layer-twice": lambda good: ({"segments": [good], "layers": [4, 1, 4]}, [2, 4]),
    "format-unknown": lambda good: ({"segments": [good], "format": 3}, [3]),
    "unique-hash-ids": lambda good: ({"segments": [good], "format": HASH_IDS, "unique_rows": True}, []),
    "table-version": lambda good: ({"segments": [good], "table_version": 9}, [9, 1]),
}

# id: the fields of Hello besides client_id, and the values in the message.
HELLOS = {
    "hello-client": lambda model: ({"client_id": "c" * 257}, [257]),
    "hello-digest-size": lambda model: ({"model_digest": b"\1" * 31}, [31]),
    "hello-digest": lambda model: ({"model_digest": b"\1" * 32}, ["01" * 32, model.model_digest.hex()]),
    "hello-name": lambda model: ({"model_name": "no such"}, ["no such", model.name]),
    "hello-name-size": lambda model: ({"model_name": "n" * 257}, [257, model.name]),
}

# id: what is sent after Hello (before a good step), and the values in the message.
HELLO = hello(CLIENT)
STREAMS = {
    "step-first": lambda good: ([step(1, good)], []),
    "cancel-first": lambda good: ([pb.ClientMessage(cancel=pb.CancelStep(step_id=1))], []),
    "hello-twice": lambda good: ([HELLO, HELLO], []),
    "undecodable": lambda good: ([HELLO, b"\xff\xff\xff"], []),
    "unknown-fields": lambda good: ([HELLO, b"\x78\x01" * (UNKNOWN_MAX + 1)], [UNKNOWN_MAX + 1, UNKNOWN_MAX]),
    "no-kind": lambda good: ([HELLO, pb.ClientMessage()], []),
    "step-id": lambda good: ([HELLO, step(5), step(5, good)], [5, 5]),
    "message-size": lambda good: ([HELLO, step(1, good, segment(0, 0, [2**32 - 1] * 1_000_000))], [None, MESSAGE_MAX]),
}


def check_lookback(errors, stream, mine):
    """What a Lookback has beyond the three that hashing needs counts, in all segments together."""
    seed = pb.Lookback(token_ids=[1] * 1002)
    bad = [segment(0, 1002, [1], lookback=seed)] * 3
    result = stream.step([mine.overwrite(), *bad])
    errors.expect("step-tokens", result.code, result.last.message, [4 + 3 * 999, 3 * 999, STEP_TOKENS])
    stream.step(bad[:2] + [segment(0, 1001, [1], lookback=pb.Lookback(token_ids=[1] * 1000))], HASH_IDS).expect_ok()


def check_step(errors, stream, mine, name):
    fields, values = STEPS[name](mine.overwrite())
    result = stream.step(fields.pop("segments"), fields.pop("format", PACKED), **fields)
    errors.expect(name, result.code, result.last.message, values)
    assert not result.results and not result.layers, f"{name}: results or rows of a refused step"


def check_hello(errors, address, mine, name, model):
    fields, values = HELLOS[name](model)
    fields.setdefault("client_id", CLIENT)
    bad = pb.Hello(**fields)
    good = step(1, mine.overwrite())
    errors.expect(name, *end_of_stream(address, [pb.ClientMessage(hello=bad), good]), values)
    errors.expect(name, *lookup(address, hello=bad, step=good.step), values)


def check_stream(errors, address, mine, name):
    messages, values = STREAMS[name](mine.overwrite())
    errors.expect(name, *end_of_stream(address, [*messages, step(6, mine.overwrite())]), values)


def check_calls(errors, address, mine):
    """What has no row of its own above."""
    mine_hello = pb.Hello(client_id=CLIENT)
    bad = pb.StepRequest(segments=[mine.overwrite(), segment(0, 0, [1] * 128)])
    errors.expect("lookup-tokens", *lookup(address, hello=mine_hello, step=bad), [129, 0, 128])
    good = step(1, mine.overwrite())
    errors.expect("compressed", *end_of_stream(address, [HELLO, good], grpc.Compression.Gzip))
    with grpc.insecure_channel(address) as channel:
        unknown = b"\x78\x01" * (UNKNOWN_MAX + 1)
        for method, request, name, values in (
                ("Lookup", b"\xff\xff\xff", "lookup-undecodable", []),
                ("Lookup", b"\x12\x00" * LOOKUP_MAX, "lookup-size", [2 * LOOKUP_MAX, LOOKUP_MAX]),
                ("Lookup", unknown, "unknown-fields", [UNKNOWN_MAX + 1, UNKNOWN_MAX]),
                ("NoSuchMethod", b"", "method-unknown", [])):
            call = channel.unary_unary(f"/engram.v1.EngramLookup/{method}").with_call
            try:
                raise AssertionError(f"served: {call(request, timeout=30)}")
            except grpc.RpcError as error:
                errors.expect(name, error.code(), error.details(), values)


def check_steps(errors, program, reference):
    settings = {"streams.segments_max": SEGMENTS_MAX, "streams.step_tokens_max": STEP_TOKENS,
                "streams.bytes_in_flight_max": BYTES_MAX}
    with Server(program, arguments(settings)) as server, Stream(server.address, CLIENT) as stream:
        mine = Sequence(reference, MINE, 3)
        model = stream.welcome.model
        checks = itertools.chain(
            (lambda name=name: check_step(errors, stream, mine, name) for name in STEPS),
            (lambda name=name: check_hello(errors, server.address, mine, name, model) for name in HELLOS),
            (lambda name=name: check_stream(errors, server.address, mine, name) for name in STREAMS),
            [lambda: check_calls(errors, server.address, mine), lambda: check_lookback(errors, stream, mine)])
        for check in checks:
            mine.go_on(stream)
            check()
        mine.go_on(stream)
    print(f"{len(STEPS)} bad steps, {len(HELLOS)} Hellos, {len(STREAMS)} streams: refused", flush=True)


def check_format(errors, program, reference):
    """A server that sums bf16 rows, and takes so many segments that their refusals fill a LookupReply."""
    segments = 30000
    settings = {"streams.segments_max": segments}
    with Server(program, arguments(settings, "--combine", "ALL_REDUCE_BF16"), shards=2) as server, \
            Stream(server.address, CLIENT) as stream:
        mine = Sequence(reference, MINE, 4)
        mine.go_on(stream)
        result = stream.step([mine.overwrite()], PACKED)
        errors.expect("format-unserved", result.code, result.last.message)
        mine.go_on(stream)
        state = pb.HashState(position=1, compressed_ids=[1], constants_digest=b"\1" * 32)
        request = pb.StepRequest(format=HASH_IDS, segments=[segment(0, 1, [], state=state)] * (segments - 1))
        request.segments.append(mine.grow(2))  # written, though nobody hears of it
        found = lookup(server.address, hello=pb.Hello(client_id=CLIENT), step=request)
        errors.expect("lookup-answer", *found, [None, 4 << 20, segments])
        mine.go_on(stream)
        assert stream.step([mine.overwrite()], BF16).code == OK
    print("a format that is not served, an answer that does not fit: refused", flush=True)
