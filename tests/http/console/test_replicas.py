"""The comparison of the replicas of an entry."""

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    BookKeeperError,
    NoSuchEntryError,
    NoSuchLedgerError,
)
from bookkeeper_twisted.http.console.replicas import compared, judged, live_replicas, may_be_unwritten
from bookkeeper_twisted.model import DigestType, LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.testing.sealing import sealed

_PAYLOAD = bytes(range(100))
_ALONE = "replicas was read, with none to compare it with"
_SAME, _BAD = "replicas are the same, as the bookies answer now", "replicas are missing, damaged or different"


class LiveReplicasTests(SynchronousTestCase):
    """The fewest replicas that an entry of a ledger has."""

    def live(self, registered: str, last: int | None, *segments: tuple[int, str]) -> int:
        """Count for a ledger of write quorum 2; each letter is the id of a bookie."""
        made = tuple(Segment(first, tuple(bookies)) for first, bookies in segments)
        state = LedgerState.OPEN if last is None else LedgerState.CLOSED
        metadata = LedgerMetadata(
            len(segments[0][1]), 2, 2, made, state=state, last_entry_id=-1 if last is None else last
        )  # fmt: skip
        return live_replicas(metadata, registered)

    def test_write_sets(self) -> None:
        """Only the write sets of entries that exist count, in each ensemble."""
        self.assertEqual([self.live("ab", last, (0, "abcd")) for last in (0, 1, 2)], [2, 1, 0])
        self.assertEqual([self.live("bc", last, (0, "abxx"), (1, "xbcx")) for last in (0, 1, 2)], [1, 1, 1])
        self.assertEqual([self.live("abc", last, (0, "abxx"), (1, "xbcx")) for last in (1, 2, 3)], [2, 1, 0])
        self.assertEqual(self.live("abcd", 9, (0, "xbcd"), (1, "abcd")), 1)

    def test_open(self) -> None:
        """The last ensemble of an open ledger may have entries on all of its bookies."""
        self.assertEqual(self.live("ab", None, (0, "abcd")), 0)
        self.assertEqual(self.live("abcd", None, (0, "abxx"), (1, "abcd")), 2)

    def test_unwritten(self) -> None:
        """The last ensemble of a ledger that is not closed may have no entries; those before it have some."""
        for gone, segments, may_be in (("", ((0, "ab"),), True), ("", ((0, "ab"), (1, "cd")), False),
                                       ("a", ((0, "ab"), (1, "cd")), True)):  # fmt: skip
            made = tuple(Segment(first, tuple(bookies)) for first, bookies in segments)
            metadata = LedgerMetadata(2, 2, 2, made)
            self.assertEqual(may_be_unwritten(metadata, gone), may_be, segments)
            closed = attrs.evolve(metadata, state=LedgerState.CLOSED, last_entry_id=5)
            self.assertFalse(may_be_unwritten(closed, gone))

    def test_empty(self) -> None:
        """A closed ledger without entries has lost nothing, whatever its bookies."""
        self.assertEqual(self.live("", -1, (0, "abcd")), 2)


