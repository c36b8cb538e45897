"""Stream over loopback against the echo service, under the same client."""

from report import Row, Spread

PREFILL_TOKENS, PREFILL_STREAMS = (512, 4096), (1, 8)
TABLE_TOKENS, TABLE_STREAMS = (1, 16, 64, 512, 4096), (1, 8, 64)


def measure(bench, ranks, tokens, streams, *words, pairs=None, seconds=None, echo=True):
    """A dictionary for each number of tokens and of streams, with the windows of both sides."""
    server = bench.server(ranks)
    reference = ["--reference", bench.echo().address] if echo else []
    cells = bench.run("load_bench", *bench.input(), "--subject", server.address, *reference, "--tokens",
                      ",".join(map(str, tokens)), "--streams", ",".join(map(str, streams)), "--pairs",
                      pairs or bench.pairs, "--seconds", seconds or bench.seconds, *words)
    for cell in cells:
        bench.report.note_checked(cell["subject"])
        if echo:
            bench.report.note_checked(cell["reference"])
    return cells


def ratios(cell, key):
    pairs = zip(cell["subject"]["windows"], cell["reference"]["windows"])
    return Spread.of([mine[key] / echo[key] for mine, echo in pairs if echo[key] > 0])


def mean(cell, side, key):
    windows = cell[side]["windows"]
    return sum(window[key] for window in windows) / len(windows)


def gigabytes(cell, side):
    return mean(cell, side, "bytes_per_second") / 1e9


def prefill(bench, ranks, target):
    tokens = PREFILL_TOKENS[:1] if bench.quick else PREFILL_TOKENS
    cells = measure(bench, ranks, tokens, PREFILL_STREAMS, "--in-flight", 2)
    found = [(ratios(cell, "bytes_per_second"), cell) for cell in cells]
    worst = min((ratio for ratio, _ in found), key=lambda ratio: ratio.median)
    absolute = "; ".join(
        f"{cell['tokens']} x {cell['streams']}: {ratio.median:.2f}, {gigabytes(cell, 'subject'):.2f} of "
        f"{gigabytes(cell, 'reference'):.2f} GB/s" for ratio, cell in found)
    bench.report.add(Row(
        f"prefill_w{ranks}", f"Stream, prefill, PACKED, loopback, {ranks} rank(s), against the echo, bytes/s; the "
        "worst of the cells (tokens x streams)", f">= {target}", str(worst), worst.median >= target, absolute,
        {"cells": cells}))


def decode(bench):
    (cell,) = measure(bench, 1, [1], [1])
    ratio = ratios(cell, "p50_us")
    bench.report.add(Row(
        "decode", "Stream, one token, one stream, closed loop, 1 rank: p50 against the echo's", "<= 1.4", str(ratio),
        ratio.median <= 1.4,
        f"p50 {mean(cell, 'subject', 'p50_us'):.0f} us, echo {mean(cell, 'reference', 'p50_us'):.0f} us; "
        f"p99 {cell['subject']['p99_us']:.0f} us, echo {cell['reference']['p99_us']:.0f} us", {"cells": [cell]}))


def decode_paced(bench):
    seconds = 0.5 if bench.quick else 4
    (cell,) = measure(bench, 4, [1], [1], "--pace-ms", 25, seconds=seconds, pairs=1 if bench.quick else 5)
    mine, echo = cell["subject"], cell["reference"]
    p50 = Spread.of([a["p50_us"] - b["p50_us"] for a, b in zip(mine["windows"], echo["windows"])])
    p99 = mine["p99_us"] - echo["p99_us"]  # of all windows: one of them has too few steps
    bench.report.add(Row(
        "decode_paced", "Stream, one token each 25 ms, 4 ranks on one host: above the echo paced alike",
        "p50 <= 200 us, p99 <= 400 us", f"p50 +{p50} us, p99 +{p99:.0f} us", p50.median <= 200 and p99 <= 400,
        f"p50 {mine['p50_us']:.0f} us, p99 {mine['p99_us']:.0f} us of {mine['steps']} steps; echo {echo['p50_us']:.0f} "
        f"and {echo['p99_us']:.0f} us", {"cells": [cell]}))


def stream_table(bench):
    tokens, streams = (TABLE_TOKENS[:2], TABLE_STREAMS[:1]) if bench.quick else (TABLE_TOKENS, TABLE_STREAMS)
    cells = measure(bench, 1, tokens, streams, pairs=1 if bench.quick else 3, seconds=bench.seconds / 2)
    bench.report.extra["stream_table"] = [
        {"tokens": cell["tokens"], "streams": cell["streams"],
         **{side: {key: mean(cell, side, key) for key in ("tokens_per_second", "p50_us", "p99_us")}
            for side in ("subject", "reference")},
         "rate_ratio": ratios(cell, "bytes_per_second").median, "p50_ratio": ratios(cell, "p50_us").median}
        for cell in cells]


def ranks_cost(bench, ranks):
    """Cost of a token as the same table is spread over more ranks of this machine."""
    (cell,) = measure(bench, ranks, [512], [8], "--in-flight", 2, pairs=1 if bench.quick else 3, echo=False)
    rate = mean(cell, "subject", "tokens_per_second")
    bench.report.extra.setdefault("ranks", []).append(
        {"ranks": ranks, "tokens_per_second": rate, "us_per_token": 1e6 / rate})
