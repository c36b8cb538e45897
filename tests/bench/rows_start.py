"""How long it takes until rows can be served."""

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import texts
from report import Row, Spread
from servers import engram_server
from workspace import FULL_CONFIG, GIB

SHM = pathlib.Path("/dev/shm")
SPARSE_BYTES = 2 * GIB  # the texts' rows, a page each


def drop_pages(paths):
    """Out of the page cache."""
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def seconds_in(text):
    """Of a duration as absl prints it: 1m2.5s, 340ms."""
    units = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6}
    return sum(float(value) * units[unit] for value, unit in re.findall(r"([0-9.]+)(ms|us|h|m|s)", text))


def load_seconds(bench):
    """Of one cold load, as the server's log has it: the rows, the agreement of ranks, the self-check."""
    drop_pages(bench.shard_files())
    server = bench.server(1)
    found = re.search(r"loaded and checked (\d+) rows against the files in (\S+)", server.log())
    bench.stop_server()
    assert found and int(found[1]) > 0, "the server's log does not say how long it loaded"
    bench.report.rows_checked += int(found[1])
    return seconds_in(found[2])


def dd_seconds(bench):
    """None where the file system has no O_DIRECT."""
    drop_pages(bench.shard_files())
    begin = time.monotonic()
    for path in bench.shard_files():
        done = subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=8M", "iflag=direct"], capture_output=True,
                              check=False)
        if done.returncode != 0:
            return None
    return time.monotonic() - begin


def load_cold(bench):
    what = "load to RAM, cold, bytes/s, against dd iflag=direct of the same files"
    bench.stop_server()
    size = sum(path.stat().st_size for path in bench.shard_files())
    loads, reads = [], []
    for _ in range(1 if bench.quick else 3):
        loads.append(load_seconds(bench))
        reads.append(dd_seconds(bench))
        if reads[-1] is None:
            bench.report.missing("load_cold", what, ">= 0.8", f"no O_DIRECT in {bench.folder}")
            return
    ratio = Spread.of([read / load for load, read in zip(loads, reads)])
    bench.report.add(Row(
        "load_cold", what, ">= 0.8", str(ratio), ratio.median >= 0.8,
        f"{size / statistics.median(loads) / 1e9:.2f} GB/s, dd {size / statistics.median(reads) / 1e9:.2f} GB/s, "
        f"{size / GIB:.2f} GiB", {"bytes": size, "load_seconds": loads, "dd_seconds": reads}))


def read_bytes(pid):
    """Bytes that a process asked for by reading, and bytes that came from a disk for it."""
    text = pathlib.Path(f"/proc/{pid}/io").read_text()
    return tuple(int(re.search(rf"^{key}: (\d+)", text, re.MULTILINE)[1]) for key in ("rchar", "read_bytes"))


def mapped_bytes(pid):
    """Resident pages of files."""
    return int(re.search(r"RssFile:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def sparse_folder(bench):
    """tmpfs removes a million extents in a moment, ext4 with discard in minutes."""
    roomy = SHM.is_dir() and shutil.disk_usage(SHM).free > 2 * SPARSE_BYTES
    return tempfile.TemporaryDirectory(prefix="engram-bench.", dir=SHM if roomy else bench.folder)


def one_sequence(bench):
    """The first text alone: of a sparse checkpoint only whole sequences have their rows."""
    path = bench.folder / "one.jsonl"
    path.write_text(texts.SHORT_TEXTS.read_text(encoding="utf-8").partition("\n")[0] + "\n", encoding="utf-8")
    return path


def start_once(bench, checkpoint):
    begin = time.monotonic()
    with engram_server.Server(str(bench.program("engram-server")),
                              ["--checkpoint", checkpoint, "--placement", "MAPPED"]) as server:
        seconds = time.monotonic() - begin
        pid = server.front_pid()
        asked, from_disk = read_bytes(pid)
        figures = {"seconds": seconds, "read_bytes": max(asked, from_disk), "mapped_bytes": mapped_bytes(pid)}
        (cell,) = bench.run("load_bench", "--checkpoint", checkpoint, "--texts", one_sequence(bench), "--subject",
                            server.address, "--tokens", 64, "--streams", 1, "--pairs", 1, "--seconds", 0.2)
        bench.report.note_checked(cell["subject"])
    return figures


def start_full(bench):
    bench.stop_server()
    with sparse_folder(bench) as folder:
        checkpoint = f"{folder}/checkpoint"
        bench.say("writing tables of the full size, sparse")
        subprocess.run([bench.program("engram"), "synth", "--config", FULL_CONFIG, "--sparse", "--tokens",
                        texts.SHORT_TEXTS, "--out", checkpoint], check=True, stdout=subprocess.DEVNULL)
        starts = [start_once(bench, checkpoint) for _ in range(1 if bench.quick else 5)]
    seconds = Spread.of([start["seconds"] for start in starts])
    read = max(start["read_bytes"] for start in starts)
    mapped = max(start["mapped_bytes"] for start in starts)
    bench.report.add(Row(
        "start_full", "start on full-size sparse files, MAPPED: from exec to SERVING", "< 5 s, < 100 MB read",
        f"{seconds} s, {read / 1e6:.0f} MB", seconds.median < 5 and read < 100e6,
        f"{read / 1e6:.1f} MB read, {mapped / 1e6:.0f} MB of file pages resident (the program's own too)",
        {"starts": starts}))
