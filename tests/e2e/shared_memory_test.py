#!/usr/bin/env python3
"""Rows through shared memory, two ranks: every byte checked, clients killed in the middle, nothing left behind."""

import argparse
import json
import mmap
import os
import pathlib
import queue
import re
import secrets
import signal
import subprocess
import tempfile
import time

from engram_client import SOURCE, Stream, grpc, pb, segment, services  # skips where grpcio is missing
from engram_server import Server
from engram_tool import Tool, counted, last_line

PREFIX = f"/engram-e2e-{os.getpid()}-"
PAGE = SOURCE / "docs" / "shared_memory.md"
SHARED = ["--warm-up", "0s", "--quiet", "--shared-memory", "--segment-prefix", PREFIX]
LOAD = [*SHARED, "--duration", "1s"]


def names_left(prefix=PREFIX):
    return [name for name in os.listdir("/dev/shm") if name.startswith(prefix[1:])]


def check_load(tool, server, checkpoint, folder):
    """All profiles, every answer compared, and not one that came in messages."""
    for words, kind in ((["--profile", "prefill", "--tokens", 512, "--in-flight", 2], "prefill"),
                        (["--profile", "decode", "--streams", 2, "--batch", 8], "decode"),
                        (["--profile", "prefill", "--tokens", 64, "--format", "bf16"], "prefill")):
        report_file = folder / "report.json"
        text, _ = tool("load", "--server", server.address, *LOAD, *words, "--checkpoint", checkpoint,
                       "--verify-fraction", 1, "--json", report_file)
        report = json.loads(report_file.read_text())
        steps = report["steps"][kind]
        assert steps["ok"] > 5 and steps["failed"] == 0, steps
        assert steps["through_shared_memory"] == steps["ok"], steps
        assert report["settings"]["transport"] == "shared memory", report["settings"]
        assert report["verified"]["failure"] == "" and report["verified"]["steps"] >= steps["ok"], report["verified"]
        assert f"shared memory: the rows of {steps['ok']} steps came through it, of {steps['ok']} that" in text, text
    report_file = folder / "report.json"
    tool("load", "--server", server.address, *LOAD, "--cancel-fraction", 0.3, "--reconnect-every", "100ms",
         "--in-flight", 4, "--profile", "speculative", "--checkpoint", checkpoint, "--verify-fraction", 1,
         "--json", report_file)
    report = json.loads(report_file.read_text())
    assert report["error_rate"] == 0 and report["verified"]["failure"] == "", report
    assert report["steps"]["speculative"]["through_shared_memory"] > 0 and report["reconnections"] > 0, report


def is_mapped(pid):
    """Whether the process shares memory with the server: its name is gone by then."""
    return f"/dev/shm{PREFIX}" in pathlib.Path(f"/proc/{pid}/maps").read_text()


def check_killed(options, server, tool, checkpoint):
    """A client that dies under load takes nothing along and leaves nothing behind."""
    for _ in range(3):
        command = [options.tool, "load", "--server", server.address, *SHARED, "--duration", "60s", "--profile",
                   "prefill", "--tokens", "512", "--in-flight", "4"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as client:
            deadline = time.monotonic() + 30
            while not is_mapped(client.pid) or names_left():
                assert client.poll() is None and time.monotonic() < deadline, "the client shares no memory"
                time.sleep(0.002)
            client.send_signal(signal.SIGKILL)
            client.wait()
    with Stream(server.address) as stream:
        stream.step([segment(0, 0, [1, 2, 3])]).expect_ok()
        while stream.server_status().streams > 1:
            time.sleep(0.002)
    for pid in server.rank_pids():
        assert not is_mapped(pid), "the server keeps the memory of a client that is gone"
    text, _ = tool("load", "--server", server.address, *LOAD, "--checkpoint", checkpoint, "--verify-fraction", 1)
    assert "every byte right" in text, text


def check_verify(tool, address, checkpoint):
    text, _ = tool("verify", "--server", address, "--checkpoint", checkpoint, "--shared-memory", "--steps", 300,
                   "--streams", 3, "--cancel", 0.05, "--speculative")
    assert last_line(text).endswith(" 0 mismatches"), text
    assert counted(text, "steps came through it, of") > 100, text


def check_page(address, expected):
    """The example of docs/shared_memory.md."""
    (source,) = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"))
    names = {"grpc": grpc, "pb": pb, "services": services, "os": os, "mmap": mmap, "queue": queue, "secrets": secrets}
    exec(compile(source, PAGE, "exec"), names)  # pylint: disable=exec-used
    found = names["read_rows"](address, [5, 6, 7])
    assert found == expected, (len(found), len(expected))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--ranks", type=int)
    options = parser.parse_args()
    tool = Tool(options.tool)
    with tempfile.TemporaryDirectory(prefix="engram-shared-") as name:
        folder = pathlib.Path(name)
        checkpoint = folder / "small"
        tool("synth", "--out", checkpoint, "--config", SOURCE / "deploy" / "geometries" / "small.json", "--derive-rows")
        words = ["--checkpoint", str(checkpoint), "--set", "shared_memory.enabled=true"]
        prefix = ["--set", f"shared_memory.name_prefix={PREFIX}"]
        with Server(options.server, [*words, *prefix], ranks=options.ranks) as server:
            check_load(tool, server, checkpoint, folder)
            check_killed(options, server, tool, checkpoint)
            assert not names_left(), names_left()
        with Server(options.server, words, ranks=options.ranks) as server:
            check_verify(tool, server.address, checkpoint)
            with Stream(server.address) as stream:
                result = stream.step([segment(0, 0, [5, 6, 7])]).expect_ok()
            check_page(server.address, b"".join(result.rows(layer) for layer in sorted(result.layers)))
        with Server(options.server, words[:2]) as server:
            _, error = tool("load", "--server", server.address, *LOAD, code=1)
            assert "no shared memory with the server: it does not offer it" in error, error
    print("shared_memory_test: OK")


if __name__ == "__main__":
    main()
