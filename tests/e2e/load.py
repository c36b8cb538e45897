"""Steps streamed to a server that is told to stop: every one it took must be answered whole, once."""

import threading

from engram_client import BF16, OK, PACKED, Stream, grpc, segment

# Of the golden case medium.
LAYERS = (1, 14)
VOCABULARY = 512
ROW_BYTES = {PACKED: 24 * 264, BF16: 24 * 512}  # a token, a layer

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


class Load(threading.Thread):
    """Streams steps until the server drains; then every step it answers must have exactly one last frame."""

    IN_FLIGHT = 16

    def __init__(self, address):
        super().__init__()
        self.stream = Stream(address, keep_rows=False)
        self.answered = []
        self.sent = 0
        self.status = None
        self.failure = None

    def run(self):
        try:
            self._run()
        except BaseException as error:  # shown by the main thread
            self.failure = error

    def _run(self):
        waiting, asked = [], {}
        try:
            while self.stream.drains == 0:
                while len(waiting) < self.IN_FLIGHT and self.stream.drains == 0:
                    tokens = [(self.sent * 7 + i) % VOCABULARY for i in range(1 + self.sent * 37 % 200)]
                    row_format = BF16 if self.sent % 2 else PACKED
                    step_id = self.stream.send([segment(0, 0, tokens)], row_format)
                    self.sent += 1
                    waiting.append(step_id)
                    asked[step_id] = (len(tokens), row_format)
                self.stream.receive()
                waiting = [step for step in waiting if self.stream.steps[step].last is None]
            self.stream.outgoing.put(None)
            while True:
                self.stream.receive()
        except StopIteration:
            self.status = grpc.StatusCode.OK
        except grpc.RpcError as error:
            self.status = error.code()
        self.answered = [(step, result, *asked[step]) for step, result in sorted(self.stream.steps.items())]

    def check(self):
        """After the server ended."""
        if self.failure is not None:
            raise self.failure
        assert self.status in (grpc.StatusCode.OK, UNAVAILABLE), self.status
        finished = [step for step, result, *_ in self.answered if result.last is not None]
        admitted = 0
        for step, result, length, row_format in self.answered:
            if result.last is None:
                # Nothing of it was served, nor of any step behind it: the server had stopped taking steps.
                dropped = not result.layers and step > max(finished, default=0)
                assert dropped, f"step {step} was admitted and never finished"
            elif result.code == OK:
                admitted += 1
                for layer in LAYERS:
                    assert result.tokens(layer) == length, f"step {step}: {result.tokens(layer)} of {length} tokens"
                    found, wanted = result.row_bytes[layer], length * ROW_BYTES[row_format]
                    assert found == wanted, f"step {step}: {found} of {wanted} bytes"
            else:
                assert result.code == UNAVAILABLE.value[0], result.last
        assert admitted > 0, "no step was served"
        return admitted
