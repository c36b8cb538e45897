"""Whether the HTML page of `engram load` is well-formed, needs nothing from outside, and has charts and tables."""

import html.parser
import re
import xml.etree.ElementTree

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(html.parser.HTMLParser):
    """Reads a page; every tag must be closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.headings, self.cells, self.polylines = [], [], [], 0
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            assert name not in ("src", "href", "onload"), (tag, name, value)
        self.polylines += tag == "polyline"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.polylines += tag == "polyline"

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> within {self.open}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


def check_page(path, report):
    """`report` is the JSON of the same run."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and "prefers-color-scheme: dark" in text, text[:200]
    assert not re.search(r"https?:|@import|url\(", text), "the page reaches for something outside"
    page = Page(text)
    for heading in ("Latency", "Throughput", "Where the server spent its time", "Errors", "Settings"):
        assert heading in page.headings, page.headings
    assert page.polylines >= 6, page.polylines
    for number in re.findall(r'\s(?:x|y|x1|x2|y1|y2|width|height)="([^"]*)"', text):
        assert re.fullmatch(r"-?\d+(\.\d+)?", number), number
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        xml.etree.ElementTree.fromstring(svg)
    for kind, steps in report["steps"].items():
        place = page.cells.index(kind)
        assert page.cells[place + 1] == str(steps["ok"]), (kind, page.cells[place:place + 9])
        assert page.cells[place + 5] == f"{steps['latency']['p99_ms']:.3f}", (kind, page.cells[place:place + 9])
