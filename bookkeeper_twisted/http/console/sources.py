"""The parts of what the console shows: states that are read when they are asked for, and records with numbers."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs

from ...instruments import Ring


@attrs.frozen
class StateSource:
    """A part whose whole value is sent when it has changed.

    :ivar name: name of the part in JSON.
    :ivar read: returns the present value, which JSON can encode.
    :ivar every: number of the feed's intervals between two readings.
    :ivar rows: name of a member of the value, an object of rows by id, of which only changed rows are sent; empty: the
        value has no such member.
    """

    name: str
    read: Callable[[], Awaitable[object]]
    every: int = 1
    rows: str = ""


class KnownState:
    """The JSON of a state as viewers know it, and the newer one that was read since.

    :param rows: see :attr:`StateSource.rows`.
    """

    def __init__(self, rows: str) -> None:
        self._name = rows
        self._known: tuple[str, dict[str, str]] | None = None
        self._read: tuple[str, dict[str, str]] | None = None

    def take(self, value: object) -> None:
        """Take a ``value`` that was read."""
        rows: Mapping[str, object] = {}
        if self._name and isinstance(value, Mapping) and self._name in value:
            rows = value[self._name]
            value = {name: member for name, member in value.items() if name != self._name} | {self._name: {}}
        self._read = dumped(value), {name: dumped(row) for name, row in rows.items()}

    def change(self) -> str:
        """Return what viewers must get to know the last value; empty if they know it already.

        This is the whole value if they know none, or one without rows; else an object with the names of what it has.
        """
        if self._read is None or self._read == self._known:
            return ""
        before, self._known = self._known, self._read
        rest, rows = self._known
        if before is None or not before[1] or not rows:
            return self.whole()
        changed = {name: row for name, row in rows.items() if before[1].get(name) != row}
        gone = dumped([name for name in before[1] if name not in rows])
        return members({"rowsOf": dumped(self._name), "changed": members(changed), "gone": gone, "rest": rest})

    def whole(self) -> str:
        """Return the value that viewers know; empty if they know none."""
        if self._known is None:
            return ""
        rest, rows = self._known
        # the empty member of the rows is the last one, so that the rows take its place
        return rest.removesuffix("{}}") + members(rows) + "}" if rows else rest


def dumped(value: object) -> str:
    """Return ``value`` as JSON without space."""
    return json.dumps(value, separators=(",", ":"))


def members(parts: Mapping[str, str]) -> str:
    """Return a JSON object with the given members.

    :param parts: the values by name; they are JSON already.
    """
    return "{" + ",".join([f"{json.dumps(name)}:{text}" for name, text in parts.items()]) + "}"


@attrs.frozen
class RecordSource:
    """A part that consists of the records of some rings; only new records are sent.

    :ivar rings: returns the rings; their number does not change while somebody looks.
    :ivar as_json: returns a record as JSON.
    :ivar most: maximum number of records of a ring in a snapshot.
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
