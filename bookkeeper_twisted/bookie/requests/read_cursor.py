"""The unanswered reads of a run, which is a sequence of reads that were received together.

The reads of a run are divided into pieces.  A piece has reads that are answered together: reads of consecutive entries
of one ledger, or scattered reads (of entries in any order).
"""

from collections import deque
from collections.abc import Iterable, Sequence
from operator import ne, sub
from typing import NamedTuple

from ...codec.runs import ReadRun
from ...codec.strides import FEW_A_RUN, stretches
from ..interfaces import ReadTimes

SHORT = 8
"""A sequence of reads of consecutive entries that is shorter than this is answered as scattered reads.

The sequence is joined with the reads before and after it, because one larger group of reads is answered faster than
many small groups.
"""


class ReadPiece(NamedTuple):
    """Some of the reads that were received together: the reads with the indexes ``start .. end - 1``.

    :ivar is_row: True if the reads are of consecutive entries of one ledger.  False if they are scattered: of entries
        in any order, of one or more ledgers.
    """

    start: int
    end: int
    is_row: bool = True


class ReadCursor:
    """The unanswered reads of a run; a run is a sequence of reads that were received together.

    :ivar pieces: the unanswered reads, in pieces that are answered together.
    :ivar began: the time at which the bookie began to process the run, in seconds of the reactor's clock.
    :ivar has_loaded: whether entries of the run were loaded from disk before this object was made.
    :ivar times: times of the loads of entries from disk; None if nothing was loaded.
    """

    __slots__ = ("run", "pieces", "began", "has_loaded", "times")

    def __init__(
        self, run: ReadRun, pieces: Iterable[ReadPiece], began: float, times: ReadTimes | None = None
    ) -> None:  # fmt: skip
        self.run = run
        self.pieces = deque(pieces)
        self.began = began
        self.has_loaded = times is not None
        self.times = times


def pieces_of(entry_ids: Sequence[int], ledger_ids: Sequence[int]) -> list[ReadPiece]:
    """Cut reads into pieces that are answered together.

    There are two kinds of pieces:

    * reads of consecutive entries of one ledger;
    * scattered reads, of entries in any order.  Example: reads of a striped ledger, as each bookie stores only some of
      its entries.

    Normally, each piece has reads of one ledger, because it is answered faster than a piece of several ledgers.  But if
    the ledger changes often from read to read, scattered reads of several ledgers form one piece.

    :param entry_ids: the entry id of each read, at least one.
    :param ledger_ids: the ledger id of each read.
    """
    count = len(entry_ids)
    if count == 1:
        return [ReadPiece(0, 1)]
    is_one_ledger = ledger_ids.count(ledger_ids[0]) == count
    is_together = is_one_ledger or sum(map(ne, ledger_ids, ledger_ids[1:])) * FEW_A_RUN >= count
    if is_together and 1 not in map(sub, entry_ids[1:], entry_ids):
        return [ReadPiece(0, count, False)]
    pieces: list[ReadPiece] = []
    for start, end in stretches(entry_ids, ledger_ids):
        before = pieces[-1] if pieces and end - start < SHORT else None
        is_near = before is not None and (is_together or ledger_ids[before.start] == ledger_ids[start])
        if before is not None and is_near and not _is_long(before):
            pieces[-1] = ReadPiece(before.start, end, False)
        else:
            pieces.append(ReadPiece(start, end))
    return pieces


def _is_long(piece: ReadPiece) -> bool:
    return piece.is_row and piece.end - piece.start >= SHORT
