"""Either client on either's bookies, and either autorecovery, with each kind of protection, as one table.

``python -m twisted.trial tests.interop.security_matrix`` prints it; the rooms ``test_tls`` and ``test_sasl`` try parts
of it in more depth.  Each kind has a cluster of two bookies of each side.  The autorecovery of a side is a process with
the keys of its kind; it makes the replicas again that one bookie of each side had.
"""

from collections.abc import Iterator, Mapping
from functools import cache

import attrs
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Setting
from bookkeeper_twisted.model import DigestType

from .actors import Actor, Dialect, JavaActor, Layout, OurActor
from .cluster import Cluster, running_cluster
from .entries import length
from .scenarios import SCENARIOS, Stage
from .table import Cell, Table
from .test_autorecovery import RepairCase, in_time
from .test_matrix import CLIENTS, MatrixCase
from .test_sasl import PROPERTY, jaas
from .test_sasl import values as sasl_and_tls
from .test_tls import values as mutual

_PLAYED = ("write, read", "recover", "fence")
_COUNT = 2
_REPAIR = "replicas of two lost bookies"
_ENTRIES = 40
_OF_RECOVERY = {"openLedgerRereplicationGracePeriod": 500, "rwRereplicateBackoffMs": 200}


@attrs.frozen
class Protection:
    """A kind of protection.

    :ivar values: keys of all processes, by their names in Java.
    :ivar properties: of Java's processes.
    """

    name: str
    wire: int
    values: Mapping[str, object] = attrs.field(factory=dict, hash=False)
    properties: Mapping[str, object] = attrs.field(factory=dict, hash=False)


@cache
def protections() -> tuple[Protection, ...]:
    """All kinds."""
    server = {**mutual(), "tlsClientAuthentication": "false"}
    login = {PROPERTY: jaas()}
    clear = {key: value for key, value in sasl_and_tls().items() if not key.startswith("tls")}
    return (
        Protection("plain", 3), Protection("StartTLS", 3, server), Protection("mutual TLS", 3, mutual()),
        Protection("V2 over TLS", 2, mutual()), Protection("DIGEST-MD5", 3, clear, login),
        Protection("TLS + DIGEST-MD5", 3, sasl_and_tls(), login),
    )  # fmt: skip


_KINDS = ("plain", "StartTLS", "mutual TLS", "V2 over TLS", "DIGEST-MD5", "TLS + DIGEST-MD5")
_table = Table(("client", "bookies"), _KINDS)


@cache
def cluster_of(kind: Protection) -> Cluster:
    """The running cluster of a kind."""
    return running_cluster({"zkTimeout": 4000, **kind.values}, kind.properties, _COUNT)


def client_config(kind: Protection, wire: int) -> ClientConfig:
    """The configuration of our client."""
    keys = {"wireProtocol": f"v{wire}", "zkTimeout": 4000, **kind.values}
    return ClientConfig.load([Setting(key, str(value), "test") for key, value in keys.items()])


class SecurityMatrixTests(MatrixCase):
    """Adds, reads, recovery and fences by one client."""

    timeout = 300
    kind: Protection

    def cluster(self) -> Cluster:
        return cluster_of(self.kind)

    def config(self, wire: int) -> ClientConfig:
        return client_config(self.kind, wire)

    async def play_kind(self, kind: Protection, client: str, side: str) -> None:
        """A cell of the table."""
        self.kind = kind
        cluster = self.cluster()
        bookies = {"ours": cluster.ours, "Java": cluster.apache, "both": [cluster.ours[0], cluster.apache[0]]}[side]
        writer = await self._actor(cluster, client, "writer", kind.wire)
        reader = await self._actor(cluster, client, "reader", kind.wire)
        dialect = Dialect(kind.wire, DigestType.CRC32C)

        async def none() -> int:
            return 0

        stage = Stage(writer, reader, dialect, tuple(bookies), False, none)
        failures = {}
        for name in _PLAYED:
            error = await self._try(SCENARIOS[name], stage)
            _table.record(Cell((client, side), kind.name, name), error is None)
            if error is not None:
                failures[name] = error
        self.assertEqual(failures, {})


