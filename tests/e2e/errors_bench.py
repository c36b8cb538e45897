"""What the rows of errors_test.py share: the reference, watched sequences, streams that do not read, a crowd."""

import random
import time

from engram_client import HASH_IDS, OK, PACKED, Stream, connect, grpc, pb, segment
from golden_case import GoldenCase

CASE = GoldenCase("tiny")
VOCABULARY = len(CASE.token_map)
STREAM = "/engram.v1.EngramLookup/Stream"
# A frame is one round's work here, and what a client does not read stops after two of them.
SMALL_FRAMES = {"streams.frame_bytes_max": 65536, "streams.unsent_bytes_max": 65536}


def arguments(settings, *more):
    words = [*CASE.checkpoint_arguments(), *more]
    for path, value in settings.items():
        words += ["--set", f"{path}={value}"]
    return words


class Reference:
    """Whole sequences, unsplit and stateless, from a server of its own."""

    def __init__(self, address):
        self.stream = Stream(address)

    def tails(self, sequences, row_format):
        """{layer: [of each (tokens, mask, begin) what stands for the positions from `begin` on]}"""
        whole = [segment(0, 0, tokens, mask) for tokens, mask, _ in sequences]
        result = self.stream.step(whole, row_format).expect_ok()
        tails = {}
        for layer in CASE.layer_ids:
            values = result.hash_ids(layer) if row_format == HASH_IDS else result.rows(layer)
            width = len(values) // sum(len(tokens) for tokens, *_ in sequences)  # of a token
            tails[layer], at = [], 0
            for tokens, _, begin in sequences:
                tails[layer].append(values[(at + begin) * width:(at + len(tokens)) * width])
                at += len(tokens)
        return tails


class Sequence:
    """One session, or look-back in every segment (session 0), and all that was accepted of it."""

    def __init__(self, reference, session_id, seed):
        self.reference = reference
        self.session_id = session_id
        self.random = random.Random(seed)
        self.tokens, self.mask = [], []
        self.state = None  # the last one returned

    def grow(self, count):
        """A segment of as many more tokens."""
        begin = len(self.tokens)
        self.tokens += [self.random.randrange(VOCABULARY) for _ in range(count)]
        self.mask += [int(self.random.random() < 0.9) for _ in range(count)]
        seed = {}
        if self.session_id == 0:
            seed["lookback"] = pb.Lookback(token_ids=self.tokens[:begin], token_mask=bytes(self.mask[:begin]))
        return segment(self.session_id, begin, self.tokens[begin:], self.mask[begin:], **seed)

    def overwrite(self, **fields):
        """A good segment that would change what follows."""
        return segment(self.session_id, 1, [self.tokens[1] ^ 1], **fields)

    def go_on(self, stream, **seed):
        """The next good call: the same hash ids as of one whole run of all that was accepted."""
        if 40 < len(self.tokens) < 100:  # keep it short; a rewind is a good call too
            del self.tokens[6:], self.mask[6:]
        begin = len(self.tokens)
        more = self.grow(3)
        more.MergeFrom(pb.Segment(**seed))
        result = stream.step([more], HASH_IDS, return_states=True).expect_ok()
        wanted = self.reference.tails([(self.tokens, self.mask, begin)], HASH_IDS)
        for layer in CASE.layer_ids:
            assert result.hash_ids(layer) == wanted[layer][0], f"session {self.session_id} hashes another history"
        assert result.results[0].length == len(self.tokens), result.results[0]
        self.state = result.results[0].state


class Crowd:
    """64 sequences that are written on in every step."""

    SIZE = 64

    def __init__(self, reference, first_session):
        """Sessions from that id on; 0: stateless."""
        self.reference = reference
        ids = [first_session and first_session + i for i in range(self.SIZE)]
        self.members = [Sequence(reference, session_id, i) for i, session_id in enumerate(ids)]

    def segments(self):
        for member in self.members:
            if len(member.tokens) > 20:
                del member.tokens[5:], member.mask[5:]
        self.begins = [len(member.tokens) for member in self.members]
        return [member.grow(2) for member in self.members]

    def check(self, result, at, length):
        """All of the last step was served but the segment `at` of `length` tokens."""
        good = [r for i, r in enumerate(result.results) if i != at]
        assert result.code == OK and len(good) == self.SIZE, result.last
        for member, found in zip(self.members, good):
            assert (found.code, found.length) == (OK, len(member.tokens)), found
        sequences = [(m.tokens, m.mask, begin) for m, begin in zip(self.members, self.begins)]
        wanted = self.reference.tails(sequences, PACKED)
        for layer in CASE.layer_ids:
            covered = [t for f in result.layers[layer] for t in range(f.token_begin, f.token_begin + f.token_count)]
            assert covered == [*range(2 * at), *range(2 * at + length, 2 * self.SIZE + length)], covered
            assert result.rows(layer) == b"".join(wanted[layer]), f"layer {layer}: other rows beside a bad segment"


class HeldStream(Stream):
    """A stream that is not read, so that its steps stay in flight. The client takes in no more than 64 KiB ahead."""

    def __init__(self, address, client_id):
        super().__init__(address, client_id, options=[("grpc.http2.bdp_probe", 0)])

    def hold(self, segments, row_format):
        """Sends a step too large to be answered unread; returns its id when the server has it."""
        step_id = self.send(segments, row_format)
        while not self.steps[step_id].layers:
            self.receive()
        return step_id

    def flush(self):
        """Waits until all messages are on their way: one is taken when the one before it was sent."""
        self.outgoing.put(pb.ClientMessage(cancel=pb.CancelStep(step_id=1 << 40)))
        wait_until(self.outgoing.empty)


def wait_until(question):
    while not question():
        time.sleep(0.001)


def end_of_stream(address, messages, compression=None):
    """Sends messages, as they are or serialised, and returns the status and the details of the call."""
    def serialise(message):
        return message if isinstance(message, bytes) else message.SerializeToString()
    with grpc.insecure_channel(address, compression=compression) as channel:
        call = channel.stream_stream(STREAM, request_serializer=serialise)(iter(messages), timeout=30)
        try:
            for _ in call:
                pass
        except grpc.RpcError:
            pass
        return call.code(), call.details()


def lookup(address, **fields):
    """The status and the details of a call that must fail."""
    channel, stub = connect(address)
    with channel:
        try:
            reply = stub.Lookup(pb.LookupRequest(**fields), timeout=30)
        except grpc.RpcError as error:
            return error.code(), error.details()
    raise AssertionError(f"served: {reply}")


def hello(client_id, **fields):
    return pb.ClientMessage(hello=pb.Hello(client_id=client_id, **fields))


def step(step_id, *segments, **fields):
    return pb.ClientMessage(step=pb.StepRequest(step_id=step_id, segments=segments, **fields))
