"""Users and passwords by DIGEST-MD5: either client on either's bookie, in clear and within TLS."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from benchmarks.shared.zookeeper import free_port
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.production import system_chance
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Setting
from bookkeeper_twisted.errors import BookKeeperError, NotEnoughBookiesError
from bookkeeper_twisted.model import DigestType

from ..authentication.sasl.sasl_case import JAAS
from .actors import UNAUTHORIZED, Actor, Dialect, JavaActor, Layout, NamedBookies, OurActor, Refused
from .cluster import Cluster, running_cluster
from .java_client import JavaClient
from .relay import Relay
from .test_tls import files

_COUNT = 200
APACHE = "org.apache.bookkeeper.sasl."
PROPERTY = "java.security.auth.login.config"
_TLS = "tlsProviderFactoryClass"
_RELAYED = "127.0.0.2"
"""The address of a relay, which has the port of its bookie."""

_TOKENS = {
    2: bytes.fromhex("0000000c 02030000 0a047361736c1200"),
    3: bytes.fromhex("00000013 0a06080310051802 b206080a0473 61736c1200"),
}
"""What Apache's client sends in clear behind StartTLS: an empty token in its protocol."""


@cache
def jaas() -> Path:
    """The file that all processes share."""
    path = files().path / "jaas"
    path.write_text(JAAS)
    path.chmod(0o600)
    return path


@cache
def values() -> dict[str, object]:
    """The keys of both sides, by their names in Java; bookies serve clients with TLS and in clear."""
    path = files().path
    return {
        "bookieAuthProviderFactoryClass": APACHE + "SASLBookieAuthProviderFactory",
        "clientAuthProviderFactoryClass": APACHE + "SASLClientProviderFactory", "clientAuthRequired": "true",
        "saslJaasConfig": jaas(), _TLS: "org.apache.bookkeeper.tls.TLSContextFactory",
        "tlsKeyStoreType": "PEM", "tlsKeyStore": path / "key.pem", "tlsCertificatePath": path / "chain.pem",
        "tlsTrustStoreType": "PEM", "tlsTrustStore": path / "trust.pem",
    }  # fmt: skip


def in_clear(**more: object) -> dict[str, object]:
    """The keys of a client without TLS."""
    return {**{key: value for key, value in values().items() if not key.startswith("tls")}, **more}


@cache
def sasl_cluster() -> Cluster:
    """A running cluster of one bookie of ours and one of Apache's.

    :raises SkipTest: Java or the jars are missing.
    """
    return running_cluster(values(), {PROPERTY: jaas()}, 1)


class OnlyNamed(NamedBookies):
    """No other bookie takes the place of one that refuses the client."""

    def replace_bookie(self, *args: Any, **others: Any) -> str:
        """See the class."""
        raise NotEnoughBookiesError("it is not to be replaced")


class _SaslCase(TestCase):
    """Clients of the cluster."""

    timeout = 120

    async def ours(self, wire: int, keys: dict[str, object]) -> OurActor:
        """Our client with some keys."""
        settings = {"wireProtocol": f"v{wire}", "readEntryTimeoutSec": "2", **keys}
        config = ClientConfig.load([Setting(key, str(value), "test") for key, value in settings.items()])
        client = await BookKeeper.connect(reactor, sasl_cluster().uri, config, OnlyNamed(system_chance()))
        self.addCleanup(client.close)
        return OurActor(client)

    def java(self, keys: dict[str, object]) -> JavaClient:
        """Apache's client with some keys."""
        client = JavaClient(sasl_cluster().uri, files().path / "sasl.log", values={**keys, PROPERTY: jaas()})
        self.addCleanup(client.stop)
        return client


def _sides() -> Iterator[tuple[str, str]]:
    """The id of each side's bookie, and whose it is."""
    cluster = sasl_cluster()
    return iter(((cluster.ours[0], "ours"), (cluster.apache[0], "Apache's")))


