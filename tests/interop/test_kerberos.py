"""GSSAPI against a real KDC: either client on either's bookie."""

import contextlib
from collections.abc import Awaitable, Callable
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

from ..kerberos.realm import jaas, shared_realm
from .actors import UNAUTHORIZED, Actor, Dialect, JavaActor, Layout, OurActor, Refused
from .cluster import Cluster, running_cluster
from .java_client import JavaClient, JavaError
from .test_sasl import APACHE, PROPERTY, OnlyNamed
from .test_tls import files

_COUNT = 200
_TRIES = 5
_HOST = "localhost"
"""Where Java knows an address alone, it asks for a ticket for the name that a look-up of the address gives."""


@cache
def values() -> dict[str, object]:
    """The keys of both sides, by their names in Java."""
    return {
        "bookieAuthProviderFactoryClass": APACHE + "SASLBookieAuthProviderFactory",
        "clientAuthProviderFactoryClass": APACHE + "SASLClientProviderFactory", "clientAuthRequired": "true",
        "saslJaasConfig": _jaas(),
    }  # fmt: skip


@cache
def _jaas() -> Path:
    path = files().path / "kerberos.jaas"
    path.write_text(jaas(shared_realm(), _HOST))
    path.chmod(0o600)
    return path


def _login() -> dict[str, object]:
    """The properties of Java's processes."""
    return {PROPERTY: _jaas(), "java.security.krb5.conf": shared_realm().config}


@cache
def _cluster() -> Cluster:
    """A running cluster of one bookie of ours and one of Apache's.

    :raises SkipTest: Java, the jars or a KDC are missing.
    """
    return running_cluster(values(), _login(), 1, _HOST)


async def _tried(work: Callable[[], Awaitable[int]]) -> int:
    """Do some work of clients again if it fails, a few times.

    Apache's client asks for a ticket for the name of its own machine if a connection is established before the field is
    set that it takes the address of the bookie from (``PerChannelBookieClient.channel``).
    """
    for _ in range(_TRIES - 1):
        with contextlib.suppress(JavaError, Refused):
            return await work()
    return await work()


class KerberosTests(TestCase):
    """Who is admitted."""

    timeout = 120

    async def ours(self, wire: int, **more: object) -> OurActor:
        """Our client with some keys."""
        settings = {"wireProtocol": f"v{wire}", "readEntryTimeoutSec": "2", **values(), **more}
        config = ClientConfig.load([Setting(key, str(value), "test") for key, value in settings.items()])
        client = await BookKeeper.connect(reactor, _cluster().uri, config, OnlyNamed(system_chance()))
        self.addCleanup(client.close)
        return OurActor(client)

    async def test_admitted(self) -> None:
        """Each client writes to each bookie what the other reads, in V2 and V3."""
        cluster = _cluster()
        for wire in (2, 3):
            ours: Actor = await self.ours(wire)
            apache: Actor = JavaActor(cluster.java, "writer", wire)
            for bookie in (cluster.ours[0], cluster.apache[0]):
                for writer, reader in ((ours, apache), (apache, ours)):
                    with self.subTest(bookie=bookie, wire=wire, writer=type(writer).__name__):
                        await self._written(writer, reader, wire, bookie)

    async def _written(self, writer: Actor, reader: Actor, wire: int, bookie: str) -> None:
        dialect = Dialect(wire, DigestType.CRC32C)

        async def write_and_read() -> int:
            ledger_id = await writer.create(dialect, Layout((bookie,), 1, 1, 1))
            await writer.append(ledger_id, _COUNT)
            await writer.close(ledger_id)
            return (await reader.read(dialect, ledger_id)).last

        self.assertEqual(await _tried(write_and_read), _COUNT - 1)

    async def test_refused(self) -> None:
        """Neither client is let in with a principal that does not match saslJaasClientAllowedIds."""
        cluster = _cluster()
        client = JavaClient(
            cluster.uri, files().path / "kerberos.log",
            values={**values(), **_login(), "saslJaasClientSectionName": "Stranger"},
        )  # fmt: skip
        self.addCleanup(client.stop)
        reasons = {cluster.ours[0]: "refused the authentication", cluster.apache[0]: "no authentication in time"}
        for bookie, reason in reasons.items():
            layout, dialect = Layout((bookie,), 1, 1, 1), Dialect(3, DigestType.CRC32C)
            ours = await self.ours(3, saslJaasClientSectionName="Stranger")
            ledger_id = await ours.create(dialect, layout)
            with self.assertRaises((BookKeeperError, Refused)) as refused:
                await ours.append(ledger_id, 1)
            self.assertIn(reason, f"{refused.exception} {refused.exception.__cause__}")
        apache = JavaActor(client, "writer", 3)
        ledger_id = await apache.create(dialect, Layout((cluster.ours[0],), 1, 1, 1))
        with self.assertRaises(Refused) as refused_too:
            await apache.append(ledger_id, 1)
        self.assertIn(UNAUTHORIZED, str(refused_too.exception))
        self.assertIn("is not among saslJaasClientAllowedIds", cluster.log())
