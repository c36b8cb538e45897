#!/usr/bin/env python3
"""Passes every source of the product through clang's front end, with thread-safety warnings as errors.

Usage: clang_check.py BUILD_FOLDER (one that has compile_commands.json and its generated headers)
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

SKIPPED = 77
STRICT = ['-fsyntax-only', '-Wthread-safety', '-Werror']
FOLDERS = ('model', 'shard', 'server', 'client')
# Outputs, dependency files, and headers that gcc precompiled.
DROPPED = {'-o': 2, '-MF': 2, '-MT': 2, '-MD': 1, '-c': 1, '-include': 2}
# Must not pass: a member read without its lock.
PROOF = """#include "absl/synchronization/mutex.h"
struct Guarded {
  int Get() { return value; }
  absl::Mutex mu;
  int value ABSL_GUARDED_BY(mu) = 0;
};
"""


def sees_a_missing_lock():
    command = ['clang++', '-std=c++20', '-x', 'c++', *STRICT, '-']
    done = subprocess.run(command, input=PROOF, capture_output=True, text=True, check=False)
    return 'requires holding mutex' in done.stderr


def syntax_command(entry):
    """The compile command of an entry, with clang's front end in place of the compiler."""
    words = shlex.split(entry['command'])
    while not words[0].endswith(('g++', 'c++')) and 'ccache' in words[0]:
        words = words[1:]
    kept, at = ['clang++', *STRICT], 1
    while at < len(words):
        if words[at] in DROPPED:
            at += DROPPED[words[at]]
        else:
            kept.append(words[at])
            at += 1
    return kept


def check(entry):
    done = subprocess.run(syntax_command(entry), cwd=entry['directory'], capture_output=True, text=True, check=False)
    return entry['file'], done.returncode, done.stderr


def main():
    if shutil.which('clang++') is None:
        print('SKIPPED: clang++ is not installed (Debian package clang)')
        return SKIPPED
    if not sees_a_missing_lock():
        print('clang: a missing lock goes unseen: this check would prove nothing')
        return 1
    build = pathlib.Path(sys.argv[1]).resolve()
    entries = json.loads((build / 'compile_commands.json').read_text())
    root = pathlib.Path(__file__).resolve().parents[2]
    ours = tuple(f'{root / folder}/' for folder in FOLDERS)
    # nvcc's command lines are not clang's: kernels are seen through the headers that tests include.
    sources = [entry for entry in entries if entry['file'].startswith(ours) and not entry['file'].endswith('.cu')]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, code, errors in pool.map(check, sources):
            if code != 0:
                failed += 1
                print(f'{file}:\n{errors}')
    print(f'clang: {len(sources)} sources, {failed} with errors')
    return 1 if failed or not sources else 0


if __name__ == '__main__':
    sys.exit(main())
