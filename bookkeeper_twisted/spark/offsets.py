"""How far a stream has come: the offsets that Spark keeps in the checkpoint of a query.

An offset names for each ledger that is being read the entry to go on with. Ledgers that are closed and read to their
end leave that table, or it would grow for ever: they are in ``done``, and below ``floor`` every ledger that is not in
the table is done. New ledgers have higher ids than older ones, but not strictly: a writer may get its id before
another one and create its ledger after it. So the floor stays :data:`WINDOW` ids behind the highest id that was
seen.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Self

import attrs

from ..errors import ConfigError

WINDOW = 10_000
"""Ids behind the highest one for which done ledgers are listed one by one."""

_VERSION = 1


@attrs.frozen
class StreamOffset:
    """The position of a stream.

    :ivar next_entry: by ledger id: the entry to go on with.
    :ivar done: ids, not below the floor, of ledgers that are read to their end.
    :ivar floor: ledgers below it that are not in ``next_entry`` are done.
    """

    next_entry: Mapping[int, int] = attrs.field(factory=dict)
    done: frozenset[int] = frozenset()
    floor: int = 0

    def is_done(self, ledger_id: int) -> bool:
        """Whether nothing of a ledger is left to read."""
        return ledger_id not in self.next_entry and (ledger_id < self.floor or ledger_id in self.done)

    def position(self, ledger_id: int) -> int | None:
        """The entry to go on with; 0 for a ledger that is new, None for one that is done."""
        return None if self.is_done(ledger_id) else self.next_entry.get(ledger_id, 0)

    def advanced(self, next_entry: Mapping[int, int], done: Collection[int]) -> "StreamOffset":
        """The offset after more was read.

        :param next_entry: by ledger id, of ledgers that are not read to their end.
        :param done: ledgers that are, ever since now.
        """
        table = {**self.next_entry, **next_entry}
        for ledger_id in done:
            table.pop(ledger_id, None)
        return StreamOffset(table, self.done | set(done), self.floor)

    def with_floor(self, highest: int, limit: int | None = None) -> "StreamOffset":
        """The same position with the floor behind the highest id that was seen.

        :param limit: the floor stays at or below it.
        """
        floor = highest - WINDOW if limit is None else min(highest - WINDOW, limit)
        floor = max(self.floor, floor)
        return attrs.evolve(self, floor=floor, done=frozenset(n for n in self.done if n >= floor))

    def to_json(self) -> dict[str, Any]:
        """As Spark stores it."""
        table = {str(ledger_id): entry_id for ledger_id, entry_id in sorted(self.next_entry.items())}
        return {"version": _VERSION, "floor": self.floor, "done": _ranges(self.done), "next": table}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """:raises ConfigError: it is of another version of this source, or of another source."""
        if stored.get("version") != _VERSION:
            raise ConfigError(f"the checkpoint was written by another version of the source: {stored.get('version')}")
        table = {int(ledger_id): int(entry_id) for ledger_id, entry_id in stored["next"].items()}
        return cls(table, frozenset(_members(stored["done"])), int(stored["floor"]))


@attrs.define
class Admission:
    """What may still go into a micro-batch.

    :ivar entries, n_bytes: left; None without a limit.
    """

    entries: int | None
    n_bytes: float | None
    taken: int = 0

    def admitted(self, wanted: int, entry_bytes: float) -> int:
        """How many of some entries go into it; the first of all goes in whatever its size."""
        count = wanted if self.entries is None else min(wanted, self.entries)
        if self.n_bytes is not None and entry_bytes:
            count = min(count, max(int(self.n_bytes // entry_bytes), 0 if self.taken else 1))
        if self.entries is not None:
            self.entries -= count
        if self.n_bytes is not None:
            self.n_bytes -= count * entry_bytes
        self.taken += count
        return count


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers as text such as ``3-7,9``."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def _members(text: str) -> Iterable[int]:
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
