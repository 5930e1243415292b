"""What an operator asks of a cluster."""

from typing import Any

from bookkeeper_twisted.client.admin import BookKeeperAdmin, DiskSpace, cluster_admin
from bookkeeper_twisted.codec.metadata_formats import Cookie
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    ClientClosedError,
    CookieExistsError,
    CookieNotFoundError,
    DigestMatchError,
    IncorrectParameterError,
    MetadataSerializationError,
    MetadataVersionError,
    NoSuchEntryError,
    NoSuchLedgerMetadataError,
    RequestTimeoutError,
    UnexpectedConditionError,
)
from bookkeeper_twisted.metadata.undecoded import UndecodedLedgers
from bookkeeper_twisted.model import BookieServiceInfo, LedgerState

from .cluster_case import BOOKIES, ClusterCase


class AdminTests(ClusterCase):
    """An operator's client of four bookies."""

    def setUp(self) -> None:
        """Connects."""
        super().setUp()
        self.admin = BookKeeperAdmin(self.bk)

    def _written(self, count: int, close: bool = True, **options: Any) -> int:
        """A ledger of a few entries."""
        writer = self.do(self.bk.create_ledger(**options))
        for n in range(count):
            self.do(writer.append(b"entry %d" % n))
        if close:
            self.do(writer.close())
        ledger_id: int = writer.ledger_id
        return ledger_id

    async def _ids(self, bookie_id: str | None = None) -> list[int]:
        return [ledger_id async for ledger_id, _ in self.admin.ledgers(bookie_id)]

    def test_ledgers(self) -> None:
        """All ledgers, or those of a bookie, in ascending order."""
        ids = [self._written(1, ensemble_size=2) for _ in range(8)]
        self.assertEqual(self.do(self._ids()), ids)
        for bookie_id in BOOKIES:
            expected = [i for i in ids if bookie_id in self.do(self.bk.ledger_metadata(i)).segments[0].bookies]
            self.assertEqual(self.do(self._ids(bookie_id)), expected)
        self.assertEqual(self.do(self._ids("nobody:1")), [])

    def test_deleted_meanwhile(self) -> None:
        """A ledger that is deleted while the list is read is left out."""

        async def listed() -> list[int]:
            found = []
            async for ledger_id, _ in self.admin.ledgers():
                found.append(ledger_id)
                if len(found) == 1:
                    await self.bk.delete_ledger(ids[1])
            return found

        ids = [self._written(0) for _ in range(3)]
        self.assertEqual(self.do(listed()), [ids[0], ids[2]])

    def test_undecodable(self) -> None:
        """Ledgers whose metadata cannot be decoded are left out; all others are listed before the error says so."""
        ids = [self._written(0) for _ in range(4)]
        version = self.cluster.ledgers._store.read_ledger(ids[1]).version
        self.cluster.ledgers._store.write_ledger(ids[1], b"garbage", version)
        found: list[int] = []

        async def listed(undecoded: UndecodedLedgers | None) -> None:
            found.clear()
            async for ledger_id, _ in self.admin.ledgers(undecoded=undecoded):
                found.append(ledger_id)

        error = self.error(listed(None), MetadataSerializationError)
        self.assertEqual(found, [ids[0], *ids[2:]])
        text = f"1 ledger cannot be listed, as its metadata cannot be read or decoded, such as ledger {ids[1]}"
        self.assertIn(text, str(error))
        self.assertIn("the first: ", str(error))
        undecoded = UndecodedLedgers()
        self.do(listed(undecoded))
        self.assertEqual((found, undecoded.ids), ([ids[0], *ids[2:]], {ids[1]}))

    def test_inspect(self) -> None:
        """A report names the bookies of a ledger and those that are not there."""
        ledger_id = self._written(1, ensemble_size=4)
        self.do(self.cluster.registration.unregister_bookie("b2:1"))
        self.do(self.cluster.registration.register_bookie("b1:1", True, BookieServiceInfo()))
        report = self.do(self.admin.inspect(ledger_id))
        self.assertEqual((report.ledger_id, report.bookies), (ledger_id, frozenset(BOOKIES)))
        self.assertEqual(report.unavailable, {"b2:1"})
        self.assertEqual(report.metadata.last_entry_id, 0)
        self.error(self.admin.inspect(99), NoSuchLedgerMetadataError)

    def test_open(self) -> None:
        """A ledger opens without its password, which is in the metadata."""
        ledger_id = self._written(2, password=b"secret")
        reader = self.do(self.admin.open_ledger(ledger_id))
        self.assertEqual([e.data for e in self.do(reader.read(0, 1))], [b"entry 0", b"entry 1"])

    def test_delete(self) -> None:
        """A deleted ledger is gone."""
        ledger_id = self._written(1)
        self.do(self.admin.delete_ledger(ledger_id))
        self.error(self.admin.delete_ledger(ledger_id), NoSuchLedgerMetadataError)

    def test_read_from(self) -> None:
        """An entry is read from the bookie that is named and from no other, and verified."""
        ledger_id = self._written(1, ensemble_size=2)
        first, second = self.do(self.bk.ledger_metadata(ledger_id)).segments[0].bookies
        self.bookies[first].damage(ledger_id, 0)
        self.error(self.admin.read_entry_from(first, ledger_id, 0), DigestMatchError)
        self.assertEqual(self.do(self.admin.read_entry_from(second, ledger_id, 0)).data, b"entry 0")
        self.error(self.admin.read_entry_from(second, ledger_id, 5), NoSuchEntryError)

    def test_bad_arguments(self) -> None:
        """An id that is none is refused before a bookie is asked."""
        for wrong in (("b0:1", 0, "0"), ("b0:1", 0, -1), ("b0:1", "0", 0), (5, 0, 0), ("a/b", 0, 0)):
            self.error(self.admin.read_entry_from(*wrong), IncorrectParameterError)

    def test_reply_without_bytes(self) -> None:
        """A bookie that says yes and gives nothing is caught."""
        ledger_id = self._written(1, ensemble_size=2)
        bookie_id = self.do(self.bk.ledger_metadata(ledger_id)).segments[0].bookies[0]
        self.bookies[bookie_id].entries[ledger_id][0] = None
        self.error(self.admin.read_entry_from(bookie_id, ledger_id, 0), UnexpectedConditionError)

    def test_bookies(self) -> None:
        """Writable and read-only bookies, and those with a cookie."""
        self.do(self.cluster.registration.register_bookie("b1:1", True, BookieServiceInfo()))
        self.assertEqual(self.do(self.admin.writable_bookies()), {"b0:1", "b2:1", "b3:1"})
        self.assertEqual(self.do(self.admin.read_only_bookies()), {"b1:1"})
        self.assertEqual(self.do(self.admin.all_bookies()), frozenset())
        self.assertEqual(self.do(self.admin.service_info("b0:1")).endpoints[0].port, 1)
        self.assertEqual(self.do(self.admin.instance_id()), self.do(self.cluster.registration.instance_id()))

    def test_disk_space(self) -> None:
        """Every writable bookie says its space, or why not."""
        self.bookies["b1:1"].fail("bookie_info", lambda: RequestTimeoutError("no reply in time"))
        space = self.do(self.admin.disk_space())
        self.assertEqual(list(space), list(BOOKIES))
        self.assertEqual(space["b0:1"], DiskSpace(1 << 40, 1 << 39))
        self.assertIsInstance(space["b1:1"], RequestTimeoutError)

    def test_close(self) -> None:
        """Closing it closes the client."""

        async def work() -> None:
            async with self.admin:
                pass

        self.do(work())
        self.error(self.bk.create_ledger(), ClientClosedError)


