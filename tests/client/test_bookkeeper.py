"""Create, write, close, open, read, list, delete: on bookies in memory and on real ones."""

from typing import Any

import attrs
from twisted.internet.defer import Deferred, fail

from bookkeeper_twisted.client import BookKeeper, EntryBatch
from bookkeeper_twisted.errors import (
    BookieIOError,
    ClientClosedError,
    IncorrectParameterError,
    InvalidMetadataUriError,
    LedgerFencedError,
    MetadataOutcomeUnknownError,
    MetadataUnavailableError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.metadata.drivers import create_driver
from bookkeeper_twisted.model import BookieServiceInfo, DigestType, LedgerState
from bookkeeper_twisted.testing.bookies import MemoryBookies

from .cluster_case import BOOKIES, ClusterCase, RealClusterCase


class _Unclosable(MemoryBookies):
    """Bookies whose connections cannot be closed."""

    def close(self) -> "Deferred[None]":
        """Fails."""
        return fail(BookieIOError())


class LedgerTests(ClusterCase):
    """The life of a ledger."""

    def test_write_and_read(self) -> None:
        """What was written is read back, with every digest and shape of quorum."""
        for digest_type in DigestType:
            for quorums in ((1, 1, 1), (3, 3, 2), (3, 2, 2), (4, 2, 1)):
                writer = self.do(self.bk.create_ledger(*quorums, b"secret", digest_type))
                payloads = [b"entry %d" % n for n in range(100)]
                self.do(writer.append_many(payloads))
                self.do(writer.close())
                reader = self.do(self.bk.open_ledger(writer.ledger_id, b"secret"))
                self.assertEqual([e.data for e in self.do(reader.read(0, 99))], payloads)
                self.assertEqual((reader.last_add_confirmed, reader.length), (99, sum(map(len, payloads))))

    def test_metadata(self) -> None:
        """The stored metadata says what was asked for."""
        writer = self.do(self.bk.create_ledger(3, 2, 1, b"pw", DigestType.HMAC, {"k": b"v"}))
        value = self.do(self.bk.ledger_metadata(writer.ledger_id))
        self.assertEqual((value.ensemble_size, value.write_quorum_size, value.ack_quorum_size), (3, 2, 1))
        self.assertEqual((value.state, value.digest_type, value.password), (LedgerState.OPEN, DigestType.HMAC, b"pw"))
        self.assertEqual(dict(value.custom_metadata), {"k": b"v"})
        self.assertEqual((value.segments[0].first_entry_id, len(set(value.segments[0].bookies))), (0, 3))
        self.assertEqual(value, writer.metadata)

    def test_defaults(self) -> None:
        """A ledger has three bookies, two copies, both acknowledged, unless told otherwise."""
        value = self.do(self.bk.create_ledger()).metadata
        self.assertEqual((value.ensemble_size, value.write_quorum_size, value.ack_quorum_size), (3, 2, 2))

    def test_create_arguments(self) -> None:
        """Impossible sizes are refused, too large ensembles are an error of their own; no ledger is left."""
        for sizes in ((2, 3, 2), (3, 2, 3), (3, 3, 0)):
            self.error(self.bk.create_ledger(*sizes), IncorrectParameterError)
        self.error(self.bk.create_ledger(5, 2, 2), NotEnoughBookiesError)
        self.assertEqual(self.do(self.listed()), [])

    def test_taken_id(self) -> None:
        """An id that is taken is not used again."""
        first = self.do(self.bk.create_ledger(1, 1, 1))
        self.store.next_ledger_id = first.ledger_id
        second = self.do(self.bk.create_ledger(1, 1, 1))
        self.assertNotEqual(first.ledger_id, second.ledger_id)

    def test_wrong_password(self) -> None:
        """A ledger opens with its password only."""
        writer = self.do(self.bk.create_ledger(1, 1, 1, b"right"))
        self.do(writer.close())
        self.error(self.bk.open_ledger(writer.ledger_id, b"wrong"), UnauthorizedAccessError)
        self.error(self.bk.open_ledger(writer.ledger_id), UnauthorizedAccessError)
        self.do(self.bk.open_ledger(writer.ledger_id, b"right"))

    def test_wrong_types(self) -> None:
        """Numbers given as text, as fractions or not at all are refused by name."""
        for wrong in ("1", 1.5, None):
            given = "str" if wrong == "1" else str(wrong)
            for work, name in (
                (self.bk.open_ledger(wrong), "ledger_id"),  # type: ignore[arg-type]
                (self.bk.delete_ledger(wrong), "ledger_id"),  # type: ignore[arg-type]
                (self.bk.create_ledger(wrong, 1, 1), "ensemble_size"),  # type: ignore[arg-type]
                (self.bk.create_ledger(1, 1, wrong), "ack_quorum"),  # type: ignore[arg-type]
            ):
                error = self.error(work, IncorrectParameterError)
                self.assertTrue(str(error).startswith(f"{name}: {given} was given, an integer from "), str(error))

    def test_wrong_types_of_a_range(self) -> None:
        """Likewise the ends of a range."""
        writer = self.do(self.bk.create_ledger(1, 1, 1))
        self.do(writer.close())
        reader = self.do(self.bk.open_ledger(writer.ledger_id))
        for ends, given in ((("0", 1), "first: str"), ((0, None), "last: None")):
            self.assertIn(f"{given} was given", str(self.error(reader.read(*ends), IncorrectParameterError)))
        for batch, given in ((("0",), "start: str"), ((0, "5"), "max_count: str"), ((0, 5, 1.5), "max_size: 1.5")):
            error = self.error(reader.read_batch(*batch), IncorrectParameterError)
            self.assertIn(f"{given} was given, an integer ", str(error))

    def test_custom_metadata(self) -> None:
        """Custom metadata that do not map text to bytes are refused, and what is wrong with them is said."""
        mistakes: Any = (
            ("text", "custom_metadata: str"), ({"key": "value"}, "custom_metadata['key']: str"),
            ({1: b"value"}, "a key of custom_metadata: 1"),
        )  # fmt: skip
        for wrong, text in mistakes:
            error = self.error(self.bk.create_ledger(1, 1, 1, custom_metadata=wrong), IncorrectParameterError)
            self.assertIn(f"{text} was given", str(error))

    def test_missing(self) -> None:
        """A ledger that does not exist cannot be opened or deleted."""
        self.error(self.bk.open_ledger(99), NoSuchLedgerMetadataError)
        self.error(self.bk.open_ledger(-1), IncorrectParameterError)
        self.error(self.bk.delete_ledger(99), NoSuchLedgerMetadataError)
        self.error(self.bk.delete_ledger(-1), IncorrectParameterError)

    def test_list_and_delete(self) -> None:
        """Ledgers are listed in order until they are deleted."""
        ids = [self.do(self.bk.create_ledger(1, 1, 1)).ledger_id for _ in range(3)]
        self.assertEqual(self.do(self.listed()), sorted(ids))
        self.do(self.bk.delete_ledger(ids[1]))
        self.assertEqual(self.do(self.listed()), [ids[0], ids[2]])

    def test_open_ledger(self) -> None:
        """Opening a ledger that is not closed closes it after its last entry, and stops its writer."""
        writer = self.do(self.bk.create_ledger(3, 3, 2, b"pw"))
        self.do(writer.append_many([b"data"] * 5))
        reader = self.do(self.bk.open_ledger(writer.ledger_id, b"pw"))
        self.assertTrue(reader.is_closed)
        self.assertEqual((reader.last_add_confirmed, reader.length), (4, 20))
        self.error(writer.append(b"too late"), LedgerFencedError)

    def test_open_without_recovery(self) -> None:
        """It can be read up to the LAC its bookies know, while its writer goes on."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        for _ in range(3):
            self.do(writer.append(b"data"))
        reader = self.do(self.bk.open_ledger(writer.ledger_id, recover=False))
        self.assertFalse(reader.is_closed)
        self.assertEqual(reader.last_add_confirmed, 1)
        self.assertEqual([e.data for e in self.do(reader.read(0, 1))], [b"data"] * 2)
        self.do(writer.append(b"more"))

    def test_open_during_recovery(self) -> None:
        """So can one that is being recovered, and another client can recover it, too."""
        writer = self.do(self.bk.create_ledger(1, 1, 1))
        stored = self.do(self.cluster.ledgers.read(writer.ledger_id))
        recovering = attrs.evolve(stored.value, state=LedgerState.IN_RECOVERY)
        self.do(self.cluster.ledgers.write(writer.ledger_id, recovering, stored.version))
        self.assertEqual(self.do(self.bk.open_ledger(writer.ledger_id, recover=False)).last_add_confirmed, -1)
        self.assertTrue(self.do(self.bk.open_ledger(writer.ledger_id)).is_closed)

    def test_open_as_administrator(self) -> None:
        """Without a password, the one that is stored is used."""
        writer = self.do(self.bk.create_ledger(1, 1, 1, b"secret", DigestType.HMAC))
        self.do(writer.append(b"data"))
        reader = self.do(self.bk.open_ledger(writer.ledger_id, None))
        self.assertEqual(self.do(reader.read_entry(0)).data, b"data")


class LifeTests(ClusterCase):
    """The life of a client."""

    def test_close(self) -> None:
        """A closed client refuses every call; closing again is harmless."""
        writer = self.do(self.bk.create_ledger(1, 1, 1))
        add = writer.append(b"a")
        self.clock.advance(0)
        self.do(self.bk.close())
        self.do(self.bk.close())
        self.do(add)
        self.clock.advance(0)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        for call in (self.bk.create_ledger, lambda: self.bk.open_ledger(0), lambda: self.bk.delete_ledger(0)):
            self.error(call(), ClientClosedError)
        self.error(self.listed(), ClientClosedError)
        self.error(self.bk.ledger_metadata(0), ClientClosedError)

    def test_context_manager(self) -> None:
        """Leaving the context closes the client."""

        async def work() -> int:
            async with self.bk as bk:
                return (await bk.create_ledger(1, 1, 1)).ledger_id

        self.do(work())
        self.error(self.bk.create_ledger(), ClientClosedError)

    def test_failed_close(self) -> None:
        """An error of the body of a context is not hidden by one of the close, which is raised if it is alone."""

        async def work(fails: bool) -> None:
            async with self.client(_Unclosable(self.clock)):
                if fails:
                    raise ZeroDivisionError

        self.error(work(True), ZeroDivisionError)
        self.error(work(False), BookieIOError)

    def test_connect(self) -> None:
        """A client is made from a URI; a wrong one is refused."""
        bk = self.do(BookKeeper.connect(self.clock, "memory:"))
        self.error(bk.create_ledger(1, 1, 1), NotEnoughBookiesError)
        self.do(bk.close())
        self.error(BookKeeper.connect(self.clock, "nothing://x"), InvalidMetadataUriError)


    def test_first_list(self) -> None:
        """A client that is connected knows the bookies."""
        store: Any = create_driver(self.clock, "memory:first-list")
        self.do(store.open())
        for name, read_only in (("a", False), ("b", True)):
            self.do(store.registration.register_bookie(name, read_only, BookieServiceInfo()))
        bk = self.successResultOf(BookKeeper.connect(self.clock, "memory:first-list"))  # no turn for a watch
        self.assertEqual(repr(bk), "<BookKeeper open, 1 writable bookies>")
        self.do(bk.close())

    def test_store_is_gone(self) -> None:
        """Where the metadata store does not answer, the error says what for it was asked, and keeps its kind."""
        for kind in (MetadataUnavailableError, MetadataOutcomeUnknownError):
            for name in ("generate_id", "read", "remove"):
                self.patch(self.bk.metadata.ledgers, name, lambda *_, kind=kind: fail(kind("gone")))
            for call, text in (
                (self.bk.create_ledger, "create a ledger: gone"),
                (lambda: self.bk.open_ledger(7), "open ledger 7: gone"),
                (lambda: self.bk.delete_ledger(7), "delete ledger 7: gone"),
            ):
                error = self.error(call(), kind)
                self.assertEqual((type(error), str(error)), (kind, text))

    def test_close_without_a_store(self) -> None:
        """A close that failed is not made again when the store is back; opening the ledger closes it, at its end."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append(b"a"))
        gone = self.patch(self.bk.metadata.ledgers, "write", lambda *_: fail(MetadataUnavailableError("gone")))
        error = self.error(writer.close(), MetadataUnavailableError)
        gone.restore()
        self.assertIs(self.error(writer.close(), MetadataUnavailableError), error)
        self.assertIs(self.do(self.bk.ledger_metadata(writer.ledger_id)).state, LedgerState.OPEN)
        reader = self.do(self.bk.open_ledger(writer.ledger_id))
        self.assertEqual((reader.metadata.state, reader.last_add_confirmed), (LedgerState.CLOSED, 0))


class RealBookieTests(RealClusterCase):
    """On real bookies."""

    def _written(self, quorums: tuple[int, int, int]) -> tuple[int, list[bytes]]:
        writer = self.do(self.bk.create_ledger(*quorums, b"secret"))
        payloads = [b"entry %d" % n for n in range(300)]
        self.assertEqual(self.do(writer.append_many(payloads)), (0, 299))
        self.assertEqual(self.do(writer.append(b"last")), 300)
        self.do(writer.close())
        return writer.ledger_id, [*payloads, b"last"]

    def read_whole(self, ledger_id: int) -> list[bytes]:
        """All payloads, however long it takes."""
        reading = Deferred.fromCoroutine(self._read(ledger_id))
        for _ in range(5):
            self.settle()
        return self.successResultOf(reading)

    async def _read(self, ledger_id: int) -> list[bytes]:
        async with await self.bk.open_ledger(ledger_id, b"secret") as reader:
            return [entry.data async for entry in reader.entries()]

    def test_round_trip(self) -> None:
        """Entries come back bit for bit."""
        ledger_id, payloads = self._written((3, 3, 2))
        self.assertEqual(self.do(self._read(ledger_id)), payloads)
        batch = self.do(self.do(self.bk.open_ledger(ledger_id, b"secret")).read_batch(10, 50))
        self.assertIsInstance(batch, EntryBatch)
        self.assertEqual(list(batch.payloads), payloads[10:60])

    def test_striped(self) -> None:
        """So they do from a striped ledger."""
        ledger_id, payloads = self._written((4, 2, 2))
        self.assertEqual(self.do(self._read(ledger_id)), payloads)

    def test_bookie_lost(self) -> None:
        """With any one bookie gone everything acknowledged is readable (S12)."""
        ledger_id, payloads = self._written((3, 3, 2))
        for bookie_id in BOOKIES:
            address = (bookie_id.split(":")[0], 1)
            listener = self.network.listeners.pop(address)
            self.network.break_connections(address)
            self.assertEqual(self.do(self._read(ledger_id)), payloads)
            self.network.listeners[address] = listener
            self.clock.advance(10)

    def test_recovery(self) -> None:
        """A ledger whose writer is alive is closed after everything it acknowledged; the writer is stopped (S12)."""
        for quorums in ((3, 3, 2), (4, 2, 2)):
            writer = self.do(self.bk.create_ledger(*quorums, b"secret"))
            payloads = [b"entry %d" % n for n in range(300)]
            self.do(writer.append_many(payloads))
            self.assertEqual(self.read_whole(writer.ledger_id), payloads)
            self.error(writer.append(b"too late"), LedgerFencedError)
            self.assertEqual(self.read_whole(writer.ledger_id), payloads)

    def test_recovery_after_a_power_cut(self) -> None:
        """A fence outlives its bookie; a recovery finds what was acknowledged with one of them gone (S3, S12)."""
        writer = self.do(self.bk.create_ledger(3, 3, 2, b"secret"))
        self.do(writer.append_many([b"a", b"b"]))
        self.do(writer.append(b"c"))
        for n, bookie_id in enumerate(BOOKIES):
            address = (bookie_id.split(":")[0], 1)
            self.network.break_connections(address)
            self.rigs[bookie_id] = self.rigs[bookie_id].restart()
            self.network.listeners[address] = self.rigs[bookie_id].engine.factory
            if n == 1:
                del self.network.listeners[address]
        self.assertEqual(self.read_whole(writer.ledger_id), [b"a", b"b", b"c"])

    def test_tail(self) -> None:
        """A reader sees entries as they are confirmed, and the end when the writer closes the ledger."""
        seen: list[bytes] = []

        async def follow(ledger_id: int) -> None:
            async with await self.bk.open_ledger(ledger_id, b"secret", recover=False) as reader:
                async for entry in reader.tail():
                    seen.append(entry.data)

        writer = self.do(self.bk.create_ledger(3, 3, 2, b"secret"))
        self.do(writer.append(b"0"))
        following = Deferred.fromCoroutine(follow(writer.ledger_id))
        for n in range(1, 5):
            self.do(writer.append(b"%d" % n))
            self.settle()
            self.assertEqual(seen, [b"%d" % i for i in range(n)])
        self.do(writer.close())
        self.settle()
        self.successResultOf(following)
        self.assertEqual(seen, [b"%d" % i for i in range(5)])

    def test_power_cut(self) -> None:
        """What was acknowledged is there after all bookies lost power (S1, S12)."""
        ledger_id, payloads = self._written((3, 3, 2))
        for bookie_id in BOOKIES:
            address = (bookie_id.split(":")[0], 1)
            self.network.break_connections(address)
            self.rigs[bookie_id] = self.rigs[bookie_id].restart()
            self.network.listeners[address] = self.rigs[bookie_id].engine.factory
        self.assertEqual(self.do(self._read(ledger_id)), payloads)

    def test_close(self) -> None:
        """A closed client leaves no connection and no timer."""
        self._written((3, 3, 2))
        closed = self.bk.close()
        self.settle()
        self.do(closed)
        self.assertEqual(self.clock.getDelayedCalls(), [])


class RealBookieV3Tests(RealBookieTests):
    """The same over V3."""

    wire_protocol = "v3"
