"""The offsets of a stream, which Spark stores in the checkpoint of a query.

An offset contains, for each ledger that is being read, the id of the next entry to read.  Its set ``done`` contains the
ids of ledgers from which nothing more is read: they were closed and read to the end, were deleted, or are not selected.

A new ledger is never in ``done``, even if ledgers with higher ids are, so each entry is read exactly once.  A single
number below which all ids are done would not be enough, because ledgers do not appear in the order of their ids: a
client may pause between the generation of an id and the creation of its ledger, and an import creates ledgers with ids
of its choice.

The set is stored as ranges.  Their number stays small, because ids are generated in ascending order.  A gap between two
ranges has one of two reasons: a ledger in the gap is being read, or no ledger with an id in the gap was ever seen,
because its creation failed or it was soon deleted.  The sink creates a ledger with every id that it generates
(:mod:`..sink.publishing`), so its batches cause no gaps.
"""

from collections.abc import Collection, Mapping
from typing import Any, Self

import attrs

from ...errors import ConfigError
from ..id_ranges import IdRanges

_VERSION = 2


@attrs.frozen
class StreamOffset:
    """The position of a stream in all ledgers that it reads.

    :ivar next_entry: id of the next entry to read, by ledger id.
    :ivar done: ids of the ledgers from which nothing more is read.
    :ivar finished: a part of ``done``: ids of the ledgers whose last entries are in the micro-batch that ends at this
        offset.
    """

    next_entry: Mapping[int, int] = attrs.field(factory=dict)
    done: IdRanges = IdRanges()  # noqa: RUF009
    finished: IdRanges = IdRanges()  # noqa: RUF009

    def is_done(self, ledger_id: int) -> bool:
        """Test whether nothing more is read from the ledger ``ledger_id``."""
        return ledger_id not in self.next_entry and ledger_id in self.done

    def position(self, ledger_id: int) -> int | None:
        """Return the id of the next entry to read in ``ledger_id``: 0 in a new ledger, None if nothing more is read."""
        return None if self.is_done(ledger_id) else self.next_entry.get(ledger_id, 0)

    def advanced(
        self, next_entry: Mapping[int, int], finished: Collection[int], dropped: Collection[int] = ()
    ) -> "StreamOffset":
        """Return the offset at the end of a micro-batch that begins at this offset.

        If the micro-batch changes nothing, this object itself is returned.

        :param next_entry: maps the id of a ledger to the next entry to read after the micro-batch, for ledgers that the
            micro-batch does not read to their end.
        :param finished: ids of ledgers that the micro-batch reads to their end.
        :param dropped: ids of ledgers that were deleted or are not selected.
        """
        gone = {*finished, *dropped}
        table = {n: entry for n, entry in (*self.next_entry.items(), *next_entry.items()) if n not in gone}
        if table == self.next_entry and not gone:
            return self
        return StreamOffset(table, self.done.union(gone), IdRanges.of(finished))

    def to_json(self) -> dict[str, Any]:
        """Return the offset as the JSON object that Spark stores in the checkpoint."""
        table = {str(ledger_id): entry_id for ledger_id, entry_id in sorted(self.next_entry.items())}
        sets = {"done": self.done.to_text(), "finished": self.finished.to_text()}
        return {"version": _VERSION, **sets, "next": table}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Parse an offset that :meth:`to_json` returned and Spark ``stored``.

        :raises ConfigError: another version of this source, or another source, wrote the offset.
        """
        if stored.get("version") != _VERSION:
            raise ConfigError(f"the checkpoint was written by another version of the source: {stored.get('version')}")
        table = {int(ledger_id): int(entry_id) for ledger_id, entry_id in stored["next"].items()}
        return cls(table, IdRanges.from_text(stored["done"]), IdRanges.from_text(stored["finished"]))


@attrs.define
class Admission:
    """The limits of a micro-batch, while it is planned: how many entries and bytes may still be added to it.

    :ivar entries, n_bytes: the remaining entries and payload bytes; None without a limit.
    """

    entries: int | None
    n_bytes: float | None
    taken: int = 0

    def admitted(self, wanted: int, entry_bytes: float) -> int:
        """Add entries of a ledger to the micro-batch, as many as its limits permit; subtract them from the limits.

        The byte limit always permits the first entry of a micro-batch, however large it is.

        :param wanted: number of entries of the ledger that can be read.
        :param entry_bytes: average size in bytes of a payload of these entries; 0 if unknown.
        :returns: the number of added entries.
        """
        count = wanted if self.entries is None else min(wanted, self.entries)
        if self.n_bytes is not None and entry_bytes:
            count = min(count, max(int(self.n_bytes // entry_bytes), 0 if self.taken else 1))
        if self.entries is not None:
            self.entries -= count
        if self.n_bytes is not None:
            self.n_bytes -= count * entry_bytes
        self.taken += count
        return count
