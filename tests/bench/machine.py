"""Where and of what the figures are."""

import datetime
import os
import pathlib
import subprocess


def _first(path, key):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(key):
            return line.split(":", 1)[1].strip()
    return "unknown"


def available_bytes():
    return int(_first("/proc/meminfo", "MemAvailable").split()[0]) * 1024


def _output(*command, cwd=None):
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def load_average():
    return round(os.getloadavg()[0], 2)


def describe(root):
    commit = _output("git", "rev-parse", "HEAD", cwd=root)
    changed = _output("git", "status", "--porcelain", cwd=root) if commit != "unknown" else ""
    return {
        "cpu": _first("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory_bytes": int(_first("/proc/meminfo", "MemTotal").split()[0]) * 1024,
        "memory_available_bytes": available_bytes(),
        "kernel": os.uname().release,
        "compiler": _output("c++", "--version").partition("\n")[0],
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit + (" with changes" if changed else ""),
        "load_average_before": load_average(),
    }
