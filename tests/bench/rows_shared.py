"""Stream with rows through shared memory, against the same server's messages and against copying the rows."""

import statistics

from report import Row, Spread
from rows_stream import gigabytes, ratios

TOKENS = 512
IN_FLIGHT = 2
ROWS_OF_A_TOKEN = 48  # both layers


def copy_limit(bench):
    """Rows a second of a plain copy of the same rows, prefetched, by one thread: of each pass."""
    bench.stop_server()
    bench.say("gather_bench")
    (figures,) = bench.run("gather_bench", *bench.input(), "--pairs", bench.pairs)
    bench.report.note_checked(figures)
    return [pair[name] for pair in figures["pairs"] for name in ("copy_before_packed", "copy_before_bf16")]


def shm(bench):
    limit = copy_limit(bench)
    server = bench.server(1, "--set", "shared_memory.enabled=true")
    (cell,) = bench.run("load_bench", *bench.input(), "--subject", server.address, "--shared-memory",
                        "--tokens", TOKENS, "--streams", 1, "--in-flight", IN_FLIGHT, "--pairs", bench.pairs,
                        "--seconds", bench.seconds)
    for side in ("subject", "reference"):
        bench.report.note_checked(cell[side])
    of_messages = ratios(cell, "bytes_per_second")
    copied = statistics.median(limit)
    rates = [ROWS_OF_A_TOKEN * window["tokens_per_second"] for window in cell["subject"]["windows"]]
    of_limit = Spread.of([rate / copied for rate in rates])
    bench.report.add(Row(
        "shm", f"Stream, {TOKENS} tokens a step, {IN_FLIGHT} in flight, one stream, 1 rank, rows through shared "
        "memory: against rows in messages, and against a copy of the same rows, in rows/s", ">= 2 and >= 0.7",
        f"{of_messages} and {of_limit}", of_messages.median >= 2 and of_limit.median >= 0.7,
        f"{gigabytes(cell, 'subject'):.2f} GB/s, in messages {gigabytes(cell, 'reference'):.2f}; "
        f"{statistics.median(rates) / 1e6:.1f} M rows/s, copy {copied / 1e6:.1f}",
        {"cells": [cell], "copy_rows_per_second": limit}))
