"""Parse and quote the text of DIGEST-MD5 tokens: directives separated by commas (RFC 2831, section 7.1)."""

import re

from ...errors import CodecError

MAX_DIRECTIVES = 4096
"""Maximum number of bytes of all directives in a token.  RFC 2831 permits 2048 for a challenge, 4096 for a response."""

_DIRECTIVE = re.compile(
    rb"""
    ([!\#$%&'*+.^_`|~0-9A-Za-z-]+)         # the name
    [ \t\r\n]* = [ \t\r\n]*
    (?: " ( (?: [^"\\] | \\. )* ) "        # a quoted value
      | ([!\#$%&'*+.^_`|~0-9A-Za-z-]+) )   # or a word
    """,
    re.VERBOSE | re.DOTALL,
)
_SEPARATOR = re.compile(rb"[ \t\r\n,]*")
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED = re.compile(rb'(["\\])')


def read_directives(token: bytes) -> dict[str, bytes]:
    """Return the values of the directives in a token, by the name of the directive in lower case.

    :raises CodecError: the token is too long or malformed, or a directive occurs twice.  The text of the error contains
        no part of the token.
    """
    if len(token) > MAX_DIRECTIVES:
        raise CodecError(f"{len(token)} bytes of directives, more than {MAX_DIRECTIVES}")
    values: dict[str, bytes] = {}
    at = _end_of_separator(token, 0)
    while at < len(token):
        found = _DIRECTIVE.match(token, at)
        if found is None:
            raise CodecError(f"no directive at byte {at}")
        name, quoted_value, word = found.groups()
        key = name.decode("ascii").lower()
        if key in values:
            raise CodecError(f"the directive at byte {at} occurs twice")
        values[key] = word if quoted_value is None else _ESCAPE.sub(rb"\1", quoted_value)
        at = _end_of_separator(token, found.end())
        if at < len(token) and b"," not in token[found.end() : at]:
            raise CodecError(f"no comma before byte {at}")
    return values


def quoted(value: bytes) -> bytes:
    """Return a ``value`` between quotation marks; quotation marks inside the value are escaped."""
    return b'"' + _ESCAPED.sub(rb"\\\1", value) + b'"'


def _end_of_separator(token: bytes, at: int) -> int:
    found = _SEPARATOR.match(token, at)
    return at if found is None else found.end()