class CookieTests(ClusterCase):
    """Cookies."""

    cookie = Cookie("c:1", "/j", ("/l",), instance_id="i")

    def setUp(self) -> None:
        """One cookie of a bookie that is down."""
        super().setUp()
        self.admin = BookKeeperAdmin(self.bk)
        self.do(self.admin.create_cookie(self.cookie))

    def test_read(self) -> None:
        """It is read as it was created, once."""
        self.assertEqual(self.do(self.admin.cookie("c:1")).value, self.cookie)
        self.error(self.admin.create_cookie(self.cookie), CookieExistsError)
        self.error(self.admin.cookie("d:1"), CookieNotFoundError)

    def test_update(self) -> None:
        """It is replaced by who knows its version."""
        stored = self.do(self.admin.cookie("c:1"))
        changed = Cookie("c:1", "/j", ("/l", "/m"), instance_id="i")
        self.do(self.admin.update_cookie(changed, stored.version))
        self.assertEqual(self.do(self.admin.cookie("c:1")).value, changed)
        self.error(self.admin.update_cookie(self.cookie, stored.version), MetadataVersionError)
        for version in (-1, "1"):
            self.error(self.admin.update_cookie(self.cookie, version), IncorrectParameterError)  # type: ignore[arg-type]

    def test_delete(self) -> None:
        """It is deleted, but not that of a bookie that runs."""
        self.do(self.admin.delete_cookie("c:1"))
        self.error(self.admin.delete_cookie("c:1"), CookieNotFoundError)
        self.error(self.admin.delete_cookie("b0:1"), IncorrectParameterError)


class RecoverTests(ClusterCase):
    """Ledgers whose writers are gone."""

    def test_recover(self) -> None:
        """A ledger that was left open is closed after its last entry; a closed one stays as it is."""
        admin = BookKeeperAdmin(self.bk)
        writer = self.do(self.bk.create_ledger(password=b"secret"))
        self.do(writer.append(b"last words"))
        for _ in range(2):
            metadata = self.do(admin.recover_ledger(writer.ledger_id))
            self.assertEqual((metadata.state, metadata.last_entry_id), (LedgerState.CLOSED, 0))


class ClusterTests(ClusterCase):
    """Making and unmaking the cluster."""

    def test_context(self) -> None:
        """The object is connected in the context; formatting gives a new instance id."""

        async def work() -> tuple[str, str]:
            async with cluster_admin(self.clock, "memory:test_admin", ClientConfig()) as admin:
                before = await admin.instance_id()
                await admin.format()
                return before, await admin.instance_id()

        before, after = self.do(work())
        self.assertNotEqual(before, after)
