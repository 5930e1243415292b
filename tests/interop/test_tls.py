"""Either client with TLS and a certificate, on either's bookies and on both, which answer nothing without."""

import atexit
import itertools
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.production import system_chance
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Setting
from bookkeeper_twisted.errors import BookKeeperError
from bookkeeper_twisted.model import DigestType

from ..security.certificates import Folder, authority, issued
from .actors import Dialect, JavaActor, Layout, NamedBookies, OurActor, Refused
from .cluster import Cluster, running_cluster
from .java_client import JavaClient, JavaError
from .scenarios import SCENARIOS
from .table import Cell, Table
from .test_matrix import CLIENTS, WIRES, MatrixCase, has_cell

HOST = "127.0.0.1"
_table = Table(("writer", "reader", "bookies", "wire"), tuple(SCENARIOS))


@cache
def files() -> Folder:
    """A key for all bookies and clients, and the authority that they trust."""
    directory = tempfile.mkdtemp(prefix="bookkeeper-twisted-tls-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    folder = Folder(Path(directory, "all"))
    folder.put_pair(issued("anybody", authority(), (HOST,), units=["0:writers"]), authority())
    return folder


@cache
def values() -> dict[str, object]:
    """The keys of TLS, which are the same on both sides."""
    path = files().path
    return {
        "tlsProviderFactoryClass": "org.apache.bookkeeper.tls.TLSContextFactory", "tlsClientAuthentication": "true",
        "tlsRequired": "true",  # of ours; Apache's do not know it
        "tlsKeyStoreType": "PEM", "tlsKeyStore": path / "key.pem", "tlsCertificatePath": path / "chain.pem",
        "tlsTrustStoreType": "PEM", "tlsTrustStore": path / "trust.pem",
    }  # fmt: skip


@cache
def tls_cluster() -> Cluster:
    """The running cluster, with TLS.

    :raises SkipTest: Java or the jars are missing.
    """
    return running_cluster(values())


class TlsMatrixTests(MatrixCase):
    """Rows of the matrix, all scenarios at once."""

    table = _table

    def cluster(self) -> Cluster:
        return tls_cluster()

    def config(self, wire: int) -> ClientConfig:
        keys = {"wireProtocol": f"v{wire}", **values()}
        return ClientConfig.load([Setting(key, str(value), "test") for key, value in keys.items()])


def _test(writer: str, reader: str, bookies: str, wire: int) -> object:
    async def test(self: TlsMatrixTests) -> None:
        await self.play(writer, reader, bookies, wire, DigestType.CRC32C)

    test.__doc__ = f"{writer} writes, {reader} reads; bookies: {bookies}; V{wire} within TLS."
    return test


def _rows() -> Iterator[tuple[str, str, str, int]]:
    """Every pair of clients on a mixed cluster, and each client on the other's bookies."""
    for wire in WIRES:
        for writer, reader in itertools.product(CLIENTS, CLIENTS):
            yield writer, reader, "2 ours, 1 Java", wire
        yield "Java", "Java", "ours", wire
        yield "ours", "ours", "Java", wire


for _row in _rows():
    _words = "_".join(map(str, _row)).replace(", ", "_").replace(" ", "_")
    setattr(TlsMatrixTests, f"test_{_words.lower()}", _test(*_row))


class TlsTableTests(TestCase):
    """After the matrix: trial sorts classes by name."""

    def test_complete(self) -> None:
        """Every cell was tried and has passed; prints the table."""
        tls_cluster()
        print(f"\n{_table.text()}")
        expected = [
            Cell((writer, reader, bookies, f"V{wire}"), column, DigestType.CRC32C.name)
            for writer, reader, bookies, wire in _rows()
            for column in SCENARIOS
            if has_cell(reader, wire, column)
        ]
        self.assertEqual(_table.missing(expected), [])


class TlsRefusalTests(TestCase):
    """Clients that must get nothing from the bookies of either side."""

    timeout = 120

    async def test_java_in_clear(self) -> None:
        """Apache's client without TLS is refused by ours."""
        cluster = tls_cluster()
        client = JavaClient(cluster.uri, files().path / "clear.log")
        self.addCleanup(client.stop)
        actor = JavaActor(client, "writer", 3)
        dialect = Dialect(3, DigestType.CRC32C)
        ledger_id = await actor.create(dialect, Layout(tuple(cluster.ours), 3, 3, 2))
        with self.assertRaises((JavaError, Refused)):
            await actor.append(ledger_id, 1)

    async def test_no_certificate(self) -> None:
        """Our client without a certificate is refused by both."""
        cluster = tls_cluster()
        keys = {"wireProtocol": "v3", **values(), "tlsClientAuthentication": "false"}
        config = ClientConfig.load([Setting(key, str(value), "test") for key, value in keys.items()])
        client = await BookKeeper.connect(reactor, cluster.uri, config, NamedBookies(system_chance()))
        self.addCleanup(client.close)
        for bookies in (cluster.ours, cluster.apache):
            actor = OurActor(client)
            ledger_id = await actor.create(Dialect(3, DigestType.CRC32C), Layout(tuple(bookies), 3, 3, 2))
            with self.assertRaises(BookKeeperError):
                await actor.append(ledger_id, 1)
