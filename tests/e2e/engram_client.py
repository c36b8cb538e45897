"""A small client on stock grpcio, made from the .proto alone when it is imported."""

import importlib
import pathlib
import queue
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]

try:
    import grpc
    from grpc_tools import protoc
except ImportError as error:
    print(f"SKIPPED: {error} (python3 -m pip install -r tests/requirements.txt)")
    sys.exit(77)


def make_stubs():
    """The modules engram_pb2, engram_pb2_grpc, admin_pb2 and admin_pb2_grpc."""
    with tempfile.TemporaryDirectory(prefix="engram-stubs-") as folder:
        code = protoc.main(["protoc", f"-I{SOURCE / 'proto'}", f"--python_out={folder}", f"--grpc_python_out={folder}",
                            "engram/v1/engram.proto", "engram/v1/admin.proto"])
        assert code == 0, "protoc failed"
        sys.path.insert(0, folder)
        try:
            names = ("engram_pb2", "engram_pb2_grpc", "admin_pb2", "admin_pb2_grpc")
            return [importlib.import_module(f"engram.v1.{name}") for name in names]
        finally:
            sys.path.remove(folder)


pb, services, admin_pb, admin_services = make_stubs()

PACKED, BF16, HASH_IDS = pb.ROW_FORMAT_PACKED, pb.ROW_FORMAT_BF16, pb.ROW_FORMAT_HASH_IDS
CALL_SECONDS = 60
OK = grpc.StatusCode.OK.value[0]


def segment(session_id, start_pos, tokens, mask=None, **seed):
    return pb.Segment(session_id=session_id, start_pos=start_pos, token_ids=tokens,
                      token_mask=bytes(mask) if mask is not None else b"", **seed)


class StepResult:
    """The frames of one step, checked for their order as they come."""

    def __init__(self, keep_rows=True):
        self.keep_rows = keep_rows
        self.layers = {}  # layer -> frames
        self.row_bytes = {}  # layer -> bytes of rows received
        self.results = []
        self.last = None

    def add(self, frame):
        assert self.last is None, f"step {frame.step_id}: a frame after the last one"
        rows = bool(frame.rows) or bool(frame.hash_ids) or frame.token_count > 0
        assert not (self.layers and frame.results), f"step {frame.step_id}: results after the first rows"
        self.results += frame.results
        if rows:
            assert all(frame.layer >= layer for layer in self.layers), f"step {frame.step_id}: layers out of order"
            frames = self.layers.setdefault(frame.layer, [])
            end = frames[-1].token_begin + frames[-1].token_count if frames else 0
            assert frame.token_begin >= end, f"step {frame.step_id}: tokens out of order"
            self.row_bytes[frame.layer] = self.row_bytes.get(frame.layer, 0) + len(frame.rows)
            if not self.keep_rows:
                frame.ClearField("rows")
            frames.append(frame)
        if frame.last:
            self.last = frame

    @property
    def code(self):
        return self.last.code

    def rows(self, layer):
        return b"".join(frame.rows for frame in self.layers.get(layer, []))

    def hash_ids(self, layer):
        return [row for frame in self.layers.get(layer, []) for row in frame.hash_ids]

    def tokens(self, layer):
        return sum(frame.token_count for frame in self.layers.get(layer, []))

    def expect_ok(self):
        assert self.code == OK, f"step: code {self.code}, {self.last.message}"
        for result in self.results:
            assert result.code == OK, f"segment of session {result.session_id}: code {result.code}, {result.message}"
        return self


def connect(address, options=None):
    channel = grpc.insecure_channel(address, options)
    return channel, services.EngramLookupStub(channel)


class Stream:
    """One Stream call. Not thread-safe."""

    def __init__(self, address, client_id="", keep_rows=True, options=None):
        self.address = address
        self.keep_rows = keep_rows
        self.channel, self.stub = connect(address, options)
        self.outgoing = queue.SimpleQueue()
        self.outgoing.put(pb.ClientMessage(hello=pb.Hello(client_id=client_id)))
        self.call = self.stub.Stream(iter(self.outgoing.get, None), timeout=CALL_SECONDS)
        first = next(self.call)
        assert first.HasField("welcome"), first
        self.welcome = first.welcome
        self.steps = {}  # step id -> StepResult
        self.drains = 0
        self.next_id = 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.outgoing.put(None)
        self.call.cancel()
        self.channel.close()

    def send(self, segments, row_format=PACKED, **fields):
        """Sends a step and returns its id at once."""
        step_id = self.next_id
        self.next_id += 1
        self.steps[step_id] = StepResult(self.keep_rows)
        request = pb.StepRequest(step_id=step_id, segments=segments, format=row_format, **fields)
        self.outgoing.put(pb.ClientMessage(step=request))
        return step_id

    def receive(self):
        """Takes one message in."""
        message = next(self.call)
        if message.HasField("drain"):
            self.drains += 1
            return
        assert message.HasField("reply"), message
        assert message.reply.step_id in self.steps, f"a frame of step {message.reply.step_id}, which was never sent"
        self.steps[message.reply.step_id].add(message.reply)

    def result(self, step_id):
        """Waits for the step's last frame."""
        while self.steps[step_id].last is None:
            self.receive()
        return self.steps.pop(step_id)

    def step(self, segments, row_format=PACKED, **fields):
        return self.result(self.send(segments, row_format, **fields))

    def server_status(self):
        """The server's gauges, without taking a place among its steps."""
        return admin_services.EngramAdminStub(self.channel).GetStatus(admin_pb.GetStatusRequest())

    def close(self):
        """Half-closes, reads to the end; returns the call's status code."""
        self.outgoing.put(None)
        for _ in self.call:
            pass
        return self.call.code()
