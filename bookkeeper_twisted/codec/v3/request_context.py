"""The pairs of text that a V3 request carries beside its message (``requestContext``), for logs and traces.

Bookies log them with the lines about the request, and a pair named ``traceparent`` connects the traces of client and
bookie.  Whoever can send a request chooses the pairs, so a bookie keeps few and short ones, without control characters.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..protobuf import text
from ..varints import bytes_field
from .layout import LENGTH

MOST_PAIRS = 8
MOST_CHARACTERS = 512
"""The most pairs of a request that a bookie keeps, and the most characters of their names and values together."""

NO_CONTEXT: Mapping[str, str] = MappingProxyType({})

_KEY = b"\xc2\x0c"  # field 200
_NAME, _VALUE = b"\x0a", b"\x12"


NO_CONTEXTS: Mapping[int, Mapping[str, str]] = MappingProxyType({})

_TRACEPARENT = b"traceparent"
_TRACEPARENT_NAME = _TRACEPARENT.decode()
_TRACEPARENT_SIZE = 55
TRACE_HEAD = b"%b\x46\x0a\x0b%b\x12\x37" % (_KEY, _TRACEPARENT)
"""The bytes in front of the text of a traceparent, if it is the only pair of a request, as clients send it."""

TRACE_SIZE = len(TRACE_HEAD) + _TRACEPARENT_SIZE
"""The bytes of a traceparent at the end of a frame."""


def context_fields(pairs: Mapping[str, str]) -> bytes:
    """Encode pairs of text as the last fields of a request.

    :param pairs: values by name.
    """
    if len(pairs) == 1 and len(value := pairs.get(_TRACEPARENT_NAME, "")) == _TRACEPARENT_SIZE and value.isascii():
        return TRACE_HEAD + value.encode()
    fields = [bytes_field(_NAME, name.encode()) + bytes_field(_VALUE, value.encode()) for name, value in pairs.items()]
    return b"".join([bytes_field(_KEY, pair) for pair in fields])


def with_context(frame: bytes, pairs: Mapping[str, str] | None) -> bytes:
    """Return the ``frame`` of one request with pairs of text at its end.

    :param pairs: values by name; None or empty to return the frame as it is.
    """
    if not pairs:
        return frame
    message = frame[LENGTH.size :] + context_fields(pairs)
    return LENGTH.pack(len(message)) + message


def between(contexts: Mapping[int, Mapping[str, str]], start: int, end: int) -> Mapping[int, Mapping[str, str]]:
    """Return the pairs of the adds with the indexes ``start .. end - 1``, by their indexes in that range.

    :param contexts: the pairs of adds, by the index of the add.
    """
    return {index - start: pairs for index, pairs in contexts.items() if start <= index < end}


class Lifted(NamedTuple):
    """Frames of one size, out of which the traceparents of some have been taken.

    :ivar frames: the frames without traceparents, all of one size.
    :ivar contexts: the pairs that were taken out, by the index of the frame.
    :ivar size: bytes of the traceparents.
    """

    frames: bytes
    contexts: Mapping[int, Mapping[str, str]]
    size: int


def lift_traceparents(data: bytes, at: int, stride: int) -> Lifted | None:
    """Take the traceparents out of frames that without them have the size of the first one.

    So one append of a hundred that is traced does not keep a bookie from decoding all of them together.

    :param at: offset of the first frame.
    :param stride: bytes of each frame without a traceparent.
    :returns: None if no frame has a traceparent, or one has another size than expected.
    """
    contexts: dict[int, Mapping[str, str]] = {}
    parts, done, n_before = list[bytes](), at, 0
    word, longer = LENGTH.pack(stride - LENGTH.size), LENGTH.pack(stride - LENGTH.size + TRACE_SIZE)
    while (found := data.find(TRACE_HEAD, done + stride)) >= 0:
        start, end = found - stride, found + TRACE_SIZE
        if (start - done) % stride or end > len(data) or data[start : start + LENGTH.size] != longer:
            return None
        n_before += (start - done) // stride
        contexts[n_before] = {_TRACEPARENT_NAME: _printable(data[end - _TRACEPARENT_SIZE : end])}
        parts += (data[done:start], word, data[start + LENGTH.size : found])
        done, n_before = end, n_before + 1
    return Lifted(b"".join([*parts, data[done:]]), contexts, len(contexts) * TRACE_SIZE) if contexts else None


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
