"""The position of a stream: the offsets that Spark keeps in the checkpoint of a query.

An offset names for each ledger that is being read the entry to go on with.  Ledgers of which nothing is left to read
(closed and read to their end, deleted, not chosen by the pattern) are in ``done``, a set of ranges: whatever id a new
ledger has, also one far below the highest, it is not in that set.

The rule is that only an id whose ledger was seen is done.  Each entry is then read once: a ledger that is chosen
becomes done when it was read to its end, or is lost, and a ledger that was not seen is not done, so it is read when
it appears.  A low-water mark, below which every id is done, would break that: between drawing an id and creating its
ledger a client may pause for any time, while ledgers with higher ids are created and read, and an import creates
ledgers with ids of its choice; such a ledger would be skipped.

The number of ranges is bounded by this: ids are given out one after the other, so two ranges are apart only where an
id between them is that of a ledger that is being read, or was given out and no look has found its ledger, as its
create failed or it was soon deleted.  The sink uses every id that it draws for a batch (:mod:`..sink.publishing`),
so its batches add no range.
"""

from collections.abc import Collection, Mapping
from typing import Any, Self

import attrs

from ...errors import ConfigError
from ..id_ranges import IdRanges

_VERSION = 2


@attrs.frozen
class StreamOffset:
    """The position of a stream.

    :ivar next_entry: id of the next entry to read, by ledger id.
    :ivar done: ledgers of which nothing is left to read.
    :ivar finished: ledgers that were read to their end in the step that led here; a part of ``done``.
    """

    next_entry: Mapping[int, int] = attrs.field(factory=dict)
    done: IdRanges = IdRanges()  # noqa: RUF009
    finished: IdRanges = IdRanges()  # noqa: RUF009

    def is_done(self, ledger_id: int) -> bool:
        """Test whether the ledger ``ledger_id`` was read to its end."""
        return ledger_id not in self.next_entry and ledger_id in self.done

    def position(self, ledger_id: int) -> int | None:
        """Return the id of the next entry of ``ledger_id`` to read: 0 in a new ledger, None if the ledger is done."""
        return None if self.is_done(ledger_id) else self.next_entry.get(ledger_id, 0)

    def advanced(
        self, next_entry: Mapping[int, int], finished: Collection[int], dropped: Collection[int] = ()
    ) -> "StreamOffset":
        """Return the offset after more entries were read; this object itself if nothing has changed.

        :param next_entry: by ledger id, of ledgers that are not read to their end.
        :param finished: ledgers that were now read to their end.
        :param dropped: ledgers that will not be read: deleted, or not chosen.
        """
        gone = {*finished, *dropped}
        table = {n: entry for n, entry in (*self.next_entry.items(), *next_entry.items()) if n not in gone}
        if table == self.next_entry and not gone:
            return self
        return StreamOffset(table, self.done.union(gone), IdRanges.of(finished))

    def to_json(self) -> dict[str, Any]:
        """Return the offset in the form that Spark stores."""
        table = {str(ledger_id): entry_id for ledger_id, entry_id in sorted(self.next_entry.items())}
        sets = {"done": self.done.to_text(), "finished": self.finished.to_text()}
        return {"version": _VERSION, **sets, "next": table}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the offset that :meth:`to_json` gave as ``stored``.

        :raises ConfigError: it is of another version of this source, or of another source.
        """
        if stored.get("version") != _VERSION:
            raise ConfigError(f"the checkpoint was written by another version of the source: {stored.get('version')}")
        table = {int(ledger_id): int(entry_id) for ledger_id, entry_id in stored["next"].items()}
        return cls(table, IdRanges.from_text(stored["done"]), IdRanges.from_text(stored["finished"]))


@attrs.define
class Admission:
    """The numbers of entries and bytes that a micro-batch can still take.

    :ivar entries, n_bytes: the remaining numbers; None without a limit.
    """

    entries: int | None
    n_bytes: float | None
    taken: int = 0

    def admitted(self, wanted: int, entry_bytes: float) -> int:
        """Admit as many entries as there is room for; the first entry of a micro-batch is always admitted.

        :param wanted: number of entries that could be read.
        :param entry_bytes: average bytes of their payloads, 0 if it is not known.
        :returns: how many were taken.
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
