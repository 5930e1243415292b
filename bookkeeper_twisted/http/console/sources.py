"""The two kinds of data sources of the console.

A state source has one present value, for example the limits of a bookie.  A record source has a growing list of
numbered records, for example slow requests.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

MOST_EXACT = (1 << 53) - 1
"""The greatest whole number that JavaScript, and each reader of JSON that has only floating-point numbers, keeps exact.
"""

_LONG = re.compile(r"\d{16}")
"""Occurs in each text with a whole number above :data:`MOST_EXACT`."""


@attrs.frozen
class StateSource:
    """A source that returns a state as a JSON value; the value is sent to viewers whenever it has changed.

    :ivar name: name of the JSON member that contains the state in events.
    :ivar read: reads the present state.
    :ivar every: with 2, for example, the state is read only at every second update of the console.
    :ivar rows: name of a member of the state that is a large object and maps ids to rows.  Updates contain only the
        changed rows of this object.  Empty if the state has no such member.
    :ivar why_late: returns why reading the state takes long; empty if no reason is known.
    """

    name: str
    read: Callable[[], Awaitable[object]]
    every: int = 1
    rows: str = ""
    why_late: Callable[[], str] = str


class KnownState:
    """A state as JSON text in two versions: as it was last sent to viewers, and as it was last read.

    :param rows: name of a JSON member that maps ids to rows; updates contain only its changed rows.  Empty if the state
        has no such member.
    """

    def __init__(self, rows: str) -> None:
        self._name = rows
        self._known: tuple[str, dict[str, str]] | None = None
        self._read: tuple[str, dict[str, str]] | None = None

    def take(self, value: object) -> None:
        """Store ``value``, a state that was read; it is not sent to viewers yet."""
        rows: Mapping[str, object] = {}
        if self._name and isinstance(value, Mapping) and self._name in value:
            rows = value[self._name]
            value = {name: member for name, member in value.items() if name != self._name} | {self._name: {}}
        self._read = dumped(value), {name: dumped(row) for name, row in rows.items()}

    def change(self) -> str:
        """Return an update for viewers, as JSON; an empty text if the state has not changed since the last call.

        The update is an object with the changed rows, the ids of removed rows, and all other members of the state.  At
        the first call, or if the old or the new state has no rows, the update is the whole state.
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
        """Return the JSON text of the whole state that was last sent to viewers; empty if none was sent."""
        if self._known is None:
            return ""
        rest, rows = self._known
        # In the JSON text ``rest``, the last member is the one for the rows.  take() has encoded it as an empty object.
        # Put the rows in place of this object.
        return rest.removesuffix("{}}") + members(rows) + "}" if rows else rest


def dumped(value: object) -> str:
    """Encode ``value`` as JSON without spaces; whole numbers that JavaScript would round become strings."""
    text = json.dumps(value, separators=(",", ":"))
    return json.dumps(exact(value), separators=(",", ":")) if _LONG.search(text) else text


def exact(value: object) -> object:
    """Return a JSON ``value`` in which whole numbers that JavaScript would round (high ledger ids) are strings."""
    if isinstance(value, int):
        return value if abs(value) <= MOST_EXACT else str(value)
    if isinstance(value, Mapping):
        return {name: exact(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [exact(each) for each in value]
    return value


def members(parts: Mapping[str, str]) -> str:
    """Return the text of a JSON object with the given members.

    :param parts: the values by name, already encoded as JSON.
    """
    return "{" + ",".join([f"{json.dumps(name)}:{text}" for name, text in parts.items()]) + "}"


class NumberedRecords(Protocol):
    """A buffer with the newest records of one kind, such as a :class:`~bookkeeper_twisted.instruments.Ring`.

    :ivar count: number of the newest record.
    """

    @property
    def count(self) -> int: ...

    def after(self, number: int) -> list[Any]:
        """Return the kept records whose numbers are greater than ``number``, in ascending order."""


@attrs.frozen
class RecordSource:
    """A source that returns the records of one or several rings; only new records are sent to viewers.

    A ring is a buffer with the newest records of one kind; it numbers them from 1 on.

    :ivar rings: returns the rings; the number of rings never changes.
    :ivar as_json: converts a record to a JSON value.
    :ivar most: maximum number of records of each ring in a snapshot.
    """

    name: str
    rings: Callable[[], Sequence[NumberedRecords]]
    as_json: Callable[[Any], object]
    most: int = 1000

    def counts(self) -> list[int]:
        """Return, for each ring, the number of its newest record, which is also how many records it ever got."""
        return [ring.count for ring in self.rings()]

    def after(self, counts: Sequence[int]) -> list[dict[str, object]]:
        """Return the records that were added to each ring since an earlier call of :meth:`counts`.

        :param counts: the result of that call.  If it is shorter than the list of rings, all records of the further
            rings are returned.
        :returns: for each ring, the number of its newest record as ``last``, and the new ``records``.
        """
        known = [*counts, *[0] * len(self.rings())]
        return [
            {"last": ring.count, "records": [self.as_json(record) for record in ring.after(number)]}
            for ring, number in zip(self.rings(), known, strict=False)
        ]

    def before(self, counts: Sequence[int]) -> list[dict[str, object]]:
        """Return the records that each ring contained when :meth:`counts` returned ``counts``.

        Of each ring, only the newest :attr:`most` of these records are returned.
        """
        return [
            {
                "last": count,
                "records": [self.as_json(record) for record in _up_to(ring, count)[-self.most :]],
            }
            for ring, count in zip(self.rings(), counts, strict=False)
        ]


def _up_to(ring: NumberedRecords, count: int) -> list[Any]:
    records = ring.after(0)
    return records[: len(records) - len(ring.after(count))]


Source = StateSource | RecordSource
