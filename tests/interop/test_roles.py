"""Roles in certificates, as Apache's BookieAuthZFactory has them: either client on either's bookies."""

from collections.abc import Mapping
from functools import cache

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.production import system_chance
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Setting
from bookkeeper_twisted.errors import BookKeeperError
from bookkeeper_twisted.model import DigestType

from ..security.certificates import Folder, authority, issued
from .actors import Actor, Dialect, JavaActor, Layout, NamedBookies, OurActor, Refused
from .cluster import Cluster, running_cluster
from .java_client import JavaClient, JavaError
from .test_tls import HOST, files, values

_FEW = 20


@cache
def stranger() -> Mapping[str, object]:
    """The keys of a client whose first role is another one."""
    folder = Folder(files().path / "stranger")
    folder.put_pair(issued("a stranger", authority(), (HOST,), units=["0:readers,writers"]), authority())
    names = {"tlsKeyStore": "key.pem", "tlsCertificatePath": "chain.pem", "tlsTrustStore": "trust.pem"}
    return {**values(), **{key: folder.path / name for key, name in names.items()}}


@cache
def role_cluster() -> Cluster:
    """The running cluster, whose bookies let in certificates with the role ``writers``, as the common one has.

    :raises SkipTest: Java or the jars are missing.
    """
    provider = "org.apache.bookkeeper.tls.BookieAuthZFactory"
    of_bookies = {"bookieAuthProviderFactoryClass": provider, "authorizedRoles": "writers,others"}
    return running_cluster({**values(), **of_bookies})


class RoleTests(TestCase):
    """Clients with and without the role."""

    timeout = 240

    def sides(self) -> Mapping[str, list[str]]:
        """The bookies of either side."""
        cluster = role_cluster()
        return {"ours": cluster.ours, "Apache's": cluster.apache}

    async def ours(self, wire: int, keys: Mapping[str, object]) -> OurActor:
        """Our client."""
        given = {"wireProtocol": f"v{wire}", **keys}
        config = ClientConfig.load([Setting(key, str(value), "test") for key, value in given.items()])
        client = await BookKeeper.connect(reactor, role_cluster().uri, config, NamedBookies(system_chance()))
        self.addCleanup(client.close)
        return OurActor(client)

    def java(self, wire: int, keys: Mapping[str, object]) -> JavaActor:
        """Apache's client."""
        client = JavaClient(role_cluster().uri, files().path / f"role-{wire}.log", values=keys)
        self.addCleanup(client.stop)
        return JavaActor(client, "writer", wire)

    async def write_and_read(self, actor: Actor, wire: int) -> None:
        """A client writes and reads on the bookies of each side."""
        for side, bookies in self.sides().items():
            with self.subTest(bookies=side, wire=wire):
                dialect = Dialect(wire, DigestType.CRC32C)
                ledger_id = await actor.create(dialect, Layout(tuple(bookies), 3, 3, 2))
                await actor.append(ledger_id, _FEW)
                await actor.close(ledger_id)
                self.assertEqual((await actor.read(dialect, ledger_id)).last, _FEW - 1)

    async def refusals(self, actor: Actor, wire: int) -> dict[str, Exception]:
        """A client can append nothing on the bookies of either side; returns the errors."""
        errors: dict[str, Exception] = {}
        for side, bookies in self.sides().items():
            ledger_id = await actor.create(Dialect(wire, DigestType.CRC32C), Layout(tuple(bookies), 3, 3, 2))
            try:
                await actor.append(ledger_id, 1)
            except (Refused, JavaError, BookKeeperError) as error:
                errors[side] = error
        return errors

    async def test_ours(self) -> None:
        """Our client with the role, in V2 and V3; it names the plugin, which sends nothing."""
        for wire in (2, 3):
            keys = {**values(), "clientAuthProviderFactoryClass": "BookieAuthZFactory"}
            await self.write_and_read(await self.ours(wire, keys), wire)

    async def test_java(self) -> None:
        """Apache's client with the role, in V2 and V3."""
        for wire in (2, 3):
            await self.write_and_read(self.java(wire, values()), wire)

    async def test_ours_refused(self) -> None:
        """Our client with another role in front is refused by both, and says why."""
        for wire in (2, 3):
            errors = await self.refusals(await self.ours(wire, stranger()), wire)
            self.assertEqual({side: str(error) for side, error in errors.items()},
                             dict.fromkeys(self.sides(), "unauthorized"))  # fmt: skip

    async def test_java_refused(self) -> None:
        """So is Apache's, by ours as by its own."""
        errors = await self.refusals(self.java(3, stranger()), 3)
        self.assertEqual({side: str(error) for side, error in errors.items()},
                         dict.fromkeys(self.sides(), "unauthorized"))  # fmt: skip
