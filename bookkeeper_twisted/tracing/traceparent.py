"""The ids of a span, and the text in which requests carry them: ``traceparent`` of W3C Trace Context.

The text has four parts, in lower-case hexadecimal, with hyphens between them:

=======  =======  ============================================================
digits   part     value
=======  =======  ============================================================
2        version  ``00``; ``ff`` is invalid; later versions may append parts
32       trace    id of the trace, not 0
16       span     id of the span, not 0
2        flags    bit 0: the trace is sampled
=======  =======  ============================================================
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

TRACEPARENT = "traceparent"
"""The key in ``requestContext`` (protocol V3), and the name of the HTTP header, of the W3C trace context."""

SIZE = 55
"""Number of characters of a ``traceparent`` of version 00."""

SPAN_BITS = 64
"""Number of bits of a span id."""

PART_BITS = 12
"""Number of the last bits of a span id that hold the number of a request within its operation."""

_PARTS = (1 << PART_BITS) - 1
_FLAGS_AT = SIZE - len("-01")
_PART_AT = _FLAGS_AT - PART_BITS // 4
_SAMPLED = 1
_ODD = frozenset("13579bdf")
_FORM = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[^\s]*)?")


class SpanIds(NamedTuple):
    """The ids of a span of this or another process.

    :ivar trace_id: the trace, from 1 to 2**128 - 1.
    :ivar span_id: the span, from 1 to 2**64 - 1.
    :ivar is_sampled: whether the spans of the trace are recorded.
    """

    trace_id: int
    span_id: int
    is_sampled: bool = True

    def part(self, number: int) -> "SpanIds":
        """Return the ids of a child span: those of this span, with ``number`` in the last bits of the span id.

        The first child has the number 1.  A number that does not fit into :data:`PART_BITS` bits loses its high bits.
        """
        return SpanIds(self.trace_id, self.span_id | number & _PARTS)

    @property
    def text(self) -> str:
        """The ids as ``traceparent``."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.is_sampled:02x}"


def part_text(text: str, number: int) -> str:
    """Return the ids of a child span as ``traceparent``, faster than :meth:`SpanIds.part` makes them.

    :param text: the ``traceparent`` of the parent span.
    :param number: the number of the child, which replaces the last bits of the span id.
    """
    part = number & _PARTS
    return f"{text[:_PART_AT]}{part:03x}{text[_FLAGS_AT:]}"


def may_be_sampled(text: str) -> bool:
    """Test whether the flag "sampled" is set in ``text``, a ``traceparent`` that is not decoded yet.

    If the text is malformed, the result may be True.
    """
    return text[SIZE - 1 : SIZE] in _ODD


def decode_traceparent(text: str) -> SpanIds | None:
    """Decode a ``traceparent``; return None if the text does not have the standard's form.

    :param text: the text that a peer sent.
    """
    match = _FORM.fullmatch(text)
    if match is None or (match[1] == "00" and len(text) != SIZE):
        return None
    return SpanIds(int(match[2], 16), int(match[3], 16), bool(int(match[4], 16) & _SAMPLED))


def new_span_ids(draw: Callable[[], int]) -> Iterator[int]:
    """Yield random span ids whose last :data:`PART_BITS` bits are 0; these bits number the requests of an operation.

    :param draw: returns a random number of :data:`SPAN_BITS` bits.
    """
    while True:
        found = draw() & ~_PARTS
        if found:
            yield found
