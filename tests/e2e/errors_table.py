"""docs/errors.md as data: what the server says, by id, and which of it was provoked."""

import re

from engram_client import SOURCE, grpc

PAGE = SOURCE / "docs" / "errors.md"
CODES = {code.name: code for code in grpc.StatusCode}
HEX = "[0-9a-f]{64}"
TEXTS = {"hex": HEX, "name": ".+", "path": "/.+"}  # any other placeholder is a number
_PLACEHOLDER = re.compile("<([a-z_]+)>")


class Error:
    def __init__(self, section, code, message):
        self.section = section
        self.code = CODES[code]
        self.message = message

    def pattern(self, values):
        """The whole message; `values`: what stands for the first placeholders, in order; None: what may stand there."""
        words = _PLACEHOLDER.split(self.message)  # text, placeholder, text, ...
        assert len(values) <= len(words) // 2, f"{self.message}: {len(values)} values are too many"
        values = [*values, *[None] * (len(words) // 2 - len(values))]
        for i, value in enumerate(values):
            words[2 * i + 1] = TEXTS.get(words[2 * i + 1], "-?[0-9]+") if value is None else re.escape(str(value))
        words[::2] = map(re.escape, words[::2])
        return "".join(words)


def read_page():
    """{id: Error}"""
    errors, section = {}, None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|") or cells[0] in ("id", "---"):
            continue
        assert len(cells) == 5, f"{PAGE}: {len(cells)} cells in: {line}"
        name, code, _, message, remedy = cells
        assert name not in errors, f"{PAGE}: {name} is there twice"
        assert message.startswith("`") and message.endswith("`") and remedy, f"{PAGE}: {line}"
        errors[name] = Error(section, code, message.strip("`"))
    return errors


class Errors:
    """Not thread-safe."""

    def __init__(self):
        self.documented = read_page()
        self.provoked = {}  # id -> times

    def expect(self, name, code, message, values=()):
        """`code`: a number or a grpc.StatusCode."""
        assert name in self.documented, f"{name}: no line of {PAGE}"
        error = self.documented[name]
        found = code if isinstance(code, grpc.StatusCode) else next(c for c in CODES.values() if c.value[0] == code)
        assert found == error.code, f"{name}: {found.name} ({message}), documented is {error.code.name}"
        pattern = error.pattern(values)
        assert re.fullmatch(pattern, message), f"{name}: found\n  {message}\nwanted\n  {pattern}"
        self.provoked[name] = self.provoked.get(name, 0) + 1
