"""Either client on either's bookies with each kind of protection, as one table.

``python -m twisted.trial tests.interop.security_matrix`` prints it; the rooms ``test_tls`` and ``test_sasl`` try parts
of it in more depth.  Each kind has a cluster of two bookies of each side.
"""

from collections.abc import Iterator, Mapping
from functools import cache

import attrs
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Setting
from bookkeeper_twisted.model import DigestType

from .actors import Dialect
from .cluster import Cluster, running_cluster
from .scenarios import SCENARIOS, Stage
from .table import Cell, Table
from .test_matrix import CLIENTS, MatrixCase
from .test_sasl import PROPERTY, jaas
from .test_sasl import values as sasl_and_tls
from .test_tls import values as mutual

_PLAYED = ("write, read", "recover", "fence")
_COUNT = 2


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
    return running_cluster(kind.values, kind.properties, _COUNT)


class SecurityMatrixTests(MatrixCase):
    """Adds, reads, recovery and fences by one client."""

    timeout = 300
    kind: Protection

    def cluster(self) -> Cluster:
        return cluster_of(self.kind)

    def config(self, wire: int) -> ClientConfig:
        keys = {"wireProtocol": f"v{wire}", **self.kind.values}
        return ClientConfig.load([Setting(key, str(value), "test") for key, value in keys.items()])

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


def _rows() -> Iterator[tuple[str, str]]:
    for client in CLIENTS:
        for side in ("ours", "Java", "both"):
            yield client, side


def _test(kind: int, client: str, side: str) -> object:
    async def test(self: SecurityMatrixTests) -> None:
        await self.play_kind(protections()[kind], client, side)

    test.__doc__ = f"{client} on {side}, protection {kind}."
    return test


for _kind in range(len(_KINDS)):
    for _client, _side in _rows():
        _name = f"test_{_kind}_{_client}_{_side}".lower()
        setattr(SecurityMatrixTests, _name, _test(_kind, _client, _side))


class SecurityTableTests(TestCase):
    """After the matrix: trial sorts classes by name."""

    def test_complete(self) -> None:
        """Every cell has passed; prints the table."""
        print(f"\n{_table.text()}")
        cells = [Cell(row, kind.name, name) for row in _rows() for kind in protections() for name in _PLAYED]
        self.assertEqual(_table.missing(cells), [])