class SaslTests(_SaslCase):
    """Who is admitted."""

    async def test_admitted(self) -> None:
        """Each client writes to each bookie what the other reads, in V2 and V3, in clear and within TLS."""
        cluster = sasl_cluster()
        clear = self.java(in_clear())
        for keys, java in ((values(), cluster.java), (in_clear(), clear)):
            for wire in (2, 3):
                ours: Actor = await self.ours(wire, keys)
                apache: Actor = JavaActor(java, "writer", wire)
                for bookie, whose in _sides():
                    # within TLS Apache's bookie does not always admit Apache's client
                    pairs = [(ours, ours)] if whose != "ours" and _TLS in keys else [(ours, apache), (apache, ours)]
                    for writer, reader in pairs:
                        with self.subTest(bookie=whose, wire=wire, tls=_TLS in keys, writer=type(writer).__name__):
                            await self._written(writer, reader, wire, bookie)

    async def _written(self, writer: Actor, reader: Actor, wire: int, bookie: str) -> None:
        dialect = Dialect(wire, DigestType.CRC32C)
        ledger_id = await writer.create(dialect, Layout((bookie,), 1, 1, 1))
        await writer.append(ledger_id, _COUNT)
        await writer.close(ledger_id)
        self.assertEqual((await reader.read(dialect, ledger_id)).last, _COUNT - 1)

    async def test_token_by_itself(self) -> None:
        """Our bookie admits Apache's client within TLS if its first token arrives by itself behind StartTLS."""
        cluster, port = sasl_cluster(), free_port()
        relay = Relay(port)
        listening = reactor.listenTCP(port, relay, interface=_RELAYED)  # type: ignore[attr-defined]
        self.addCleanup(listening.stopListening)
        self.addCleanup(relay.end)
        cluster.start_ours(port, "relayed", advertisedAddress=_RELAYED)
        for wire in (2, 3):
            client = self.java(values())
            actor = JavaActor(client, "writer", wire)
            ledger_id = await actor.create(Dialect(wire, DigestType.CRC32C), Layout(("relayed",), 1, 1, 1))
            await actor.append(ledger_id, _COUNT)
            await actor.close(ledger_id)
            self.assertEqual(relay.in_clear, [_TOKENS[wire]])
            relay.in_clear.clear()

    async def test_ours_refused(self) -> None:
        """Our client with a wrong password is refused by both bookies, and says so."""
        refusals = {
            ("ours", 2): "connection lost during the authentication",
            ("ours", 3): "the bookie refused the authentication",
            ("Apache's", 2): "no authentication in time; Apache's bookies do not answer whom they refuse",
            ("Apache's", 3): "no authentication in time; Apache's bookies do not answer whom they refuse",
        }  # fmt: skip
        for wire in (2, 3):
            actor = await self.ours(wire, in_clear(saslJaasClientSectionName="Wrong"))
            for bookie, whose in _sides():
                ledger_id = await actor.create(Dialect(wire, DigestType.CRC32C), Layout((bookie,), 1, 1, 1))
                with self.assertRaises((BookKeeperError, Refused)) as refused:
                    await actor.append(ledger_id, 1)
                error = refused.exception
                self.assertIn(refusals[whose, wire], f"{error} {error.__cause__}")

    async def test_java_refused(self) -> None:
        """Apache's client with a wrong password is refused by our bookie; the log of the bookie has the reason."""
        cluster = sasl_cluster()
        actor = JavaActor(self.java(in_clear(saslJaasClientSectionName="Wrong")), "writer", 3)
        ledger_id = await actor.create(Dialect(3, DigestType.CRC32C), Layout((cluster.ours[0],), 1, 1, 1))
        with self.assertRaises(Refused) as refused:
            await actor.append(ledger_id, 1)
        self.assertIn(UNAUTHORIZED, str(refused.exception))
        self.assertIn("does not exist or has another password", cluster.log())
