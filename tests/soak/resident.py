"""Resident memory of a server's processes over time, and whether it stays flat."""

import pathlib
import threading


def resident_bytes(pid):
    """What the process keeps for itself, pages of files and shared memory left out; 0 once it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    kilobytes = [int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:")]
    return sum(kilobytes) * 1024


class ResidentWatch:
    """with ResidentWatch(pids, every=1.0) as watch: ...; then watch.growth(pid)"""

    def __init__(self, pids, every):
        self.samples = {pid: [] for pid in pids}
        self.every = every
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        while not self.over.wait(self.every):
            for pid, samples in self.samples.items():
                samples.append(resident_bytes(pid))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def growth(self, pid):
        """Bytes between the median of the second fifth of the run (the first fills caches) and that of the last."""
        samples = self.samples[pid]
        fifth = len(samples) // 5
        if fifth == 0:
            raise ValueError(f"{len(samples)} samples of process {pid}: too few")
        early, late = sorted(samples[fifth:2 * fifth]), sorted(samples[-fifth:])
        return late[len(late) // 2] - early[len(early) // 2]
