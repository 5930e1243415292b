"""GSSAPI against a real KDC: our client on either bookie."""

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
from .actors import Actor, Dialect, Layout, OurActor, Refused
from .cluster import Cluster, running_cluster
from .test_sasl import APACHE, PROPERTY, OnlyNamed
from .test_tls import files

_COUNT = 200
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


def login() -> dict[str, object]:
    """The properties of Java's processes."""
    return {PROPERTY: _jaas(), "java.security.krb5.conf": shared_realm().config}


@cache
def shared_cluster() -> Cluster:
    """A running cluster of one bookie of ours and one of Apache's.

    :raises SkipTest: Java, the jars or a KDC are missing.
    """
    return running_cluster(values(), login(), 1, _HOST)


class KerberosTests(TestCase):
    """Who is admitted."""

    timeout = 120

    async def ours(self, wire: int, **more: object) -> OurActor:
        """Our client with some keys."""
        settings = {"wireProtocol": f"v{wire}", "readEntryTimeoutSec": "2", **values(), **more}
        config = ClientConfig.load([Setting(key, str(value), "test") for key, value in settings.items()])
        client = await BookKeeper.connect(reactor, shared_cluster().uri, config, OnlyNamed(system_chance()))
        self.addCleanup(client.close)
        return OurActor(client)

    async def test_admitted(self) -> None:
        """Our client writes to each bookie and reads it, in V2 and V3.

        Apache's client is tried by :mod:`.kerberos_java_client`, apart: it fails now and then, on each bookie.
        """
        for wire in (2, 3):
            client: Actor = await self.ours(wire)
            for bookie in (shared_cluster().ours[0], shared_cluster().apache[0]):
                with self.subTest(bookie=bookie, wire=wire):
                    await self.written(client, client, wire, bookie)

    async def written(self, writer: Actor, reader: Actor, wire: int, bookie: str) -> None:
        """Write a ledger to a bookie by one client, and read it by another."""
        dialect = Dialect(wire, DigestType.CRC32C)
        ledger_id = await writer.create(dialect, Layout((bookie,), 1, 1, 1))
        await writer.append(ledger_id, _COUNT)
        await writer.close(ledger_id)
        self.assertEqual((await reader.read(dialect, ledger_id)).last, _COUNT - 1)

    async def test_refused(self) -> None:
        """Neither bookie lets our client in with a principal that does not match saslJaasClientAllowedIds."""
        cluster = shared_cluster()
        reasons = {cluster.ours[0]: "refused the authentication", cluster.apache[0]: "no authentication in time"}
        for bookie, reason in reasons.items():
            ours = await self.ours(3, saslJaasClientSectionName="Stranger")
            ledger_id = await ours.create(Dialect(3, DigestType.CRC32C), Layout((bookie,), 1, 1, 1))
            with self.assertRaises((BookKeeperError, Refused)) as refused:
                await ours.append(ledger_id, 1)
            self.assertIn(reason, f"{refused.exception} {refused.exception.__cause__}")
        self.assertIn("is not among saslJaasClientAllowedIds", cluster.log())
