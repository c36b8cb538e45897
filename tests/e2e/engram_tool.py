"""The tool `engram` as tests run it, and servers of golden cases for it."""

import pathlib
import re
import subprocess

from engram_server import Server

DATA = pathlib.Path(__file__).resolve().parents[1] / "golden" / "data"


class Tool:
    """Runs the tool with stdin closed and checks its exit code."""

    def __init__(self, program):
        self.program = program

    def __call__(self, *words, code=0, seconds=90):
        done = subprocess.run([self.program, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=seconds, check=False)
        text = done.stdout + done.stderr
        assert done.returncode == code, f"{words}: exit code {done.returncode}, wanted {code}:\n{text}"
        return done.stdout, done.stderr


def files_of(case):
    return ["--checkpoint", DATA / f"{case}_checkpoint", "--hash-constants", DATA / f"{case}_constants.gguf"]


def serve(program, case, *more, **launch):
    return Server(program, [str(word) for word in [*files_of(case), *more]], **launch)


def last_line(text):
    return text.strip().splitlines()[-1]


def counted(text, words):
    """The number before these words in what verify printed."""
    found = re.search(rf"(\d+) {words}", text)
    assert found, (words, text)
    return int(found[1])
