#!/usr/bin/env python3
"""What a job does when things go wrong: lost and frozen ranks, SIGTERM under load, bad starts; what it costs idle."""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from engram_client import OK, PACKED, Stream, connect, pb, segment
from engram_server import Server, kill
from golden_case import DATA, GoldenCase
from load import LAYERS, ROW_BYTES, VOCABULARY, Load

CASE = "medium"


def arguments(*more):
    return [*GoldenCase(CASE).checkpoint_arguments(), *more]


def lookup_works(address):
    channel, stub = connect(address)
    with channel:
        request = pb.LookupRequest(step=pb.StepRequest(step_id=1, segments=[segment(0, 0, [1, 2, 3])]))
        frames = stub.Lookup(request, timeout=30).frames
    assert frames[-1].last and frames[-1].code == OK, frames[-1]


def test_rank_killed(program):
    for victim in (2, 0):
        with Server(program, arguments(), ranks=3) as server:
            lookup_works(server.address)
            began = time.monotonic()
            kill(server.rank_pids()[victim], signal.SIGKILL)
            code = server.wait(20)
            assert code != 0, f"exit code 0 after rank {victim} was killed"
            print(f"rank {victim} killed: the job ended with {code} after {time.monotonic() - began:.1f} s")


def test_rank_frozen(program):
    limits = ["--set", "sharding.round_timeout_ms=1500", "--set", "sharding.heartbeat_ms=500"]
    for victim in (1, 0):
        with Server(program, arguments(*limits), ranks=3) as server:
            lookup_works(server.address)
            pid = server.rank_pids()[victim]
            began = time.monotonic()
            kill(pid, signal.SIGSTOP)
            try:
                code = server.wait(30)
            finally:
                kill(pid, signal.SIGCONT)
            assert code != 0, f"exit code 0 after rank {victim} was stopped"
            print(f"rank {victim} frozen: the job ended with {code} after {time.monotonic() - began:.1f} s")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_idle(program):
    with Server(program, arguments(), ranks=4) as server:
        lookup_works(server.address)
        pids = server.rank_pids()
        time.sleep(1)
        before = [cpu_seconds(pid) for pid in pids]
        assert min(before) > 0, f"starting took no time at all: {before}"
        began = time.monotonic()
        time.sleep(6)
        elapsed = time.monotonic() - began
        shares = [(cpu_seconds(pid) - start) / elapsed for pid, start in zip(pids, before)]
        print("idle, share of a core by rank: " + ", ".join(f"{share:.2%}" for share in shares))
        assert max(shares) < 0.05, shares


def end_under_load(server, send_signal, expected):
    loads = [Load(server.address) for _ in range(3)]
    for load in loads:
        load.start()
    time.sleep(1.5)
    send_signal()
    code = server.wait()
    for load in loads:
        load.join(30)
        assert not load.is_alive(), "a stream outlived its server"
    served = sum(load.check() for load in loads)
    assert code == expected, f"exit code {code}:\n{server.log()}"
    return served


def test_drain(program):
    with Server(program, arguments(), shards=2) as server:
        served = end_under_load(server, lambda: kill(server.front_pid(), signal.SIGTERM), 0)
        print(f"SIGTERM, one process: {served} steps served whole, exit code 0")
    with Server(program, arguments(), ranks=2) as server:
        served = end_under_load(server, lambda: kill(server.front_pid(), signal.SIGTERM), 0)
        print(f"SIGTERM to rank 0: {served} steps served whole, exit code 0")
    with Server(program, arguments(), ranks=2) as server:
        served = end_under_load(server, lambda: kill(server.process.pid, signal.SIGUSR1), 0)
        print(f"SIGUSR1 to mpirun: {served} steps served whole, exit code 0")


def test_drain_large(program):
    """Large steps that were admitted before SIGTERM are answered in full, however slowly the client reads."""
    with Server(program, arguments(), shards=2) as server, Stream(server.address, keep_rows=False) as stream:
        tokens = [i % VOCABULARY for i in range(4096)]
        steps = [stream.send([segment(0, 0, tokens)], PACKED) for _ in range(4)]
        stream.receive()  # the first frame: all four requests were sent long before
        time.sleep(0.5)
        kill(server.front_pid(), signal.SIGTERM)
        time.sleep(0.5)
        for step in steps:
            result = stream.result(step).expect_ok()
            for layer in LAYERS:
                assert result.tokens(layer) == len(tokens), "tokens are missing"
                assert result.row_bytes[layer] == len(tokens) * ROW_BYTES[PACKED], "rows are missing"
        assert server.wait() == 0, server.log()
        assert stream.drains == 1, f"{stream.drains} Drain messages"
        print("SIGTERM with four large steps: all answered in full, exit code 0")