class ComparisonTests(SynchronousTestCase):
    """Entry 7 of ledger 3 on several bookies."""

    digest = DigestType.CRC32C
    digester = Digester(digest, b"")

    def stored(self, payload: bytes = _PAYLOAD, lac: int = 6) -> bytes:
        """Return an entry as a valid replica has it."""
        return bytes(sealed(self.digester, 3, 7, lac, 0, [payload]).data[4:])

    def compare(self, *stored: bytes | BookKeeperError) -> tuple[object, list[tuple[object, object]]]:
        """Return the verdict, and for each replica whether it is the same, and where its payload differs."""
        replicas = [judged(f"b{number}", each, self.digester, 3, 7) for number, each in enumerate(stored)]
        found = compared(replicas, self.digest)
        rows: list[dict[str, object]] = found["replicas"]  # type: ignore[assignment]
        return found["verdict"], [(row["same"], row["differsAt"]) for row in rows]

    def damaged(self, at: int) -> bytes:
        """Return a replica with one other byte, whose digest is that of the valid ones."""
        stored = bytearray(self.stored())
        stored[at] ^= 1
        return bytes(stored)

    def test_same(self) -> None:
        """Valid replicas with the same payload and length are the same."""
        self.assertEqual(self.compare(self.stored(), self.stored()),
                         (f"all 2 {_SAME}", [(True, None)] * 2))

    def test_other_lacs(self) -> None:
        """A replica that a recovery or a re-replication has written again has another LAC, and is the same."""
        normal = "which is normal after a recovery or re-replication"
        self.assertEqual(self.judge(self.stored(), self.stored(lac=5), self.stored()), (
            f"all 3 {_SAME}; LAC 6 on b0, b2, 5 on b1, {normal}", "good", ["good"] * 3))
        self.assertEqual(self.compare(self.stored(), self.stored(lac=5))[1], [(True, None)] * 2)
        self.assertEqual(self.compare(self.stored(), self.damaged(10), self.stored(lac=5)), (
            f"1 of 3 {_BAD}: b1; LAC 6 on b0, 5 on b2, {normal}", [(True, None), (False, None), (True, None)]))
        other = self.stored(b"x" + _PAYLOAD[1:], lac=5)
        self.assertEqual(self.compare(self.stored(), other, self.stored())[0], f"1 of 3 {_BAD}: b1")

    def test_other_length(self) -> None:
        """A replica with another length of the ledger up to it is not the same."""
        longer = bytes(sealed(self.digester, 3, 7, 6, 1, [_PAYLOAD]).data[4:])
        self.assertEqual(self.compare(longer, self.stored(), self.stored()),
                         (f"1 of 3 {_BAD}: b0", [(False, None), (True, None), (True, None)]))

    def test_wrong_digest(self) -> None:
        """Of a replica with a wrong digest the payload is compared; it differs even if only its head does."""
        for at, expected in ((36 + 50, 50), (10, None), (33, None)):
            self.assertEqual(self.compare(self.stored(), self.damaged(at), self.stored()),
                             (f"1 of 3 {_BAD}: b1", [(True, None), (False, expected), (True, None)]))

    def test_odd_one_first(self) -> None:
        """What most valid replicas have is right, whatever the first one has."""
        other = self.stored(_PAYLOAD[:77] + b"!" + _PAYLOAD[78:])
        self.assertEqual(self.compare(other, *[self.stored()] * 3),
                         (f"1 of 4 {_BAD}: b0", [(False, 77), *[(True, None)] * 3]))

    def test_none(self) -> None:
        """Without a valid replica nothing can be compared."""
        self.assertEqual(self.compare(BookieIOError(3, 7), b"short"),
                         ("no replica is valid", [(None, None), (None, None)]))

    def judge(self, *stored: bytes | BookKeeperError, may_lack: bool = False) -> tuple[object, ...]:
        """Return the verdict, its level, and the levels of the replicas."""
        replicas = [judged(f"b{number}", each, self.digester, 3, 7) for number, each in enumerate(stored)]
        found = compared(replicas, self.digest, may_lack=may_lack)
        rows: list[dict[str, object]] = found["replicas"]  # type: ignore[assignment]
        return found["verdict"], found["level"], [row["level"] for row in rows]

    def test_down(self) -> None:
        """A replica whose bookie does not answer is unknown, neither missing nor damaged."""
        down = BookieHandleNotAvailableError("no connection to b1")
        unknown = "could not be asked for"
        self.assertEqual(self.judge(self.stored(), down), (
            f"1 of 2 {_ALONE}; 1 of 2 replicas {unknown}: b1", "unknown", ["good", "unknown"]))
        self.assertTrue(str(self.judge(self.stored(), self.stored(), down)[0]).startswith(f"2 of 3 {_SAME};"))
        self.assertEqual(self.judge(down, down),
                         (f"2 of 2 replicas {unknown}: b0, b1", "unknown", ["unknown", "unknown"]))
        self.assertEqual(self.judge(NoSuchEntryError(3, 7), down), (
            f"no replica that could be read is valid; 1 of 2 replicas {unknown}: b1", "bad", ["bad", "unknown"]))
        self.assertEqual(self.judge(self.stored(), NoSuchLedgerError(3), down)[1], "bad")

    def test_not_written(self) -> None:
        """Of an entry that may not be written yet, no replica is missing; a damaged one is damaged."""
        lacking = "bookies do not have the entry, which may not be written yet"
        self.assertEqual(self.judge(*[NoSuchEntryError(3, 7)] * 2, may_lack=True),
                         (f"2 of 2 {lacking}", "unknown", ["unknown", "unknown"]))
        self.assertEqual(self.judge(self.stored(), NoSuchLedgerError(3), may_lack=True),
                         (f"1 of 2 {_ALONE}; 1 of 2 {lacking}", "unknown", ["good", "unknown"]))
        self.assertEqual(self.judge(self.stored(), self.stored(), may_lack=True)[1], "good")
        self.assertEqual(self.judge(BookieIOError(3, 7), NoSuchEntryError(3, 7), may_lack=True)[1:],
                         ("bad", ["bad", "unknown"]))


