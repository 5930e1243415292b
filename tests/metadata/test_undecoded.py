"""Reads that go on past ledgers whose metadata cannot be decoded."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import CodecError, MetadataError, MetadataSerializationError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.undecoded import UndecodedLedgers, undecoded_text
from bookkeeper_twisted.model import LedgerMetadata, Segment


class UndecodedLedgersTests(SynchronousTestCase):
    """:class:`UndecodedLedgers`."""

    def setUp(self) -> None:
        driver = MemoryStore().driver(Clock())
        self.do(driver.open())
        self.ledgers: Any = driver.ledgers
        self.metadata = LedgerMetadata(1, 1, 1, (Segment(0, ("b:1",)),))
        for ledger_id in (1, 2):
            self.do(self.ledgers.create(ledger_id, self.metadata))

    def do(self, work: Any) -> Any:
        """The result of a coroutine."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def spoil(self, ledger_id: int) -> None:
        """Store something that is no metadata."""
        version = self.ledgers._store.read_ledger(ledger_id).version
        self.ledgers._store.write_ledger(ledger_id, b"garbage", version)

    def test_read(self) -> None:
        """Such a ledger is noted with the reason; one that does not exist is not."""
        noted: list[tuple[int, str]] = []
        undecoded = UndecodedLedgers(lambda *of_ledger: noted.append(of_ledger))
        self.spoil(2)
        found = [self.do(undecoded.read(self.ledgers, ledger_id)) for ledger_id in (1, 2, 3)]
        self.assertEqual(found[1:], [None, None])
        self.assertEqual((found[0].bookies, undecoded.ids), ({"b:1"}, {2}))
        self.assertEqual([ledger_id for ledger_id, _ in noted], [2])
        self.assertIn("ledger 2: ledger metadata: the version line is missing", noted[0][1])
        self.assertEqual(undecoded.reason, noted[0][1])

    def test_decoded_later(self) -> None:
        """One that can be decoded, or is deleted, when it is read again is no such ledger any more."""
        undecoded = UndecodedLedgers()
        stored = self.ledgers._store.read_ledger(1)
        for ledger_id in (1, 2):
            self.spoil(ledger_id)
            self.do(undecoded.read(self.ledgers, ledger_id))
        self.assertEqual(undecoded.ids, {1, 2})
        self.ledgers._store.write_ledger(1, stored.value, self.ledgers._store.read_ledger(1).version)
        self.do(self.ledgers.remove(2))
        for ledger_id in (1, 2):
            self.do(undecoded.read(self.ledgers, ledger_id))
        self.assertEqual(undecoded.ids, set())

    def test_errors(self) -> None:
        """Whatever a driver raises for what it cannot decode is such a ledger; a store that fails is not."""
        undecoded = UndecodedLedgers()

        async def fails(ledger_id: int) -> Any:
            raise (CodecError("cut"), MetadataSerializationError("version 9"), MetadataError("away"))[ledger_id]

        self.ledgers.read = fails
        for ledger_id in (0, 1):
            self.assertIsNone(self.do(undecoded.read(self.ledgers, ledger_id)))
        self.failureResultOf(Deferred.fromCoroutine(undecoded.read(self.ledgers, 2)), MetadataError)
        self.assertEqual((undecoded.ids, undecoded.reason), ({0, 1}, "cut"))

    def test_text(self) -> None:
        """The text counts the ledgers, and names the first ones, in the order of their ids."""
        text = undecoded_text({15}, "may need the bookie", "{:x}".format)
        why = "as its metadata cannot be read or decoded"
        self.assertEqual(text, f"1 ledger may need the bookie, {why}, such as ledger f")
        text = undecoded_text(range(70, 60, -1), "cannot be listed")
        first = "61, 62, 63, 64, 65"
        why = "as their metadata cannot be read or decoded"
        self.assertEqual(text, f"10 ledgers cannot be listed, {why}, such as ledger {first}")
