"""Rows out of one table in memory, and row ids."""

import statistics

from report import Row, Spread

ROW_BYTES = 264


def gather(bench):
    bench.stop_server()
    bench.say("gather_bench")
    (figures,) = bench.run("gather_bench", *bench.input(), "--pairs", bench.pairs)
    bench.report.note_checked(figures)
    for name, target in (("packed", 0.85), ("bf16", 0.6)):
        ratio = Spread.of([pair[name] / pair[f"copy_before_{name}"] for pair in figures["pairs"]])
        rate = statistics.median(pair[name] for pair in figures["pairs"])
        copy = statistics.median(pair[f"copy_before_{name}"] for pair in figures["pairs"])
        bench.report.add(Row(
            f"gather_{name}", f"{name} gather, HOST, one shard, one thread, against a copy of the same rows",
            f">= {target}", str(ratio), ratio.median >= target,
            f"{rate / 1e6:.1f} M rows/s ({rate * ROW_BYTES / 1e9:.2f} GB/s read), copy {copy / 1e6:.1f} M rows/s",
            figures))


def growth(bench):
    bench.stop_server()
    bench.say("gather_bench --growth")
    (figures,) = bench.run("gather_bench", *bench.input(), "--growth")
    bench.report.note_checked(figures)
    bench.report.extra["growth"] = figures["sizes"]


def hashing(bench):
    bench.say("gather_bench --hash")
    (figures,) = bench.run("gather_bench", *bench.input(), "--hash", "--pairs", bench.pairs)
    bench.report.extra["hash_ids_per_second"] = statistics.median(figures["ids_per_second"])
