"""What several ranks cost: combine modes, and idleness."""

import pathlib
import statistics
import time

from report import Row, Spread


def combine(bench):
    bench.stop_server()
    for ranks in (2,) if bench.quick else (4, 2):
        bench.say(f"combine_bench, {ranks} ranks")
        pairs = 3 if ranks == 4 else 1
        (figures,) = bench.run("combine_bench", *bench.input(), "--pairs", pairs, "--seconds", bench.seconds,
                               ranks=ranks)
        bench.report.note_checked(figures)
        rates = figures["rows_per_second"]
        bench.report.extra.setdefault("combine_modes", {})[f"{ranks} ranks"] = {
            way: statistics.median(values) for way, values in rates.items()}
        if ranks == 4 or bench.quick:
            _judge(bench, ranks, rates, figures)


def _judge(bench, ranks, rates, figures):
    gather, reduce = rates["OWNER_GATHER bf16"], rates["ALL_REDUCE_BF16 bf16"]
    ratio = Spread.of([a / b for a, b in zip(gather, reduce)])
    packed = statistics.median(rates["OWNER_GATHER packed"])
    mine, other = statistics.median(gather) / 1e6, statistics.median(reduce) / 1e6
    bench.report.add(Row(
        "combine", f"OWNER_GATHER against ALL_REDUCE_BF16, both answering bf16, {ranks} MPI ranks, through the engine, "
        "rows/s", ">= 5", str(ratio), ratio.median >= 5,
        f"{mine:.2f} M rows/s, all-reduce {other:.2f}; OWNER_GATHER answering packed {packed / 1e6:.2f} "
        f"({packed / 1e6 / other:.1f} x)", figures))


def repeats(bench):
    """Rows that a round has several times, gathered each time and once: no row of the table, figures for the docs."""
    bench.stop_server()
    for ranks in (2,) if bench.quick else (1, 2, 4):
        bench.say(f"combine_bench, {ranks} ranks, repeated rows each time and once")
        (figures,) = bench.run("combine_bench", *bench.input(), "--pairs", 1 if bench.quick else 5, "--seconds",
                               bench.seconds, "--repeated", "each,once", ranks=ranks)
        bench.report.note_checked(figures)
        rates = figures["rows_per_second"]
        ways = sorted({way.rsplit(", ", 1)[0] for way in rates})
        ratios = {way: str(Spread.of([once / each for once, each in zip(rates[f"{way}, once"],
                                                                        rates[f"{way}, each"])])) for way in ways}
        bench.report.extra.setdefault("repeats", {})[f"{ranks} ranks"] = {
            "once_to_each": ratios, "unique_share": figures["unique_share"],
            "rows_of_a_round": figures["rows_of_a_round"],
            "rows_per_second": {way: statistics.median(values) for way, values in rates.items()}}
        for way, ratio in ratios.items():
            print(f"repeats, {ranks} ranks, {way}: once is {ratio} x each", flush=True)


def cpu_seconds(pid):
    """On a core so far, all threads."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def idle(bench):
    seconds = 1 if bench.quick else 10
    server = bench.server(4)
    time.sleep(1)
    before = [cpu_seconds(pid) for pid in server.rank_pids()]
    begin = time.monotonic()
    time.sleep(seconds)
    spent = time.monotonic() - begin
    shares = [100 * (cpu_seconds(pid) - cpu) / spent for pid, cpu in zip(server.rank_pids(), before)]
    worst = max(shares)
    bench.report.add(Row(
        "idle", "idle rank, 4 ranks on one host, share of a core", "< 5 %", f"{worst:.2f} %", worst < 5,
        "rank 0 (front end) to 3: " + ", ".join(f"{share:.2f}" for share in shares) + " %",
        {"percent_of_a_core": shares, "seconds": spent}))
