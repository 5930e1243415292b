"""The parts of what the console shows: states that are read when they are asked for, and records with numbers."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs

from ...instruments import Ring


@attrs.frozen
class StateSource:
    """A part whose whole value is sent when it has changed.

    :ivar name: name of the part in JSON.
    :ivar read: returns the present value, which JSON can encode.
    :ivar every: number of the feed's intervals between two readings.
    """

    name: str
    read: Callable[[], Awaitable[object]]
    every: int = 1


@attrs.frozen
class RecordSource:
    """A part that consists of the records of some rings; only new records are sent.

    :ivar rings: returns the rings; their number does not change while somebody looks.
    :ivar as_json: returns a record as JSON.
    :ivar most: most records of a ring in a snapshot.
    """

    name: str
    rings: Callable[[], Sequence[Ring[Any]]]
    as_json: Callable[[Any], object]
    most: int = 1000

    def counts(self) -> list[int]:
        """Return the number of the newest record of each ring."""
        return [ring.count for ring in self.rings()]

    def after(self, counts: Sequence[int]) -> list[dict[str, object]]:
        """Return the records of each ring that are newer than ``counts``, which :meth:`counts` returned before.

        :param counts: a number for each ring; a ring without a number gives all of its records.
        :returns: for each ring the number of its newest record as ``last``, and the new ``records``.
        """
        known = [*counts, *[0] * len(self.rings())]
        return [
            {"last": ring.count, "records": [self.as_json(record) for record in ring.after(number)]}
            for ring, number in zip(self.rings(), known, strict=False)
        ]


    def before(self, counts: Sequence[int]) -> list[dict[str, object]]:
        """Return the newest records of each ring up to ``counts``: at most :attr:`most` of each ring.

        :param counts: the numbers that :meth:`counts` returned; records that are newer are left out.
        """
        return [
            {
                "last": count,
                "records": [self.as_json(record) for record in _up_to(ring, count)[-self.most :]],
            }
            for ring, count in zip(self.rings(), counts, strict=False)
        ]


def _up_to(ring: Ring[Any], count: int) -> list[Any]:
    records = ring.after(0)
    return records[: len(records) - (ring.count - count)]


Source = StateSource | RecordSource
