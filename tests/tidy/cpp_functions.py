"""Finds the functions of C++ source by matching braces: enough for code that clang-format has laid out."""

import re

# A comment, a string (raw ones first) or a character; digit separators (1'000) are left alone.
_OPAQUE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)
_SCOPE = re.compile(r'\b(?:namespace|class|struct|union|enum|extern)\b')
_ACCESS = ('public', 'private', 'protected')
_INITIALIZERS = re.compile(r'\)[^;{}]*?(?<!:):(?!:)')


def blank(text):
    """The source with comments, literals and preprocessor lines turned into spaces; line breaks stay."""
    def spaces(match):
        return re.sub(r'[^\n]', ' ', match.group())
    return re.sub(r'^[ \t]*#(?:\\\n|[^\n])*', spaces, _OPAQUE.sub(spaces, text), flags=re.MULTILINE)


def _kind(head):
    """What a brace opens outside of any function, given the text since the last statement."""
    before = head.rstrip()
    if _INITIALIZERS.search(before) and re.search(r'[\w>]$', before):
        return 'initializer'  # Name(...) : member_{...}
    if '(' in before and not before.endswith(('=', ',', 'return')):
        signature = before.split('(', 1)[0]
        if not _SCOPE.search(re.sub(r'template\s*<[^{}]*?>', '', signature)):
            return 'function'
    return 'scope'


def functions(text):
    """Yields (line, lines, name) of each function definition; a lambda belongs to the function around it."""
    code = blank(text)
    stack, head, head_start = [], '', 0
    for at, char in enumerate(code):
        inside = 'function' in (kind for kind, _, _ in stack)
        if char == '{':
            kind = 'block' if inside else _kind(head)
            stack.append((kind, head_start, head))
            if kind in ('scope', 'function'):
                head, head_start = '', at + 1
            continue
        if char == '}' and stack:
            kind, start, opened_by = stack.pop()
            if kind == 'function':
                start += len(opened_by) - len(opened_by.lstrip())
                first = code.count('\n', 0, start) + 1
                name = re.findall(r'([~\w:]+)\s*\(', opened_by)
                yield first, code.count('\n', 0, at) + 2 - first, name[0] if name else '?'
            if kind in ('scope', 'function'):
                head, head_start = '', at + 1
            elif kind == 'initializer':
                head += char
            continue
        if inside:
            continue
        if char == ';' or (char == ':' and head.strip() in _ACCESS):
            head, head_start = '', at + 1
        elif not stack or stack[-1][0] == 'scope':
            head += char
