#!/usr/bin/env python3
"""Checks the house rules over the source tree: sizes with a ratchet, include rules, and small print.

Usage: tests/tidy/tidy.py [--root DIR] [--tighten]

Sizes may only fall: tests/tidy/ratchet.json holds the counts and maxima that must not be passed. --tighten writes
today's figures into it where they are lower.
"""

import argparse
import ast
import json
import pathlib
import re
import sys

import cpp_functions
import cpp_includes

FILE_LINES_MAX = 450       # no file is longer, whatever the ratchet says
FILE_LINES_LONG = 200      # counted by the ratchet
FUNCTION_LINES_LONG = 60   # counted by the ratchet
LINE_CHARS_MAX = 120

FOLDERS = ('model', 'shard', 'server', 'client', 'proto', 'cmake', 'configs', 'deploy', 'docs', 'tests', '.ci')
PRUNED = {'build', '__pycache__', '.venv', 'data'}  # data: golden files
CODE = {'.cc', '.h', '.cu', '.py', '.sh', '.proto', '.cmake'}
TEXT = CODE | {'.md', '.txt', '.txtpb', '.supp'}
WORK_MARKS = re.compile(r'\b(?:' + '|'.join(('TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X')) + r')\b')

# Which of our folders a folder may include, as prefixes of the included path.
MAY_INCLUDE = {
    'model': ('model/',),
    'shard': ('shard/', 'model/'),
    'server': ('server/', 'model/', 'engram/v1/', 'shard/engine.h'),
    'client': ('client/', 'model/', 'engram/v1/'),
}
OURS = ('model/', 'shard/', 'server/', 'client/', 'engram/v1/')
# Where third-party headers may be included (tests apart).
PRIVATE = {
    'mpi.h': ('shard/',),
    'hwy/': ('model/dequantize_vectors.cc',),
    'grpc': ('server/grpc/', 'server/main.cc', 'client/'),
}


