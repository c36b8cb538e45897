"""What is refused while steps are in flight: full queues and budgets, sessions of another stream, steps given up."""

import queue

from engram_client import BF16, HASH_IDS, OK, Stream, grpc, pb, segment
from engram_server import Server
from errors_bench import (SMALL_FRAMES, STREAM, Crowd, HeldStream, Sequence, arguments, end_of_stream, hello, step,
                          wait_until)
from errors_segments import refuse

CLIENT = "bench"
MINE, NEW, HELD = 7, 8, 500
LARGE = 10000  # tokens of a step that stays in flight unread, as bf16
ABORTED = 10
CROWD_TOKENS = 25 * Crowd.SIZE  # of its step, and what its look-backs count for, at most


def is_busy(stream, session_id, length):
    """Whether another stream has steps of the session in flight; nothing is written."""
    return stream.step([segment(session_id, length, [])], HASH_IDS).results[0].code == ABORTED


def check_in_flight(errors, stream, held_stream, mine, held):
    """The stream's own bound, and closing what is in flight elsewhere."""
    steps = [held_stream.hold([held.grow(LARGE)], BF16), held_stream.send([held.grow(LARGE)], BF16)]
    refused = held_stream.send([held.overwrite()], BF16)
    held_stream.flush()

    result = stream.step([mine.grow(2)], close_sessions=[MINE + 1, HELD])
    errors.expect("close-busy", result.code, result.last.message, [1, HELD, 2])
    assert result.results[0].code == OK and result.tokens(1) == 2, "segments and rows are served all the same"
    mine.go_on(stream)
    request = pb.LookupRequest(hello=pb.Hello(client_id=CLIENT), step=pb.StepRequest(
        step_id=1, segments=[segment(0, 0, [1, 2])], close_sessions=[HELD]))
    frames = stream.stub.Lookup(request).frames
    errors.expect("close-busy", frames[-1].code, frames[-1].message, [0, HELD, 2])
    assert frames[0].token_count == 2 and frames[0].rows, "Lookup serves the rows all the same"

    result = held_stream.result(refused)
    errors.expect("steps-in-flight", result.code, result.last.message, [2])
    for step_id in steps:
        held_stream.result(step_id).expect_ok()


def check_given_up(errors, stream, held_stream, _, held):
    """CancelStep and timeout_ms: rows are dropped, history stands."""
    step_id = held_stream.hold([held.grow(LARGE)], BF16)
    held_stream.outgoing.put(pb.ClientMessage(cancel=pb.CancelStep(step_id=step_id)))
    wait_until(lambda: not is_busy(stream, HELD, len(held.tokens)))
    result = held_stream.result(step_id)
    errors.expect("cancelled", result.code, result.last.message)
    assert result.results[0].length == len(held.tokens) and not result.last.rows, result.last
    held.go_on(stream)

    step_id = held_stream.send([held.grow(LARGE)], BF16, timeout_ms=2000)
    wait_until(lambda: is_busy(stream, HELD, len(held.tokens)))
    wait_until(lambda: not is_busy(stream, HELD, len(held.tokens)))
    result = held_stream.result(step_id)
    errors.expect("timeout", result.code, result.last.message)


def check_queue_and_streams(errors, stream, held_stream, mine, held):
    """All streams together: the queue of two steps, three streams."""
    steps = [held_stream.hold([held.grow(LARGE)], BF16), held_stream.send([held.grow(LARGE)], BF16)]
    wait_until(lambda: stream.server_status().steps_in_flight == 2)
    result = stream.step([mine.overwrite()])
    errors.expect("queue-full", result.code, result.last.message, [2])
    for step_id in steps:
        held_stream.result(step_id).expect_ok()
    mine.go_on(stream)
    held.go_on(stream)

    with Stream(stream.address, CLIENT):
        messages = [hello(CLIENT), step(1, mine.overwrite())]
        errors.expect("streams-max", *end_of_stream(stream.address, messages), [3])


def check_limits(errors, program, reference):
    few = {"streams.steps_in_flight_max": 2, "sessions.tokens_max": 1 << 20, **SMALL_FRAMES}
    fewer = {**few, "scheduling.queue_steps_max": 2, "streams.streams_max": 3}
    for check, settings in ((check_in_flight, few), (check_given_up, few), (check_queue_and_streams, fewer)):
        with Server(program, arguments(settings)) as server, \
                Stream(server.address, CLIENT) as stream, HeldStream(server.address, CLIENT) as held_stream:
            mine, held = Sequence(reference, MINE, 5), Sequence(reference, HELD, 6)
            mine.go_on(stream)
            held.go_on(stream)
            check(errors, stream, held_stream, mine, held)
            mine.go_on(stream)
            held.go_on(stream)
    print("limits of a stream and of the server, steps given up: refused", flush=True)


