"""`engram load` when something is wrong: the command line, a server that goes, bytes that differ; and interrupted."""

import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

from engram_server import Server


class Load:
    """Runs `engram load` in one folder and hands its JSON report out."""

    def __init__(self, tool, folder, address, checkpoint):
        self.tool, self.folder, self.address = tool, folder, address
        self.checkpoint = ["--checkpoint", checkpoint, "--verify-fraction", 1]

    def __call__(self, *words, code=0):
        path = self.folder / "report.json"
        text, error = self.tool("load", "--server", self.address, "--json", path, *words, code=code)
        return json.loads(path.read_text()), text, error


def check_interrupted(options, load):
    """On a terminal the progress is one line written anew."""
    ours, theirs = pty.openpty()
    path = load.folder / "interrupted.json"
    command = [options.tool, "load", "--server", load.address, "--duration", "300s", "--json", str(path)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=30)
    assert process.returncode == 0, (process.returncode, text)
    report = json.loads(path.read_text())
    assert report["ended"] == "interrupted" and report["steps"]["decode"]["ok"] > 0, report
    assert 0.5 < report["measured_s"] < 30 and "ended by: interrupted" in text, text
    assert b"\r" in os.read(ours, 65536), "progress on a terminal"
    os.close(ours)


def check_lost_server(options, tool, folder, checkpoint):
    with Server(options.server, ["--checkpoint", str(checkpoint)]) as first:
        load = Load(tool, folder, first.address, checkpoint)
        killer = threading.Timer(1.0, first.process.kill)
        second = Server(options.server, ["--checkpoint", str(checkpoint)])
        second.command[second.command.index("127.0.0.1:0")] = first.address
        starter = threading.Timer(2.0, second.__enter__)
        killer.start()
        starter.start()
        try:
            report, _, _ = load("--duration", "5s", "--warm-up", "0s", "--timeout", "500ms", *load.checkpoint)
        finally:
            starter.join()
            second.__exit__(None)
        first.process.wait()
    steps = report["steps"]["decode"]
    assert steps["failed"] > 0 and report["errors"]["steps"], report["errors"]
    assert report["verified"]["failure"] == "", report["verified"]
    served = [point["steps"] > 0 for point in report["timeline"]]
    assert served[0] and served[-1], ("it must go on with the new server", report["timeline"])


def damage(checkpoint, copy):
    """Flips a bit of every row of layer 1 that the digest does not sample (64 rows, evenly spaced)."""
    shutil.copytree(checkpoint, copy)
    index = json.loads((copy / "model.safetensors.index.json").read_text())
    path = copy / index["weight_map"]["layers.1.engram.embed.weight"]
    data = bytearray(path.read_bytes())
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])["layers.1.engram.embed.weight"]
    rows, width = header["shape"]
    sampled = {i * (rows - 1) // 63 for i in range(64)}
    for row in set(range(rows)) - sampled:
        data[8 + length + header["data_offsets"][0] + row * width + 9] ^= 0x04
    path.write_bytes(data)


def check_damaged_table(options, tool, folder, checkpoint):
    damage(checkpoint, folder / "damaged")
    with Server(options.server, ["--checkpoint", str(folder / "damaged")]) as server:
        load = Load(tool, folder, server.address, checkpoint)
        report, text, _ = load("--duration", "60s", *load.checkpoint, "--slo", "p50_ms=0", code=1)
    named = (r"stream 0, step \d+: session \d+, position \d+, token \d+, layer 1, column \d+, row \d+, "
             r"byte 9: expected 0x\w\w, received 0x\w\w")
    assert re.fullmatch(named, report["verified"]["failure"]), report["verified"]
    assert report["ended"] == "wrong bytes" and f"WRONG: {report['verified']['failure']}" in text, text


def check_usage(tool, address):
    for words, message in (
            ([], "--server is required"),
            (["--server", address, "--streams", 0], "--streams: '0' is no whole number from 1 to 1024"),
            (["--server", address, "--rate", 0], "--rate is 0; it must be above 0"),
            (["--server", address, "--arrival", "fixed"], "--arrival fixed needs --rate"),
            (["--server", address, "--profile", "replay"], "--replay FILE"),
            (["--server", address, "--replay", "/no/file"], "/no/file"),
            (["--server", address, "--verify-fraction", 0.5], "--checkpoint"),
            (["--server", address, "--slo", "p99=5"], "'p99' is none of p50_ms"),
            (["--server", address, "--warm-up", "soon"], "--warm-up 'soon'"),
            (["--server", address, "--sessions", 2, "--batch", 3], "--sessions is 2; it must be at least"),
            (["--server", address, "--batch", 5000], "--batch is 5000; it must be at most the server's"),
            (["--server", address, "--html", "/no/folder/x"], "/no/folder/x cannot be written")):
        _, error = tool("load", *words, code=2)
        assert message in error, (words, error)
    tool("load", "--server", "127.0.0.1:1", code=1)
