#!/usr/bin/env python3
"""Runs the benchmarks, prints a table and writes benchmarks.json. By hand: tests/bench/run.sh (docs/benchmarks.md)."""

import argparse
import pathlib
import signal
import sys

sys.dont_write_bytecode = True

import machine
import rows_gather
import rows_ranks
import rows_redis
import rows_shared
import rows_start
import rows_stream
from report import Report
from workspace import ROOT, Workspace

# In this order, so that a server is loaded once for all rows that need it.
TASKS = [
    ("load_cold", rows_start.load_cold),
    ("gather", rows_gather.gather),
    ("growth", rows_gather.growth),
    ("hash", rows_gather.hashing),
    ("combine", rows_ranks.combine),
    ("repeats", rows_ranks.repeats),
    ("prefill_w1", lambda bench: rows_stream.prefill(bench, 1, 0.7)),
    ("decode", rows_stream.decode),
    ("stream_table", rows_stream.stream_table),
    ("ranks", lambda bench: rows_stream.ranks_cost(bench, 1)),
    ("redis", rows_redis.redis),
    ("prefill_w2", lambda bench: rows_stream.prefill(bench, 2, 0.5)),
    ("ranks", lambda bench: rows_stream.ranks_cost(bench, 2)),
    ("decode_paced", rows_stream.decode_paced),
    ("idle", rows_ranks.idle),
    ("ranks", lambda bench: rows_stream.ranks_cost(bench, 4)),
    ("start_full", rows_start.start_full),
    ("shm", rows_shared.shm),
    ("gpu", lambda bench: bench.report.missing(
        "gpu", "GPU gather, table >= 64 GiB", ">= 0.7 of copy bandwidth", "needs a GPU: tests/gpu/run.sh")),
]
NAMES = list(dict.fromkeys(name for name, _ in TASKS))


def parse():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench", help=argparse.SUPPRESS)
    parser.add_argument("--rows", metavar="NAME,...", default=",".join(NAMES), help=f"of {', '.join(NAMES)}")
    parser.add_argument("--table-gib", type=float, help="size of both tables together (default 8, --quick 0.0625)")
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes: whether it works, no figures")
    parser.add_argument("--dir", type=pathlib.Path, help="for the checkpoint (default: the build folder)")
    parser.add_argument("--json", type=pathlib.Path, help="to write (default: benchmarks.json in the build folder)")
    parser.add_argument("--keep", action="store_true", help="leave the checkpoint behind")
    options = parser.parse_args()
    options.rows = options.rows.split(",")
    unknown = set(options.rows) - set(NAMES)
    if unknown:
        parser.error(f"--rows: there is no {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    options.table_gib = options.table_gib or (0.0625 if options.quick else 8)
    options.dir = options.dir or options.build
    options.json = options.json or options.build / "benchmarks.json"
    return options


def main():
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # blocks are left, and with them processes and files
    report = Report(machine.describe(ROOT), {"rows": options.rows, "quick": options.quick,
                                             "table_gib": options.table_gib})
    with Workspace(options, report) as bench:
        for name, measure in TASKS:
            if name in options.rows:
                measure(bench)
    report.machine["load_average_after"] = machine.load_average()
    report.write(options.json)
    print(f"\n{report.table()}\n\n{report.rows_checked:,} rows compared with their definition, all right")
    print(options.json)


if __name__ == "__main__":
    main()