class Tree:
    """The project's text files by path relative to the root, read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = {}
        for folder in FOLDERS:
            for path in sorted((self.root / folder).rglob('*')):
                relative = path.relative_to(self.root)
                if path.is_file() and not PRUNED & set(relative.parts):
                    self._add(path, relative)
        for path in sorted(self.root.glob('*')):
            if path.is_file():
                self._add(path, path.relative_to(self.root))

    def _add(self, path, relative):
        if path.suffix in TEXT or path.name in ('CMakeLists.txt', 'run'):
            self.files[relative.as_posix()] = path.read_text(encoding='utf-8')

    def with_suffix(self, *suffixes):
        return ((path, text) for path, text in self.files.items() if path.endswith(suffixes))


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1, node.name


def measure(tree):
    """The figures the ratchet holds, and for each the place that makes it."""
    files = [(text.count('\n'), path) for path, text in tree.files.items() if pathlib.Path(path).suffix in CODE]
    found = []
    for path, text in tree.with_suffix('.cc', '.h', '.cu'):
        found += [(lines, f'{path}:{line} {name}') for line, lines, name in cpp_functions.functions(text)]
    for path, text in tree.with_suffix('.py'):
        found += [(lines, f'{path}:{line} {name}') for line, lines, name in python_functions(text)]
    long_files = sorted(file for file in files if file[0] > FILE_LINES_LONG)
    long_functions = sorted(function for function in found if function[0] > FUNCTION_LINES_LONG)
    none = (0, 'nothing')
    return {
        'files_over_200_lines': (len(long_files), ', '.join(path for _, path in long_files)),
        'functions_over_60_lines': (len(long_functions), ', '.join(place for _, place in long_functions)),
        'largest_file_lines': max(files, default=none),
        'largest_function_lines': max(found, default=none),
    }


def check_sizes(tree, ratchet):
    for path, text in tree.files.items():
        if pathlib.Path(path).suffix in CODE and text.count('\n') > FILE_LINES_MAX:
            yield f'{path}: {text.count(chr(10))} lines; no file has more than {FILE_LINES_MAX}'
    for name, (value, where) in measure(tree).items():
        if name not in ratchet:
            yield f'tests/tidy/ratchet.json: {name} is missing'
        elif value > ratchet[name]:
            yield f'{name} is {value} ({where}); the ratchet allows {ratchet[name]}'


def allowed(path, included):
    """Whether a source file may include that header."""
    folder = path.split('/', 1)[0]
    if folder not in MAY_INCLUDE:
        return True  # tests look into everything
    if included.startswith(OURS) and not included.startswith(MAY_INCLUDE[folder]):
        return False
    if included == 'mpi.h':
        return path.startswith(PRIVATE['mpi.h'])
    if included.startswith('hwy/'):
        return path.startswith(PRIVATE['hwy/'])
    if included.startswith(('grpc/', 'grpcpp/', 'grpc++/')) or included.endswith('.grpc.pb.h'):
        return path.startswith(PRIVATE['grpc'])
    return True


def check_includes(tree, _):
    for path, text in tree.with_suffix('.cc', '.h', '.cu'):
        for included in cpp_includes.INCLUDE.findall(text):
            if not allowed(path, included):
                yield f'{path}: may not include "{included}" (see ARCHITECTURE.md, who may include whom)'


def check_guards(tree, _):
    for path, text in tree.with_suffix('.h'):
        guard = 'ENGRAM_' + re.sub(r'[^A-Za-z0-9]', '_', path).upper() + '_'
        if f'#ifndef {guard}\n#define {guard}\n' not in text or not text.rstrip().endswith(f'#endif  // {guard}'):
            yield f'{path}: the include guard must be {guard}, closed by "#endif  // {guard}"'


def check_lines(tree, _):
    for path, text in tree.files.items():
        prose = path.endswith(('.md', '.txt'))
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                yield f'{path}:{number}: white space at the end of the line'
            if len(line) > LINE_CHARS_MAX and not (prose and (line.startswith('|') or '://' in line)):
                yield f'{path}:{number}: {len(line)} characters; the limit is {LINE_CHARS_MAX}'
            if WORK_MARKS.search(line):
                yield f'{path}:{number}: a mark of unfinished work'
        if text and not text.endswith('\n'):
            yield f'{path}: no line break at the end of the file'


def check_docs(tree, _):
    for path, text in tree.files.items():
        if path.startswith('docs/') and path.endswith('.md'):
            if not re.search(r'^```\w*\n.+?^```$', text, re.MULTILINE | re.DOTALL):
                yield f'{path}: a page of docs/ shows at least one command or program in a fenced block'


def check_configs(tree, _):
    tests = ''.join(text for path, text in tree.files.items() if path.startswith('tests/') and 'tidy' not in path)
    if re.search(r'directory_iterator\([^)]*/configs"\)', tests):
        return  # a test that loads whatever lies there
    for path in tree.files:
        if path.startswith('configs/') and not path.endswith('.md') and pathlib.Path(path).name not in tests:
            yield f'{path}: no test names it'


CHECKS = (check_sizes, check_includes, cpp_includes.check_cuda, check_guards, check_lines, check_docs, check_configs)


def faults(tree, ratchet):
    return [fault for check in CHECKS for fault in check(tree, ratchet)]


def tighten(tree, ratchet):
    """The ratchet with each figure lowered to today's where that is lower."""
    return {name: min(value, ratchet.get(name, value)) for name, (value, _) in measure(tree).items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--root', default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument('--tighten', action='store_true', help='lower the ratchet to what the tree has now')
    options = parser.parse_args()
    tree = Tree(options.root)
    path = tree.root / 'tests/tidy/ratchet.json'
    ratchet = json.loads(path.read_text())
    if options.tighten:
        ratchet = tighten(tree, ratchet)
        path.write_text(json.dumps(ratchet, indent=2) + '\n')
    found = faults(tree, ratchet)
    figures = [f'{name}: {value} (at most {ratchet.get(name)})' for name, (value, _) in measure(tree).items()]
    print('\n'.join(found + figures))
    print(f'tidy: {len(tree.files)} files, {len(found)} faults')
    if len(tree.files) < 20:
        print('tidy: that is no source tree of Engram')
        return 1
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