def check_budget(errors, program, reference):
    """1 MiB of history and four sessions, 65,000 tokens of two of them in flight. The idle one stays."""
    budget, tokens = 1 << 20, 65000
    settings = {"sessions.history_bytes_max": budget, "sessions.sessions_max": 4, "sessions.client_share_percent": 100,
                "streams.step_tokens_max": budget // 8, **SMALL_FRAMES}
    with Server(program, arguments(settings)) as server, \
            Stream(server.address, CLIENT) as stream, HeldStream(server.address, CLIENT) as held_stream:
        idle, held = Sequence(reference, MINE, 9), [Sequence(reference, HELD + i, 10 + i) for i in range(4)]
        crowd = Crowd(reference, 0)  # no sessions
        idle.go_on(stream)
        steps = [held_stream.hold([held[0].grow(tokens), held[1].grow(tokens)], HASH_IDS)]
        many = [1] * (budget // 8 - CROWD_TOKENS)
        refuse(errors, stream, crowd, "history-full", segment(NEW, 0, many), [None, budget, None])
        idle.go_on(stream)
        stream.step([], close_sessions=[MINE]).expect_ok()
        steps.append(held_stream.send([held[2].grow(10), held[3].grow(10)], HASH_IDS))
        wait_until(lambda: is_busy(stream, HELD + 3, 10))
        refuse(errors, stream, crowd, "sessions-full", segment(NEW, 0, [1]), [4])
        for step_id in steps:
            held_stream.result(step_id).expect_ok()
        for sequence in held:
            sequence.go_on(stream)
    print("a budget that sessions in flight hold: refused", flush=True)


def check_share(errors, program, reference):
    """Half of 1 MiB and of eight sessions is the client's that does not read. Another one has the rest."""
    budget = 1 << 20
    settings = {"sessions.history_bytes_max": budget, "sessions.sessions_max": 8, **SMALL_FRAMES}
    with Server(program, arguments(settings)) as server, Stream(server.address, "another") as other, \
            Stream(server.address, CLIENT) as stream, HeldStream(server.address, CLIENT) as held_stream:
        idle, held = Sequence(reference, MINE, 15), [Sequence(reference, HELD + i, 16 + i) for i in range(4)]
        crowd = Crowd(reference, 0)
        idle.go_on(other)
        steps = [held_stream.hold([held[0].grow(65000)], HASH_IDS)]
        many = [1] * (65536 - CROWD_TOKENS)
        refuse(errors, stream, crowd, "history-share", segment(NEW, 0, many), [None, budget // 2, 50])
        steps += [held_stream.send([sequence.grow(10)], HASH_IDS) for sequence in held[1:]]
        wait_until(lambda: is_busy(stream, HELD + 3, 10))
        refuse(errors, stream, crowd, "sessions-share", segment(NEW, 0, [1]), [4, 50])
        idle.go_on(other)
        for session_id in (NEW, NEW + 1):
            other.step([segment(session_id, 0, [1])]).expect_ok()
        idle.go_on(other)
        for step_id in steps:
            held_stream.result(step_id).expect_ok()
        for sequence in held:
            sequence.go_on(stream)
    print("a share that a client's own sessions in flight hold: refused, to nobody else", flush=True)


def check_hello_timeout(errors, program, reference):
    """Two streams may be open, and one of them says nothing."""
    with Server(program, arguments({"streams.streams_max": 2, "streams.hello_timeout_ms": 200})) as server, \
            Stream(server.address, CLIENT) as stream, grpc.insecure_channel(server.address) as channel:
        mine = Sequence(reference, MINE, 20)
        mine.go_on(stream)
        words = queue.SimpleQueue()
        silent = channel.stream_stream(STREAM)(iter(words.get, None), timeout=30)
        while silent.is_active():
            try:
                with Stream(server.address, CLIENT) as late:
                    mine.go_on(late)
            except grpc.RpcError as full:
                assert full.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, full
        errors.expect("hello-timeout", silent.code(), silent.details(), [200])
        words.put(None)
        mine.go_on(stream)
    print("a stream without a Hello: made way", flush=True)
