"""The same rows out of Redis."""

import statistics

from report import Row, Spread
from servers import Redis

WHAT = "Stream (512 tokens a step, one stream) against Redis (hiredis, one connection, one MGET of 48 rows a token, " \
       "512 pipelined), tokens/s"
TOKENS_MAX = 20_000  # their rows are what Redis holds


def redis(bench):
    if Redis.program() is None or not bench.has("redis_bench"):
        bench.report.missing("redis", WHAT, ">= 8", "no redis-server or no hiredis: run.sh --install")
        return
    server = bench.server(1)
    with Redis(bench.folder) as running:
        (figures,) = bench.run("redis_bench", *bench.input(), "--redis", running.port, "--server", server.address,
                               "--tokens-max", TOKENS_MAX, "--seconds", bench.seconds, "--pairs",
                               1 if bench.quick else 5)
    bench.report.note_checked(figures)
    ratio = Spread.of([pair["stream"] / pair["redis"] for pair in figures["pairs"]])
    stream, mget = (statistics.median(pair[side] for pair in figures["pairs"]) for side in ("stream", "redis"))
    bench.report.add(Row("redis", WHAT, ">= 8", str(ratio), ratio.median >= 8,
                         f"{stream:,.0f} tokens/s, Redis {mget:,.0f}; {figures['keys']:,} keys", figures))
