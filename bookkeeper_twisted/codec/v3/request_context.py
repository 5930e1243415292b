"""The pairs of text that a V3 request carries beside its message (``requestContext``), for logs and traces.

Bookies log them with the lines about the request, and a pair named ``traceparent`` connects the traces of client and
bookie.  Whoever can send a request chooses the pairs, so a bookie keeps few and short ones, without control characters.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ..protobuf import text
from ..varints import bytes_field
from .layout import LENGTH

MOST_PAIRS = 8
MOST_CHARACTERS = 512
"""The most pairs of a request that a bookie keeps, and the most characters of their names and values together."""

NO_CONTEXT: Mapping[str, str] = MappingProxyType({})

_KEY = b"\xc2\x0c"  # field 200
_NAME, _VALUE = b"\x0a", b"\x12"


def with_context(frame: bytes, pairs: Mapping[str, str] | None) -> bytes:
    """Return the ``frame`` of one request with pairs of text at its end.

    :param pairs: values by name; None or empty to return the frame as it is.
    """
    if not pairs:
        return frame
    fields = [bytes_field(_NAME, name.encode()) + bytes_field(_VALUE, value.encode()) for name, value in pairs.items()]
    message = b"".join([frame[LENGTH.size :], *(bytes_field(_KEY, pair) for pair in fields)])
    return LENGTH.pack(len(message)) + message


def set_apart(parts: Iterable[tuple[int, int]], indexes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Divide ranges of adds so that each of some adds is a range of its own, because its frame has another layout.

    :param parts: start and end of each range, ascending.
    :param indexes: the adds that are set apart.
    """
    cuts = sorted(indexes)
    for start, end in parts:
        for index in cuts:
            if start <= index < end:
                if start < index:
                    yield start, index
                yield index, index + 1
                start = index + 1
        if start < end:
            yield start, end


def decode_context(pairs: Any) -> Mapping[str, str]:
    """Return the pairs of a request, as far as a bookie keeps them; a name that comes again replaces the earlier value.

    :param pairs: the protobuf messages.
    """
    kept: dict[str, str] = {}
    size = 0
    for pair in pairs[:MOST_PAIRS]:
        name, value = _printable(pair.key), _printable(pair.value)
        size += len(name) + len(value)
        if size > MOST_CHARACTERS:
            break
        kept[name] = value
    return kept


def _printable(value: str | bytes) -> str:
    """Return a text with a question mark in the place of each character that could change the look of a log."""
    found = text(value[: MOST_CHARACTERS + 1])
    return found if found.isprintable() else "".join([each if each.isprintable() else "?" for each in found])
