#!/usr/bin/env python3
"""The benchmarks still work: a quick run over a tiny table has all its rows and compared bytes, and wrong bytes end it.

Nothing is timed here: figures of such a run mean nothing.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from servers import Echo

HERE = pathlib.Path(__file__).resolve().parent
MPI_ROWS = ["combine", "repeats", "idle"]
ROWS = {"gather": ["gather_packed", "gather_bf16"], "prefill_w1": ["prefill_w1"], "decode": ["decode"],
        "load_cold": ["load_cold"], "combine": ["combine"], "idle": ["idle"], "redis": ["redis"], "shm": ["shm"]}
EXTRA = {"repeats": "repeats", "hash": "hash_ids_per_second", "stream_table": "stream_table", "ranks": "ranks"}
MACHINE = {"cpu", "cores", "memory_bytes", "kernel", "date", "commit", "load_average_before", "load_average_after"}


def run_quick(build, folder, names):
    out = pathlib.Path(folder, "benchmarks.json")
    done = subprocess.run([sys.executable, "-B", HERE / "bench.py", "--build", build, "--quick", "--table-gib", "0.02",
                           "--dir", folder, "--json", out, "--rows", ",".join(names)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in pathlib.Path(folder).iterdir()) == ["benchmarks.json"], "something was left"
    return json.loads(out.read_text()), done.stdout


def check(found, table, names):
    wanted = [row for name in names for row in ROWS.get(name, [])]
    assert sorted(row["name"] for row in found["rows"]) == sorted(wanted), found["rows"]
    for name in wanted:
        assert f"\n{name} " in table, f"{name} is not in the table:\n{table}"
    assert MACHINE <= set(found["machine"]), found["machine"]
    assert found["extra"]["hash_ids_per_second"] > 0 and len(found["extra"]["stream_table"]) == 2, found["extra"]
    assert found["rows_checked"] > 1000, found["rows_checked"]
    for row in found["rows"]:
        measured = row["met"] is not None
        assert measured == bool(row["figures"]), row
    (decode,) = [row for row in found["rows"] if row["name"] == "decode"]
    (cell,) = decode["figures"]["cells"]
    assert cell["subject"]["steps"] > 0 and cell["reference"]["steps"] > 0, cell


def check_that_wrong_bytes_are_seen(build, folder):
    """The echo service in the place of engram-server."""
    config = HERE.parents[1] / "deploy" / "geometries" / "small.json"
    checkpoint = pathlib.Path(folder, "checkpoint")
    subprocess.run([build / "bin" / "engram", "synth", "--config", config, "--out", checkpoint], check=True,
                   stdout=subprocess.DEVNULL)
    with Echo(build / "bench" / "echo_server", config, pathlib.Path(folder)) as echo:
        done = subprocess.run([build / "bench" / "load_bench", "--checkpoint", checkpoint, "--texts",
                               HERE.parents[1] / "deploy" / "texts" / "texts.jsonl", "--subject", echo.address,
                               "--tokens", "16", "--streams", "1", "--seconds", "0.1", "--pairs", "1"],
                              capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "layer 1, row " in done.stderr and ": byte " in done.stderr, done


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    build = parser.parse_args().build
    names = [name for name in [*ROWS, *EXTRA] if name != "ranks"]
    if not (build / "bench" / "combine_bench").exists():
        names = [name for name in names if name not in MPI_ROWS]
    with tempfile.TemporaryDirectory(prefix="engram-bench-test.") as folder:
        found, table = run_quick(build, folder, names)
        check(found, table, names)
    with tempfile.TemporaryDirectory(prefix="engram-bench-test.") as folder:
        check_that_wrong_bytes_are_seen(build, folder)


if __name__ == "__main__":
    main()
