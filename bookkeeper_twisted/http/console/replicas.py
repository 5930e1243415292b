"""Counts the live replicas of ledgers, and compares the replicas of an entry."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import attrs

from ...codec.digest import Digester
from ...errors import BookieIOError, BookKeeperError, DigestMatchError, NoSuchEntryError, NoSuchLedgerError
from ...ledger.schedule import Schedule
from ...model import MAX_ENTRY_ID, DigestType, LedgerMetadata, LedgerState

_OK = "ok"
_DAMAGED, _MISSING, _UNKNOWN = "damaged", "missing", "unknown"
_LEVELS = {_OK: "good", _DAMAGED: "bad", _MISSING: "bad", _UNKNOWN: "unknown"}
_UNCHECKED = "no checksum"
"""The verdict of a digest of the type ``DUMMY``; only the ids in the header of the entry were verified."""
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


def may_be_unwritten(metadata: LedgerMetadata, registered: Collection[str]) -> bool:
    """Test whether a ledger without a live replica may have lost no entry, because no entry is known to be lost.

    The last ensemble of a ledger that is not closed may have no entries: only its bookies know.

    :param metadata: metadata of the ledger.
    :param registered: ids of the registered bookies.
    """
    if metadata.closed:
        return False
    without_last = attrs.evolve(metadata, state=LedgerState.CLOSED, last_entry_id=-1)
    return live_replicas(without_last, registered) > 0


def promised_replicas(metadata: LedgerMetadata, live: int) -> int:
    """Return how many replicas an acknowledged entry of a ledger has at least.

    An entry is acknowledged when the bookies of an ack quorum have it; the other bookies of its write set may lack it,
    as after a restart while the ensemble did not change.

    :param metadata: metadata of the ledger.
    :param live: the number of bookies of the entry's write set that are left.
    """
    return max(live - (metadata.write_quorum_size - metadata.ack_quorum_size), 0)


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
    def content(self) -> tuple[bytes | None, int | None]:
        """The payload and length, which are equal in intact replicas of an entry.

        The last add confirmed may differ: a recovery or a re-replication writes the entry again with the one of then.
        """
        return self.data, self.length


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


def compared(replicas: Sequence[Replica], digest: DigestType, *, may_lack: bool = False) -> Mapping[str, object]:
    """Compare the replicas of an entry, and return the result as a JSON object.

    If valid replicas differ, all are compared with the content that most of them have.  A replica whose payload
    differs has the offset of the first different byte in its member ``differsAt``.

    :param replicas: the answers of all bookies of the entry's write set.
    :param digest: type of the ledger's digest.  With ``DUMMY``, a damaged replica cannot be told from an intact one.
    :param may_lack: whether a bookie may rightly not have the entry, as it may not be written yet.
    :returns: the ``verdict`` as text, whether all are the ``same``, the ``replicas`` as rows, and the ``level`` of the
        verdict: ``good``, ``bad``, or ``unknown`` if what is known proves neither.
    """
    valid = [each for each in replicas if each.verdict == _OK]
    alike = Counter([each.content for each in valid])
    whole = max(valid, key=lambda each: alike[each.content], default=None)
    is_open = whole is not None and len(alike) > 1 and 2 * alike[whole.content] <= len(valid)
    rows = [_row(each, whole, may_lack, is_open) for each in replicas]
    same = sum(row["same"] is True for row in rows)
    unknown = [each.bookie for each in replicas if each.outcome == _UNKNOWN]
    lacking = [each.bookie for each in replicas if each.outcome == _MISSING and may_lack]
    bad = [
        each for each, row in zip(replicas, rows, strict=True)
        if row["same"] is not True and each.bookie not in (*unknown, *lacking)
    ]  # fmt: skip
    parts = []
    if bad and not valid:
        parts.append("no replica is valid" if len(bad) == len(rows) else "no replica that could be read is valid")
    elif is_open or (digest is DigestType.DUMMY and len(alike) > 1):
        parts += _unproved(bad, len(alike), len(rows), digest, is_open)
    elif bad:
        parts.append(f"{_of(bad, rows)} replicas are missing, damaged or different: {_named(bad)}")
    elif valid:
        which = "all" if same == len(rows) else f"{same} of"
        is_alone = same == 1 < len(rows)
        parts.append(
            f"{which} {len(rows)} replicas "
            + ("was read, with none to compare it with" if is_alone else "are the same, as the bookies answer now")
        )
    if whole is not None and not is_open:
        parts += _other_lacs([each for each in valid if each.content == whole.content], digest)
    if lacking:
        parts.append(f"{_of(lacking, rows)} bookies do not have the entry, which may not be written yet")
    if unknown:
        parts.append(f"{_of(unknown, rows)} replicas could not be asked for: {', '.join(unknown)}")
    level = "bad" if bad else "good" if rows and same == len(rows) else "unknown"
    if digest is DigestType.DUMMY:
        for row in rows:
            if row["verdict"] == _OK:
                row |= {"verdict": _UNCHECKED, "level": row["level"] if len(alike) == 1 else "unknown"}
    return {"verdict": "; ".join(parts), "same": level == "good", "level": level, "replicas": rows}


def _unproved(
    bad: Sequence[Replica], ways: int, count: int, digest: DigestType, is_open: bool
) -> list[str]:  # fmt: skip
    """Return the verdict on replicas that differ although their digests are valid.

    :param bad: all replicas if ``is_open``; else those that differ from the majority, are missing or damaged.
    :param ways: number of different contents of valid replicas.
    :param count: number of replicas.
    :param is_open: whether no more than half of the valid replicas are the same.
    """
    differing, lost = ([each for each in bad if (each.verdict == _OK) is is_valid] for is_valid in (True, False))
    if is_open:
        cause = f"{digest.name} has no checksum, so " if digest is DigestType.DUMMY else ""
        parts = [f"the replicas differ in {ways} ways; {cause}which is right is not known"]
    else:
        parts = [f"{len(differing)} of {count} replicas differ from the majority: {_named(differing)}; "
                 f"{digest.name} has no checksum, so the majority may be wrong"]  # fmt: skip
    if lost:
        parts.append(f"{len(lost)} of {count} replicas are missing or damaged: {_named(lost)}")
    return parts


def _other_lacs(same: Sequence[Replica], digest: DigestType) -> list[str]:
    """Return a remark on the LACs of replicas that are the same, if the LACs differ; else nothing.

    :param same: valid replicas with the same payload and length.
    """
    by_lac: dict[int | None, list[Replica]] = {}
    for each in same:
        by_lac.setdefault(each.lac, []).append(each)
    if len(by_lac) < 2:
        return []
    lacs = ", ".join([f"{lac} on {_named(by_lac[lac])}" for lac in by_lac])
    doubt = f"; {digest.name} has no checksum, so one may be damaged" if digest is DigestType.DUMMY else ""
    return [f"LAC {lacs}, which is normal after a recovery or re-replication{doubt}"]


def _named(replicas: Sequence[Replica]) -> str:
    return ", ".join([each.bookie for each in replicas])


def _of(some: Sequence[object], rows: Sequence[object]) -> str:
    return f"{len(some)} of {len(rows)}"


def _row(replica: Replica, whole: Replica | None, may_lack: bool, is_open: bool) -> dict[str, object]:
    row: dict[str, object] = {
        "bookie": replica.bookie, "verdict": replica.verdict, "same": None, "difference": "", "differsAt": None,
        "size": None, "lac": replica.lac, "length": replica.length, "hex": None,
        "level": "unknown" if replica.outcome == _MISSING and may_lack else _LEVELS[replica.outcome],
    }  # fmt: skip
    if replica.data is not None:
        row |= {"size": len(replica.data), "hex": replica.data[:MOST_SHOWN].hex()}
        if whole is not None and whole.data is not None:
            at = _first_difference(whole.data, replica.data)
            is_same = replica.verdict == _OK and replica.content == whole.content
            row |= {"same": None if is_open else is_same, "differsAt": at}
            row["difference"] = _difference(replica, whole, at, is_open)
    return row


def _difference(replica: Replica, whole: Replica, at: int | None, is_open: bool) -> str:
    """Return which parts of a replica are those of the replica ``whole``, for an operator.

    :param at: offset of the first different byte of the payload; None if there is none.
    :param is_open: whether ``whole`` need not be the right one, so that its bookie must be named.
    """
    parts = [] if at is None else [f"from byte {at} on"]
    if replica.verdict == _OK:
        if replica.length != whole.length:
            parts.append("length")
    elif not parts:
        parts.append("header or digest")
    differs = " and ".join(parts)
    if is_open:
        return f"not as {whole.bookie}: {differs}" if parts else f"as {whole.bookie}"
    if not parts:
        return "yes"
    return f"payload, yes; {differs}, no" if at is None else f"no, {differs}"


def _first_difference(one: bytes, other: bytes) -> int | None:
    if one == other:
        return None
    return next(
        (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )
