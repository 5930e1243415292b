"""Counts the live replicas of ledgers, and compares the replicas of an entry."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import attrs

from ...codec.digest import Digester
from ...errors import BookieIOError, BookKeeperError, DigestMatchError, NoSuchEntryError, NoSuchLedgerError
from ...ledger.schedule import Schedule
from ...model import MAX_ENTRY_ID, LedgerMetadata

_OK = "ok"
_DAMAGED, _MISSING, _UNKNOWN = "damaged", "missing", "unknown"
_LEVELS = {_OK: "good", _DAMAGED: "bad", _MISSING: "bad", _UNKNOWN: "unknown"}
_SIZE_WORD = 4
"""Length of the size field in front of an entry in an entry log; a reply to a read does not contain this field."""

MOST_SHOWN = 64 * 1024
"""Maximum number of bytes of an entry that an answer contains.  Replicas are compared by all of their bytes."""


def live_replicas(metadata: LedgerMetadata, registered: Collection[str]) -> int:
    """Count the replicas of each entry of a ledger that are on registered bookies; return the lowest number.

    The last ensemble of a ledger that is not closed counts as if it had entries on all of its bookies.

    :param metadata: metadata of the ledger.
    :param registered: ids of the registered bookies.
    :returns: the lowest number; the write quorum size if the ledger is empty, as it can lose no replica.
    """
    schedule = Schedule(metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)
    ends = [segment.first_entry_id for segment in metadata.segments[1:]]
    ends.append(metadata.last_entry_id + 1 if metadata.closed else MAX_ENTRY_ID)
    return min(
        (
            sum([segment.bookies[position] in registered for position in schedule.write_set(entry_id)])
            for segment, end in zip(metadata.segments, ends, strict=True)
            for entry_id in range(segment.first_entry_id, end)[: schedule.ensemble_size]
        ),
        default=schedule.write_quorum,
    )


def is_empty(metadata: LedgerMetadata) -> bool:
    """Test whether a ledger has no entry and never gets one.

    :param metadata: metadata of the ledger.
    """
    return metadata.closed and metadata.last_entry_id < 0


@attrs.frozen
class Replica:
    """The answer of one bookie of the entry's write set to a read of the entry.

    :ivar verdict: ``ok``, ``wrong digest`` with details, or the error that the bookie has returned.
    :ivar outcome: what is known of the replica: ``ok``, ``damaged``, ``missing``; ``unknown`` if the bookie did not
        answer, or refused to.
    :ivar data: the payload, even if its digest is wrong; None if the bookie has returned an error.
    :ivar lac: last add confirmed in the entry's header; None if the entry is not valid.
    :ivar length: length of the ledger in bytes up to and including this entry; None if the entry is not valid.
    """

    bookie: str
    verdict: str
    outcome: str = _OK
    data: bytes | None = None
    lac: int | None = None
    length: int | None = None

    @property
    def content(self) -> tuple[bytes | None, int | None, int | None]:
        """The payload, last add confirmed and length, which are equal in intact replicas of an entry."""
        return self.data, self.lac, self.length


def judged(
    bookie_id: str, stored: bytes | BookKeeperError, digester: Digester, ledger_id: int, entry_id: int
) -> Replica:  # fmt: skip
    """Verify the answer of a bookie to a read of an entry.

    :param stored: the entry with header and digest, or the error that the bookie has returned.
    :param digester: verifies the digests of the ledger.
    """
    if isinstance(stored, NoSuchEntryError | NoSuchLedgerError):
        return Replica(bookie_id, str(stored), _MISSING)
    if isinstance(stored, BookKeeperError):
        return Replica(bookie_id, str(stored), _DAMAGED if isinstance(stored, BookieIOError) else _UNKNOWN)
    try:
        entry = digester.entry(ledger_id, entry_id, stored)
    except DigestMatchError as error:
        payload_at = digester.payload_at - _SIZE_WORD
        return Replica(bookie_id, f"wrong digest: {error.detail}", _DAMAGED, stored[payload_at:])
    return Replica(bookie_id, _OK, _OK, bytes(entry.data), entry.last_add_confirmed, entry.length)


def compared(replicas: Sequence[Replica], *, may_lack: bool = False) -> Mapping[str, object]:
    """Compare the replicas of an entry, and return the result as a JSON object.

    If valid replicas differ, all are compared with the content that most of them have.  A replica whose payload
    differs has the offset of the first different byte in its member ``differsAt``.

    :param replicas: the answers of all bookies of the entry's write set.
    :param may_lack: whether a bookie may rightly not have the entry, as it may not be written yet.
    :returns: the ``verdict`` as text, whether all are the ``same``, the ``replicas`` as rows, and the ``level`` of the
        verdict: ``good``, ``bad``, or ``unknown`` if what is known proves neither.
    """
    valid = [each for each in replicas if each.verdict == _OK]
    alike = Counter([each.content for each in valid])
    whole = max(valid, key=lambda each: alike[each.content], default=None)
    rows = [_row(each, whole, may_lack) for each in replicas]
    same = sum(row["same"] is True for row in rows)
    unknown = [each.bookie for each in replicas if each.outcome == _UNKNOWN]
    lacking = [each.bookie for each in replicas if each.outcome == _MISSING and may_lack]
    bad = [
        each.bookie for each, row in zip(replicas, rows, strict=True)
        if row["same"] is not True and each.bookie not in (*unknown, *lacking)
    ]  # fmt: skip
    parts = []
    if bad and not valid:
        parts.append("no replica is valid" if len(bad) == len(rows) else "no replica that could be read is valid")
    elif bad:
        parts.append(f"{_of(bad, rows)} replicas are missing, damaged or different: {', '.join(bad)}")
    elif valid:
        parts.append(f"{'all' if same == len(rows) else f'{same} of'} {len(rows)} replicas are the same")
    if lacking:
        parts.append(f"{_of(lacking, rows)} bookies do not have the entry, which may not be written yet")
    if unknown:
        parts.append(f"{_of(unknown, rows)} replicas could not be asked for: {', '.join(unknown)}")
    level = "bad" if bad else "good" if rows and same == len(rows) else "unknown"
    return {"verdict": "; ".join(parts), "same": level == "good", "level": level, "replicas": rows}


def _of(some: Sequence[object], rows: Sequence[object]) -> str:
    return f"{len(some)} of {len(rows)}"


def _row(replica: Replica, whole: Replica | None, may_lack: bool) -> dict[str, object]:
    row: dict[str, object] = {
        "bookie": replica.bookie, "verdict": replica.verdict, "same": None, "differsAt": None, "size": None,
        "lac": replica.lac, "length": replica.length, "hex": None,
        "level": "unknown" if replica.outcome == _MISSING and may_lack else _LEVELS[replica.outcome],
    }  # fmt: skip
    if replica.data is not None:
        row |= {"size": len(replica.data), "hex": replica.data[:MOST_SHOWN].hex()}
        if whole is not None and whole.data is not None:
            at = _first_difference(whole.data, replica.data)
            row |= {"same": replica.verdict == _OK and replica.content == whole.content, "differsAt": at}
    return row


def _first_difference(one: bytes, other: bytes) -> int | None:
    if one == other:
        return None
    return next(
        (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )
