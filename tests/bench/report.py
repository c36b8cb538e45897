"""What the rows of the table are, and how they are printed and written."""

import dataclasses
import json
import statistics
import textwrap


def short(value):
    """Three digits, and no exponents."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


@dataclasses.dataclass
class Spread:
    """The median of the ratios (or differences) of neighbouring pairs, and the smallest and the largest of them."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values):
        return Spread(statistics.median(values), min(values), max(values))

    def __str__(self):
        return f"{short(self.median)} ({short(self.low)} - {short(self.high)})"


@dataclasses.dataclass
class Row:
    """One line of the table. `met` is None where there is nothing to judge."""

    name: str
    what: str
    target: str
    measured: str
    met: bool | None
    absolute: str
    figures: dict = dataclasses.field(default_factory=dict)

    def verdict(self):
        return {True: "met", False: "short", None: "-"}[self.met]


class Report:
    def __init__(self, machine, options):
        self.machine = machine
        self.options = options
        self.rows = []
        self.extra = {}
        self.rows_checked = 0

    def add(self, row):
        self.rows.append(row)
        print(f"{row.name}: {row.measured} ({row.target}): {row.verdict()}; {row.absolute}", flush=True)

    def missing(self, name, what, target, why):
        self.add(Row(name, what, target, why, None, ""))

    def note_checked(self, figures):
        """Counts rows that a program compared with their definition; it fails by itself where one differs."""
        assert figures["rows_checked"] > 0, f"no row was compared: {figures}"
        self.rows_checked += figures["rows_checked"]

    def as_json(self):
        return {"machine": self.machine, "options": self.options, "rows_checked": self.rows_checked,
                "rows": [dataclasses.asdict(row) for row in self.rows], "extra": self.extra}

    def write(self, path):
        path.write_text(json.dumps(self.as_json(), indent=1) + "\n")

    def table(self):
        """Columns of fixed width, the last one wrapped."""
        widths = (14, 22, 24, 5)
        lines = []
        heads = ("row", "target", "median (low - high)", "", "absolute")
        for cells in [heads] + [(r.name, r.target, r.measured, r.verdict(), r.absolute) for r in self.rows]:
            wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, (*widths, 60))]
            for i in range(max(map(len, wrapped))):
                parts = [cell[i] if i < len(cell) else "" for cell in wrapped]
                lines.append("  ".join(f"{part:<{width}}" for part, width in zip(parts, (*widths, 0))).rstrip())
        return "\n".join(lines)
