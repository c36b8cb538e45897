#!/usr/bin/env python3
"""Counts the instructions of hot paths under callgrind and compares them with those on file (instructions.json).

    tests/bench/instructions.py --program build/dev/bench/instructions [--update]

Exit code 1 when a path takes more than the tolerance above what is on file; 77 (skipped, with the reason) without
valgrind, or for a compiler or processor that nothing is on file for. --update writes today's counts of this build.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXPECTED = pathlib.Path(__file__).with_name("instructions.json")
# The C library chooses memcpy by the processor; this one every x86-64 has.
PLAIN_MEMCPY = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-Fast_Unaligned_Copy"


def under_valgrind(*words):
    environment = dict(os.environ, GLIBC_TUNABLES=PLAIN_MEMCPY)
    return subprocess.run(["valgrind", *map(str, words)], env=environment, capture_output=True, text=True, check=False)


def describe(program):
    """What the program was built as, and its paths with their units of work, as it sees the world under valgrind."""
    done = under_valgrind("--tool=none", "-q", program)
    if done.returncode != 0:
        raise SystemExit(f"instructions: {program} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def clock_cost(out):
    """What reading the clock cost, with all it calls: that depends on the time itself."""
    table = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out], capture_output=True,
                           text=True, check=True).stdout
    found = re.search(r"^\s*([0-9,]+) .*:absl::\S*GetCurrentTimeNanos\(\)", table, re.MULTILINE)
    return int(found[1].replace(",", "")) if found else 0


def count(program, path, folder):
    out = f"{folder}/callgrind.out"
    done = under_valgrind("--tool=callgrind", "--toggle-collect=EngramCounted", f"--callgrind-out-file={out}", program,
                          path)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found or int(found[1]) == 0:
        raise SystemExit(f"instructions: {path} ended with {done.returncode} and counted nothing:\n{done.stderr}")
    return int(found[1]) - clock_cost(out)


def measure(program):
    described = describe(program)
    with tempfile.TemporaryDirectory(prefix="engram-callgrind-") as folder:
        counts = {path: round(count(program, path, folder) / units, 2) for path, units in described["paths"].items()}
    return described["build"], counts


def compare(counts, expected, tolerance_percent):
    """Prints a table; the paths that got worse, and those that are not the ones on file."""
    faults = []
    for path, found in counts.items():
        wanted = expected.get(path)
        change = 100 * (found / wanted - 1) if wanted else 0.0
        word = "new" if wanted is None else "worse" if change > tolerance_percent else "better" if change < \
            -tolerance_percent else "same"
        print(f"{path:<20} {found:>10.2f} instructions, on file {wanted}, {change:+.1f} %: {word}")
        faults += [path] if word in ("new", "worse") else []
    return faults + [path for path in expected if path not in counts]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write today's counts into instructions.json")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("SKIPPED: valgrind is missing (tests/packages.txt)")
        return 77
    build, counts = measure(options.program)
    on_file = json.loads(EXPECTED.read_text())
    if options.update:
        on_file["counts"][build] = counts
        EXPECTED.write_text(json.dumps(on_file, indent=2) + "\n")
        print(f"{EXPECTED.name}: {build}: {counts}")
        return 0
    if build not in on_file["counts"]:
        print(f"SKIPPED: nothing is on file for {build}: {counts}")
        return 77
    faults = compare(counts, on_file["counts"][build], on_file["tolerance_percent"])
    if faults:
        print(f"{', '.join(faults)}: more than {on_file['tolerance_percent']} % worse than {EXPECTED.name} ({build}). "
              f"If that is meant: tests/bench/instructions.py --program {options.program} --update")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
