"""The request context (``requestContext``) of a V3 request: string keys and values, for logs and traces.

A bookie writes the pairs to the log lines about the request.  The value of ``traceparent`` connects the spans of client
and bookie.  Any client may send any pairs, so a bookie keeps few and short ones, without control characters.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..protobuf import text
from ..varints import bytes_field
from .layout import LENGTH

MOST_PAIRS = 8
MOST_CHARACTERS = 512
"""Maximum number of characters in the names and values of all pairs of a request; a bookie drops further pairs."""

NO_CONTEXT: Mapping[str, str] = MappingProxyType({})

_KEY = b"\xc2\x0c"  # field 200
_NAME, _VALUE = b"\x0a", b"\x12"


NO_CONTEXTS: Mapping[int, Mapping[str, str]] = MappingProxyType({})

_TRACEPARENT = b"traceparent"
_TRACEPARENT_NAME = _TRACEPARENT.decode()
_TRACEPARENT_SIZE = 55
TRACE_HEAD = b"%b\x46\x0a\x0b%b\x12\x37" % (_KEY, _TRACEPARENT)
"""The encoded bytes before the value of ``traceparent``, in a request whose context has no other key."""

TRACE_SIZE = len(TRACE_HEAD) + _TRACEPARENT_SIZE
"""Size in bytes of a context whose only key is ``traceparent``, at the end of a frame."""


def context_fields(pairs: Mapping[str, str]) -> bytes:
    """Encode the ``requestContext`` of a request: its last fields.

    :param pairs: values by name.
    """
    if len(pairs) == 1 and len(value := pairs.get(_TRACEPARENT_NAME, "")) == _TRACEPARENT_SIZE and value.isascii():
        return TRACE_HEAD + value.encode()
    fields = [bytes_field(_NAME, name.encode()) + bytes_field(_VALUE, value.encode()) for name, value in pairs.items()]
    return b"".join([bytes_field(_KEY, pair) for pair in fields])


def with_context(frame: bytes, pairs: Mapping[str, str] | None) -> bytes:
    """Return the ``frame`` of one request with a ``requestContext`` added at its end.

    :param pairs: values by name; None or empty to return the frame unchanged.
    """
    if not pairs:
        return frame
    message = frame[LENGTH.size :] + context_fields(pairs)
    return LENGTH.pack(len(message)) + message


def between(contexts: Mapping[int, Mapping[str, str]], start: int, end: int) -> Mapping[int, Mapping[str, str]]:
    """Return the ``requestContext`` of the adds ``start .. end - 1``, by the index of the add minus ``start``.

    :param contexts: the ``requestContext`` of each add that has one, by the index of the add.
    """
    return {index - start: pairs for index, pairs in contexts.items() if start <= index < end}


class Lifted(NamedTuple):
    """Frames of adds from which the field ``requestContext`` was removed, so that all frames have the same size.

    :ivar frames: the frames without this field.
    :ivar contexts: the removed contexts (mappings with the key ``traceparent``), by the index of the frame.
    :ivar size: total size in bytes of the removed fields.
    """

    frames: bytes
    contexts: Mapping[int, Mapping[str, str]]
    size: int


def lift_traceparents(data: bytes, at: int, stride: int) -> Lifted | None:
    """Remove the ``traceparent`` from each add that has one, so that all frames have the same size.

    Frames of the same size can be decoded together, which is much faster than one by one.

    :param at: offset of the first frame.
    :param stride: size in bytes of each frame without a ``traceparent``.
    :returns: None if no frame has a ``traceparent``, or if a frame with one has another size.
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
    """Return the ``requestContext`` of a request, cut to :data:`MOST_PAIRS` and :data:`MOST_CHARACTERS`.

    If a name occurs twice, the last value is returned.

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
    """Return a text with each unprintable character replaced by a question mark, for a log."""
    found = text(value[: MOST_CHARACTERS + 1])
    return found if found.isprintable() else "".join([each if each.isprintable() else "?" for each in found])