def run_to_end(command):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment,
                          timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def expect_end(command, code, *words):
    found, text = run_to_end(command)
    assert found == code, f"{command}: exit code {found}, wanted {code}:\n{text}"
    for word in words:
        assert word in text, f"{command}: '{word}' is missing in:\n{text}"


def test_bad_start(program):
    listen = ["--listen", "127.0.0.1:0"]
    expect_end([program, "--no-such-flag"], 2, "--no-such-flag")
    expect_end([program, "--set", "sharding.no_such_field=1"], 2, "no_such_field")
    expect_end([program, "--combine", "NO_SUCH_MODE", *arguments()], 2, "NO_SUCH_MODE")
    expect_end([program, *listen], 78, "checkpoint")
    expect_end([program, "--checkpoint", "/no/such/folder", *listen], 78, "/no/such/folder")
    no_gpu = ["env", "CUDA_VISIBLE_DEVICES=", program, *arguments(), "--placement", "DEVICE", *listen]
    expect_end(no_gpu, 78, "no GPU")  # built without CUDA, or none there
    # Without constants the token map would come from tokenizer.json, which the golden folders have none of.
    expect_end([program, "--checkpoint", str(DATA / "tiny_checkpoint"), *listen], 78, "tokenizer.json")
    with tempfile.TemporaryDirectory(prefix="engram-e2e-") as folder:
        copy = pathlib.Path(folder, "short")
        shutil.copytree(DATA / "tiny_checkpoint", copy)
        for shard in copy.glob("*.safetensors"):
            os.truncate(shard, shard.stat().st_size - 1)
        constants = ["--hash-constants", str(DATA / "tiny_constants.gguf")]
        expect_end([program, "--checkpoint", str(copy), *constants, *listen], 78, ".safetensors")
        launch = ["mpirun", "-np", "2", "--oversubscribe", program]
        expect_end([*launch, "--checkpoint", str(copy), *constants, *listen], 78)
    print("bad flags end with 2, bad checkpoints with 78, each with its reason")


def test_gpu_start(program):
    """On the double's GPUs, of which there are 8."""
    case = GoldenCase(CASE)
    first, second = case.layer_ids
    listen = [*arguments(), "--listen", "127.0.0.1:0"]
    expect_end([program, *listen, "--placement", "DEVICE", "--shards", "9"], 78, "ranks 0 and 8 would use the same GPU")
    rank = ["-np", "1", program, *listen, "--combine", "OWNER_GATHER", "--placement"]
    mixed = ["mpirun", "--oversubscribe", *rank, "MAPPED", ":", *rank, "DEVICE"]
    expect_end(mixed, 78, "GPU ranks and CPU ranks cannot be in one job")
    with tempfile.TemporaryDirectory(prefix="engram-e2e-") as folder:
        layers = pathlib.Path(folder, "layers.txtpb")
        sharding = "sharding {{ placement: DEVICE layer_placements {{ layer: {} placement: {} }} }}"
        layers.write_text(sharding.format(second, "HOST"))
        expect_end([program, "--config", str(layers), *listen], 78, f"layer {second} HOST")
        layers.write_text(sharding.format(second, "HOST_PINNED"))
        with Server(program, ["--config", str(layers), *arguments()], shards=3) as server:
            channel, stub = connect(server.address)
            with channel:
                model = stub.GetModel(pb.GetModelRequest(), timeout=30)
            assert model.placement == f"layer {first} DEVICE, layer {second} HOST_PINNED", model.placement
    print("what GPU ranks cannot be is refused with 78, and layers may lie apart")


TESTS = {
    "rank_killed": test_rank_killed,
    "rank_frozen": test_rank_frozen,
    "idle": test_idle,
    "drain": test_drain,
    "drain_large": test_drain_large,
    "bad_start": test_bad_start,
    "gpu_start": test_gpu_start,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--test", required=True, choices=TESTS)
    options = parser.parse_args()
    TESTS[options.test](options.server)
    return 0


if __name__ == "__main__":
    sys.exit(main())