class WithoutChecksumTests(SynchronousTestCase):
    """Entry 8 of ledger 3, whose digest is DUMMY."""

    def compare(self, *found: bytes | tuple[int, int] | BookKeeperError) -> tuple[object, list[tuple[object, ...]]]:
        """Return the verdict, and of each replica the digest's verdict, its level and the difference.

        A replica is given as its payload, or as LAC and length of an entry whose payload is that of the others.
        """
        digester = Digester(DigestType.DUMMY, b"")
        stored = [each if isinstance(each, BookKeeperError) else _made(digester, each) for each in found]
        replicas = [judged(f"b{number}", each, digester, 3, 8) for number, each in enumerate(stored)]
        answer = compared(replicas, DigestType.DUMMY)
        rows: list[dict[str, object]] = answer["replicas"]  # type: ignore[assignment]
        return answer["verdict"], [(row["verdict"], row["level"], row["difference"]) for row in rows]

    def test_none_is_right(self) -> None:
        """Without a majority of equal replicas, none is blamed, and none is the right one."""
        unknown = "DUMMY has no checksum, so which is right is not known"
        seen = [("no checksum", "unknown", text) for text in ("as b0", "not as b0: from byte 0 on",
                                                              "not as b0: from byte 1 on")]  # fmt: skip
        self.assertEqual(self.compare(b"eummy", b"dulmy", b"dummy")[0], f"the replicas differ in 3 ways; {unknown}")
        self.assertEqual(self.compare(b"dummy", b"eummy"), (f"the replicas differ in 2 ways; {unknown}", seen[:2]))
        self.assertEqual(self.compare(b"dummy", b"eummy", b"dhmmy")[1], seen)
        self.assertEqual(self.compare(b"dummy", b"eummy", NoSuchEntryError(3, 8))[0],
                         f"the replicas differ in 2 ways; {unknown}; 1 of 3 replicas are missing or damaged: b2")

    def test_majority(self) -> None:
        """What most replicas have is not proved to be right, but the others are named."""
        checked = "no checksum"
        self.assertEqual(self.compare(b"eummy", b"dummy", b"dummy"), (
            "1 of 3 replicas differ from the majority: b0; DUMMY has no checksum, so the majority may be wrong",
            [(checked, "unknown", "no, from byte 0 on"), *[(checked, "unknown", "yes")] * 2]))
        self.assertEqual(self.compare(b"dummy", b"dummy"), (f"all 2 {_SAME}", [(checked, "good", "yes")] * 2))
        self.assertEqual(self.compare(b"dummy", NoSuchEntryError(3, 8))[0], f"1 of 2 {_BAD}: b1")

    def test_header(self) -> None:
        """A replica with another length is named; one with another LAC is the same, as far as is known."""
        other = "payload, yes; length, no"
        for given, said in (((7, 9), "yes"), ((8, 8), other), ((7, 8), other)):
            self.assertEqual([row[2] for row in self.compare((8, 9), given, (8, 9))[1]], ["yes", said, "yes"])
        self.assertEqual(self.compare((8, 9), (7, 9)), (
            f"all 2 {_SAME}; LAC 8 on b0, 7 on b1, which is normal after a recovery or re-replication; "
            "DUMMY has no checksum, so one may be damaged", [("no checksum", "good", "yes")] * 2))


def _made(digester: Digester, given: bytes | tuple[int, int]) -> bytes:
    payload, lac, length = (given, 7, 5) if isinstance(given, bytes) else (b"dummy", *given)
    return bytes(sealed(digester, 3, 8, lac, length - len(payload), [payload]).data[4:])
