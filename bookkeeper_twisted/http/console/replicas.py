"""The replicas of ledgers and entries: how many are left, and whether those of an entry are the same."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import attrs

from ...codec.digest import Digester
from ...errors import BookKeeperError, DigestMatchError
from ...ledger.schedule import Schedule
from ...model import LedgerMetadata

_OK = "ok"
_SIZE_WORD = 4
"""Bytes in front of an entry in a record, which a reply to a read does not have."""

MOST_SHOWN = 64 * 1024
"""Maximum number of bytes of an entry that are shown; a difference beyond them is still found."""


def live_replicas(metadata: LedgerMetadata, there: Collection[str]) -> int:
    """Return how many bookies keep the entries of a ledger that the fewest bookies keep.

    :param metadata: metadata of the ledger.
    :param there: the bookies that count, for example those that are registered.
    """
    schedule = Schedule(metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)
    return min(
        (
            sum([segment.bookies[position] in there for position in schedule.write_set(first)])
            for segment in metadata.segments
            for first in range(schedule.ensemble_size)
        ),
        default=0,
    )


@attrs.frozen
class Replica:
    """The answer of one bookie that should have an entry.

    :ivar verdict: ``ok``, ``wrong digest``, or the error of the bookie.
    :ivar data: the payload, also with a wrong digest; None if the bookie gave none.
    :ivar lac: last add confirmed of the writer when it sent the entry; None if the entry is not valid.
    :ivar length: bytes of the ledger up to and with this entry; None if the entry is not valid.
    """

    bookie: str
    verdict: str
    data: bytes | None = None
    lac: int | None = None
    length: int | None = None

    @property
    def content(self) -> tuple[bytes | None, int | None, int | None]:
        """The values that are the same in all valid replicas of an entry."""
        return self.data, self.lac, self.length


def judged(
    bookie_id: str, stored: bytes | BookKeeperError, digester: Digester, ledger_id: int, entry_id: int
) -> Replica:  # fmt: skip
    """Verify what a bookie has answered to the question for an entry.

    :param stored: the stored entry, or the error that the bookie answered.
    :param digester: verifies the digests of the ledger.
    """
    if isinstance(stored, BookKeeperError):
        return Replica(bookie_id, str(stored))
    try:
        entry = digester.entry(ledger_id, entry_id, stored)
    except DigestMatchError as error:
        payload_at = digester.payload_at - _SIZE_WORD
        return Replica(bookie_id, f"wrong digest: {error.detail}", stored[payload_at:])
    return Replica(bookie_id, _OK, bytes(entry.data), entry.last_add_confirmed, entry.length)


def compared(replicas: Sequence[Replica]) -> Mapping[str, object]:
    """Say whether replicas of an entry are the same, as JSON.

    They are compared with what most valid replicas have.  Each replica whose payload differs names the first byte that
    differs.

    :param replicas: the answers of all bookies that should have the entry.
    """
    valid = [each for each in replicas if each.verdict == _OK]
    alike = Counter([each.content for each in valid])
    whole = max(valid, key=lambda each: alike[each.content], default=None)
    rows = [_row(each, whole) for each in replicas]
    same = sum(row["same"] is True for row in rows)
    if whole is None:
        verdict = "no replica is valid"
    elif same == len(rows):
        verdict = f"all {same} replicas are the same"
    else:
        verdict = f"{same} of {len(rows)} replicas are the same"
    return {"verdict": verdict, "same": bool(rows) and same == len(rows), "replicas": rows}


def _row(replica: Replica, whole: Replica | None) -> dict[str, object]:
    row: dict[str, object] = {
        "bookie": replica.bookie, "verdict": replica.verdict, "same": None, "differsAt": None, "size": None,
        "lac": replica.lac, "length": replica.length, "hex": None,
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