class SecurityRepairTests(RepairCase):
    """One bookie of each side is lost, and the autorecovery of one side copies what they had.

    Each ledger has a bookie that is lost and one that stays, of the other side: copies go from ours to Apache's and
    from Apache's to ours.
    """

    timeout = 240

    async def setUp(self) -> None:  # type: ignore[override]
        """The cluster depends on the test."""

    async def repair_kind(self, kind: Protection, side: str) -> None:
        """A cell of the table."""
        cell = Cell((_recovery(side), "both"), kind.name, _REPAIR)
        _table.record(cell, False)
        await self.use(cluster_of(kind), client_config(kind, kind.wire))
        lost = {self.cluster.ours[0], self.cluster.apache[0]}
        # the other tests have left ledgers that only these two bookies have
        for ledger_id in [each async for each in self.driver.ledgers.ledger_ids()]:
            await self.bk.delete_ledger(ledger_id)
        written = await self._write(kind.wire)
        for bookie_id in lost:
            self.cluster.kill(bookie_id)
        wire = {"wireProtocol": f"v{kind.wire}", "useV2WireProtocol": str(kind.wire == 2).lower()}
        name = self.cluster.start_autorecovery(side, {**_OF_RECOVERY, **wire})
        self.addCleanup(self.cluster.kill, name)
        for ledger_id, _ in written:
            await self.without(ledger_id, lost)
        await self.no_marks()
        await self.assert_whole(written)
        _table.record(cell, True)

    async def _write(self, wire: int) -> list[tuple[int, Dialect]]:
        """A closed ledger and an open one, whose writer has died, for each client and each pair of bookies."""
        dialect = Dialect(wire, DigestType.CRC32C)
        clients: tuple[Actor, ...] = (OurActor(self.bk), JavaActor(self.cluster.java, "writer", wire))
        written = []
        for actor in clients:
            for pair in zip(self.cluster.ours, reversed(self.cluster.apache), strict=True):
                for is_open in (False, True):
                    ledger_id = await actor.create(dialect, Layout(pair, 2, 2, 2))
                    await actor.append(ledger_id, _ENTRIES)
                    await (actor.forget if is_open else actor.close)(ledger_id)
                    written.append((ledger_id, dialect))
        return written

    async def assert_whole(self, written: list[tuple[int, Dialect]]) -> None:
        """As the other cases, with our client beside Apache's; each ledger is closed."""
        await super().assert_whole(written)
        for ledger_id, dialect in written:
            seen = await OurActor(self.bk).read(dialect, ledger_id)
            self.assertEqual((seen.last, seen.length, seen.closed), (_ENTRIES - 1, length(_ENTRIES), True))


def _recovery(side: str) -> str:
    return f"autorecovery, {side}"


def _rows() -> Iterator[tuple[str, str]]:
    for client in CLIENTS:
        for side in ("ours", "Java", "both"):
            yield client, side


def _repair_test(kind: int, side: str) -> object:
    async def test(self: SecurityRepairTests) -> None:
        await self.repair_kind(protections()[kind], side)

    test.__doc__ = f"Autorecovery: {side}, protection {kind}."
    return in_time(test)


def _test(kind: int, client: str, side: str) -> object:
    async def test(self: SecurityMatrixTests) -> None:
        await self.play_kind(protections()[kind], client, side)

    test.__doc__ = f"{client} on {side}, protection {kind}."
    return test


for _kind in range(len(_KINDS)):
    for _client, _side in _rows():
        _name = f"test_{_kind}_{_client}_{_side}".lower()
        setattr(SecurityMatrixTests, _name, _test(_kind, _client, _side))
    for _side in CLIENTS:
        setattr(SecurityRepairTests, f"test_{_kind}_{_side}".lower(), _repair_test(_kind, _side))


class SecurityTableTests(TestCase):
    """After the matrix: trial sorts classes by name."""

    def test_complete(self) -> None:
        """Every cell has passed; prints the table."""
        print(f"\n{_table.text()}")
        cells = [Cell(row, kind.name, name) for row in _rows() for kind in protections() for name in _PLAYED]
        cells += [Cell((_recovery(side), "both"), kind.name, _REPAIR) for side in CLIENTS for kind in protections()]
        self.assertEqual(_table.missing(cells), [])
