"""What a server says that loads, stops, loses a rank or its files; a seed takes the sequence on elsewhere."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from engram_client import BF16, HASH_IDS, PACKED, Stream, connect, grpc, pb, segment
from engram_server import Server, kill
from errors_bench import (CASE, SMALL_FRAMES, HeldStream, Reference, Sequence, arguments, end_of_stream, hello, lookup,
                          step, wait_until)

CLIENT = "bench"
MINE, HELD = 7, 500


def check_draining(errors, program, reference):
    settings = {"scheduling.drain_timeout_ms": 4000, **SMALL_FRAMES}
    with Server(program, arguments(settings)) as server, Stream(server.address, CLIENT) as stream, \
            Stream(server.address, CLIENT) as idle, HeldStream(server.address, CLIENT) as held_stream:
        mine, held = Sequence(reference, MINE, 10), Sequence(reference, HELD, 11)
        mine.go_on(stream)
        held.go_on(stream)
        seed = held.state
        held_step = held_stream.hold([held.grow(10000)], BF16)
        kill(server.front_pid(), signal.SIGTERM)
        while not stream.drains:
            stream.receive()

        bad = mine.overwrite()
        result = stream.step([bad])
        errors.expect("draining", result.code, result.last.message)
        found = lookup(server.address, hello=pb.Hello(client_id=CLIENT), step=pb.StepRequest(segments=[bad]))
        errors.expect("draining", *found)
        errors.expect("stream-draining", *end_of_stream(server.address, [hello(CLIENT), step(1, bad)]))
        assert stream.close() == grpc.StatusCode.OK, stream.call.details()
        try:
            while True:
                idle.receive()
        except grpc.RpcError as end:
            errors.expect("stream-draining", end.code(), end.details())

        wait_until(lambda: "drain_timeout_ms = 4000 passed" in server.log())
        result = held_stream.result(held_step)
        errors.expect("drain-timeout", result.code, result.last.message)
        assert server.wait() == 0, server.log()
    mine.go_on(reference.stream, state=mine.state)
    del held.tokens[seed.position:], held.mask[seed.position:]
    held.go_on(reference.stream, state=seed)
    print("draining: refused, and gone on with elsewhere", flush=True)


def check_lost_rank(errors, program, reference):
    settings = {"sharding.round_timeout_ms": 1500, "sharding.heartbeat_ms": 500}
    with Server(program, arguments(settings), ranks=2) as server, Stream(server.address, CLIENT) as stream:
        mine = Sequence(reference, MINE, 12)
        mine.go_on(stream)
        frozen = server.rank_pids()[1]
        kill(frozen, signal.SIGSTOP)
        try:
            result = stream.step([mine.overwrite()], PACKED)
            errors.expect("rank-lost", result.code, result.last.message, [None, 1])
            try:
                while True:
                    stream.receive()
            except grpc.RpcError as end:
                errors.expect("stream-rank-lost", end.code(), end.details(), [None, 1])
        finally:
            kill(frozen, signal.SIGCONT)
        assert server.wait() != 0, "exit code 0 after a rank was lost"
    mine.go_on(reference.stream, state=mine.state)
    print("a frozen rank: told, and gone on with elsewhere", flush=True)


def check_lookups(errors, program, reference):
    """A frozen rank keeps Lookups open."""
    with Server(program, arguments({"streams.streams_max": 2}), ranks=2) as server:
        channel, stub = connect(server.address)
        with channel, Stream(server.address, CLIENT) as stream:
            mine = Sequence(reference, MINE, 13)
            mine.go_on(stream)
            frozen = server.rank_pids()[1]
            kill(frozen, signal.SIGSTOP)
            try:
                # Rows of every rank, of no session; which of the three comes last is nobody's business.
                step_of_all = pb.StepRequest(segments=[segment(0, 0, list(range(64)))])
                calls = [stub.Lookup.future(pb.LookupRequest(step=step_of_all), timeout=30) for _ in range(3)]
                wait_until(lambda: any(call.done() for call in calls))
                (refused,) = [call for call in calls if call.done()]
                errors.expect("lookups-max", refused.code(), refused.details(), [2])
            finally:
                kill(frozen, signal.SIGCONT)
            assert sum(call.code() == grpc.StatusCode.OK for call in calls) == 2, calls
            mine.go_on(stream)
    print("a Lookup more than there may be: refused", flush=True)


def check_files(errors, program, reference):
    """A table file that is cut and made whole again; the rows of that step are lost, its history is not."""
    with tempfile.TemporaryDirectory(prefix="engram-e2e-") as folder:
        copy = shutil.copytree(pathlib.Path(CASE.checkpoint_arguments()[1]), pathlib.Path(folder, "copy"))
        words = arguments({}, "--placement", "MAPPED", "--checkpoint", str(copy))
        words = words[words.index("--hash-constants"):]
        with Server(program, words, shards=2) as server, Stream(server.address, CLIENT) as stream:
            mine = Sequence(reference, MINE, 14)
            mine.go_on(stream)
            largest = max(copy.glob("*.safetensors"), key=lambda path: path.stat().st_size)
            size = largest.stat().st_size
            for name, now, values in (("file-cut", size - 1, [None, largest, size, size - 1]),
                                      ("file-written", size, [None, largest])):
                os.truncate(largest, now)
                result = stream.step([mine.grow(5)], PACKED)
                errors.expect(name, result.code, result.last.message, values)
                assert result.results[0].length == len(mine.tokens), result.results
                mine.go_on(stream)
    print("a table file cut and rewritten: told", flush=True)


def large_checkpoint(tool, folder):
    """768 MiB of holes: long enough to load that a rank can be stopped meanwhile."""
    config = {"engram_layer_ids": CASE.layer_ids, "engram_num_embeddings": [1, 1], "engram_max_ngram_size": 4,
              "engram_n_heads": 8, "engram_head_dim": 256, "engram_vocab_size": 64000,
              "engram_compressed_vocab_size": 200, "engram_pad_id": 2, "vocab_size": 300, "hidden_size": 64,
              "hc_mult": 4, "rms_norm_eps": 1e-20}
    pathlib.Path(folder, "config.json").write_text(json.dumps(config))
    pathlib.Path(folder, "tokens.jsonl").write_text('{"tokens": [1, 2, 3]}\n')
    checkpoint = pathlib.Path(folder, "checkpoint")
    command = [tool, "synth", "--out", checkpoint, "--config", f"{folder}/config.json", "--derive-rows", "--sparse",
               "--tokens", f"{folder}/tokens.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return checkpoint


class LoadingServer(Server):
    """Two ranks, the second stopped while it loads; serve() lets it go on."""

    def __init__(self, program, checkpoint):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.listens = f"127.0.0.1:{free.getsockname()[1]}"
        words = ["--checkpoint", str(checkpoint), "--placement", "HOST", "--set", f"listen.address={self.listens}"]
        super().__init__(program, words, ranks=2)

    def _ranks_run(self):
        try:
            return self.pid_file.exists() or bool(self.rank_pids())
        except (AssertionError, OSError):
            return False

    def _wait_until_serving(self):
        wait_until(self._ranks_run)
        self.frozen = self.rank_pids()[1]
        wait_until(self.pid_file.exists)  # written when the port is open, just before the load
        kill(self.frozen, signal.SIGSTOP)
        self.address = self.listens

    def serve(self):
        kill(self.frozen, signal.SIGCONT)
        super()._wait_until_serving()


def check_loading(errors, program, tool):
    with tempfile.TemporaryDirectory(prefix="engram-e2e-") as folder:
        with LoadingServer(program, large_checkpoint(tool, folder)) as server, Stream(server.address, CLIENT) as stream:
            mine = Sequence(Reference(server.address), MINE, 15)
            bad = segment(MINE, 0, [1, 2, 3])
            result = stream.step([bad], HASH_IDS)
            errors.expect("loading", result.code, result.last.message)
            found = lookup(server.address, hello=pb.Hello(client_id=CLIENT), step=pb.StepRequest(segments=[bad]))
            errors.expect("loading", *found)
            assert stream.stub.GetModel(pb.GetModelRequest(), timeout=30).geometry.rows[0] > 1
            server.serve()
            (result,) = stream.step([segment(MINE, 1, [1])], HASH_IDS).results
            assert "is unknown" in result.message, result
            mine.go_on(stream)
            mine.go_on(stream)
    print("loading: refused, then served", flush=True)
