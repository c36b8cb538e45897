#!/usr/bin/env python3
"""Starts engram-server on the golden case medium and runs the soak programs against it. By hand: tests/soak/run.sh."""

import argparse
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from engram_server import Server, descendants_of
from golden_case import GoldenCase
from resident import ResidentWatch

UNSENT_MIB = 16  # streams.unsent_bytes_max, the default
ROUND_MIB = 4  # scheduling.round_bytes_max, the default: a stream may be one round past its cap
READERS = 4


def run(*command):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True)


def streams(arguments, server):
    run(arguments.tests / "stream_soak", "--server", server.address, "--streams", arguments.streams, "--seed",
        arguments.seed, "--growth-mib-max", arguments.growth_mib_max)


def slow_reader(arguments, server):
    # Every stream may have its cap unsent at the moment we look, the readers too.
    bound = (1 + READERS) * (UNSENT_MIB + ROUND_MIB)
    # The one that never reads asks for rows, then only for results, 4 MiB a step at most.
    for refused_segments in (0, 4096):
        run(arguments.tests / "slow_reader", "--server", server.address, "--readers", READERS, "--pairs",
            arguments.pairs, "--window", arguments.window, "--ratio-min", arguments.ratio_min, "--unsent-mib-max",
            bound, "--refused-segments", refused_segments)


def verify(arguments, server):
    case = GoldenCase("medium")
    run(arguments.tool, "verify", "--server", server.address, *case.checkpoint_arguments(), "--streams", 64,
        "--in-flight", 8, "--forks", 0.1, "--cancel", 0.05, "--speculative", "--duration",
        arguments.duration, "--seed", arguments.seed)


def together(arguments, server):
    """verify and load at once, every byte compared, with cancels and connections that break off; memory stays flat."""
    checkpoint = GoldenCase("medium").checkpoint_arguments()
    common = ["--server", server.address, *checkpoint, "--duration", arguments.duration, "--seed", arguments.seed]
    commands = [
        ["verify", *common, "--streams", 8, "--in-flight", 4, "--forks", 0.1, "--cancel", 0.05, "--speculative"],
        ["load", *common, "--profile", "mixed", "--streams", 4, "--tokens", 256, "--verify-fraction", 1,
         "--cancel-fraction", 0.05, "--reconnect-every", "2s", "--slo", "error_rate=0"],
        ["load", *common, "--profile", "speculative", "--streams", 4, "--in-flight", 4, "--verify-fraction", 1,
         "--cancel-fraction", 0.05, "--reconnect-every", "3s", "--slo", "error_rate=0"]]
    pids = [pid for pid in descendants_of(server.process.pid) + [server.process.pid] if is_server(pid)]
    with ResidentWatch(pids, every=0.25) as watch:
        processes = []
        for command in commands:
            command = [str(word) for word in [arguments.tool, *command]]
            print("+", *command, flush=True)
            processes.append(subprocess.Popen(command))
        codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(f"exit codes {codes}")
    for pid in pids:
        mebibytes = watch.growth(pid) / 2**20
        print(f"process {pid}: resident memory {mebibytes:+.1f} MiB over the run", flush=True)
        if 0 < arguments.growth_mib_max < mebibytes:
            raise SystemExit(f"process {pid} grew by {mebibytes:.1f} MiB, the limit is {arguments.growth_mib_max}")


def is_server(pid):
    """mpirun is between us and the ranks."""
    return pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("engram-server")


SOAKS = {"streams": streams, "slow_reader": slow_reader, "verify": verify, "together": together}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True, help="the program engram-server")
    parser.add_argument("--tool", required=True, help="the program engram")
    parser.add_argument("--tests", required=True, type=pathlib.Path, help="folder of stream_soak and slow_reader")
    parser.add_argument("--soak", choices=SOAKS, action="append", help="which (default: all)")
    parser.add_argument("--ranks", type=int, help="under mpirun with so many; default: two in-process shards")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--streams", type=int, default=50000)
    parser.add_argument("--growth-mib-max", type=int, default=96, help="0: no bound, for sanitizers")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--window", type=float, default=2.0)
    parser.add_argument("--ratio-min", type=float, default=0.0, help="0.9 on a quiet machine")
    parser.add_argument("--duration", default="10m")
    arguments = parser.parse_args()
    for soak in arguments.soak or SOAKS:
        with Server(arguments.server, GoldenCase("medium").checkpoint_arguments(), ranks=arguments.ranks,
                    shards=2) as server:
            SOAKS[soak](arguments, server)
            print(f"{soak}: good", flush=True)


if __name__ == "__main__":
    main()
