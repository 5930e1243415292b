"""A parser of Java's ``.properties`` format, the format of ``bk_server.conf``.

A backslash at the end of a line joins the line with the next line, whose leading white space is removed.  The result is
one logical line.  A logical line that begins with ``#`` or ``!`` is a comment. The key ends at the first unescaped
``=``, ``:`` or white space.  ``\\t \\n \\r \\f`` and ``\\uXXXX`` are escapes; before any other character a backslash is
dropped.
"""

import re
from collections.abc import Iterator

import attrs

from ..errors import ConfigError

_BLANK = " \t\f"
_KEY = re.compile(r"(?:[^\\=: \t\f]|\\.)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*(?:[=:][ \t\f]*)?")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.)", re.DOTALL)
_SPECIAL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@attrs.frozen
class Property:
    """One ``key = value`` of a file, which begins at the line number ``line``, counted from 1."""

    key: str
    value: str
    line: int


def read_properties(text: str) -> Iterator[Property]:
    """Parse Java properties, and yield them in the order of the text; a key may occur more than once.

    :param text: content of a file.
    :raises ConfigError: an escape is malformed; the message names the line.
    """
    # a byte order mark from an editor would become a part of the first key
    for number, line in _logical_lines(text.removeprefix("\ufeff")):
        key = _KEY.match(line)
        separator = _SEPARATOR.match(line, key.end() if key else 0)
        if key is None or separator is None:  # only for the type checker: both patterns always match
            raise ConfigError(f"line {number}: no key")
        yield Property(_unescape(key[0], number), _unescape(line[separator.end() :], number), number)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    parts: list[str] = []
    first = 0
    # not str.splitlines(), which also splits at form feeds and Unicode separators, unlike Java
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = natural.lstrip(_BLANK)
        if not parts:
            if not line or line[0] in "#!":
                continue
            first = number
        if _ends_in_continuation(line):
            parts.append(line[:-1])
            continue
        yield first, "".join(parts) + line
        parts = []
    if parts:
        yield first, "".join(parts)


def _ends_in_continuation(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str, number: int) -> str:
    def replace(match: re.Match[str]) -> str:
        escape = match[1]
        if escape == "u":
            raise ConfigError(f"line {number}: \\u wants four hexadecimal digits")
        return chr(int(escape[1:], 16)) if len(escape) > 1 else _SPECIAL.get(escape, escape)

    return _ESCAPE.sub(replace, text)
