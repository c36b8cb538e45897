"""What the rows share: the built programs, the checkpoint, the texts, and the one server that runs at a time."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import machine
import texts
from servers import Echo, engram_server

ROOT = pathlib.Path(__file__).resolve().parents[2]
GIB = 1 << 30
TOKENS = 200_000  # of the texts: with 24 columns 1.2 GiB of rows a layer
FULL_CONFIG = ROOT / "deploy" / "geometries" / "full.json"


class Workspace:
    """`with Workspace(options, report) as bench:` everything made is gone afterwards, unless --keep."""

    def __init__(self, options, report):
        self.options = options
        self.report = report
        self.quick = options.quick
        self.build = options.build
        self.pairs = 1 if options.quick else 7
        self.seconds = 0.2 if options.quick else 1.5  # of a window
        self.environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self._server = None
        self._key = None
        self._echo = None
        self._checkpoint = None
        self._texts = None

    def __enter__(self):
        self.options.dir.mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="engram-bench.", dir=self.options.dir))
        return self

    def __exit__(self, *failure):
        self.stop_server(failure)
        if self._echo is not None:
            self._echo.__exit__()
        if self.options.keep:
            print(f"Kept: {self.folder}")
        else:
            shutil.rmtree(self.folder)

    def program(self, name):
        return self.build / ("bin" if name.startswith("engram") else "bench") / name

    def has(self, name):
        return self.program(name).exists()

    def say(self, text):
        print(f"-- {text}", flush=True)

    def run(self, name, *words, ranks=None):
        """Runs a program to its end; the JSON objects that it printed, a line each. Wrong bytes end the run here."""
        command = [str(word) for word in [self.program(name), *words]]
        if ranks is not None:
            command = ["mpirun", "-np", str(ranks), "--oversubscribe", "--bind-to", "none", *command]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              env=self.environment, check=False)
        if done.returncode != 0:
            raise SystemExit(f"bench: {' '.join(command)} ended with {done.returncode}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def input(self):
        """The words that every program takes."""
        return ["--checkpoint", self.checkpoint(), "--texts", self.texts()]

    def texts(self):
        if self._texts is None:
            self._texts = texts.SHORT_TEXTS if self.quick else texts.long_texts(self.folder, TOKENS)
        return self._texts

    def table_gib(self):
        """What was asked for, or what memory and disk allow: a HOST table beside 2 GiB for everything else."""
        fits = min(machine.available_bytes() - 2 * GIB, shutil.disk_usage(self.folder).free - GIB) / GIB / 1.1
        if fits < self.options.table_gib:
            self.say(f"A TABLE OF {fits:.2f} GiB INSTEAD OF {self.options.table_gib} GiB: that is what memory and "
                     f"disk have room for. Targets are for 8 GiB and more.")
        return min(fits, self.options.table_gib)

    def checkpoint(self):
        """A synthetic checkpoint whose tables take table_gib together."""
        if self._checkpoint is None:
            gib = self.table_gib()
            config = json.loads(FULL_CONFIG.read_text())
            columns = (config["engram_max_ngram_size"] - 1) * config["engram_n_heads"]
            row_bytes = config["engram_head_dim"] // 32 * 33
            layers = len(config["engram_layer_ids"])
            config["engram_vocab_size"] = max(1000, int(gib * GIB / layers / columns / row_bytes))
            config["dim"] = 64
            (self.folder / "config.json").write_text(json.dumps(config))
            self.say(f"writing tables of {gib:.3g} GiB")
            self._checkpoint = self.folder / "checkpoint"
            subprocess.run([self.program("engram"), "synth", "--config", self.folder / "config.json", "--derive-rows",
                            "--out", self._checkpoint], check=True, stdout=subprocess.DEVNULL)
            self.report.options["table_gib_measured"] = gib
        return self._checkpoint

    def shard_files(self):
        return sorted(self.checkpoint().glob("*.safetensors"))

    def server(self, ranks, *words):
        """engram-server with the table in memory, started unless it runs already. `ranks` 1: without mpirun."""
        key = (ranks, words)
        if self._key != key:
            self.stop_server()
            self.say(f"engram-server, {ranks} rank{'s' if ranks > 1 else ''}")
            arguments = ["--checkpoint", str(self.checkpoint()), "--placement", "HOST", *words]
            server = engram_server.Server(str(self.program("engram-server")), arguments,
                                          ranks=None if ranks == 1 else ranks)
            self._server = server.__enter__()
            self._key = key
        return self._server

    def stop_server(self, failure=(None, None, None)):
        if self._server is not None:
            self._server.__exit__(*failure)
        self._server = self._key = None

    def echo(self):
        if self._echo is None:
            self._echo = Echo(self.program("echo_server"), self.checkpoint() / "config.json", self.folder).__enter__()
        return self._echo
