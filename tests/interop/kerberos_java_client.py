"""Apache's client with Kerberos, on either's bookie: ``python -m twisted.trial tests.interop.kerberos_java_client``.

It is no part of the whole run, because Apache's client fails now and then: if a connection is established before the
field is set that it takes the address of the bookie from (``PerChannelBookieClient.channel``), it asks for a ticket for
the name of its own machine.
"""

from bookkeeper_twisted.model import DigestType

from .actors import UNAUTHORIZED, Actor, Dialect, JavaActor, Layout, Refused
from .java_client import JavaClient
from .test_kerberos import KerberosTests, login, shared_cluster, values
from .test_tls import files

__all__ = ["JavaClientTests"]


class JavaClientTests(KerberosTests):
    """What either client writes, the other reads."""

    async def test_admitted(self) -> None:
        """Each client writes to each bookie what the other reads, in V2 and V3."""
        cluster = shared_cluster()
        for wire in (2, 3):
            ours: Actor = await self.ours(wire)
            apache: Actor = JavaActor(cluster.java, "writer", wire)
            for bookie in (cluster.ours[0], cluster.apache[0]):
                for writer, reader in ((ours, apache), (apache, ours)):
                    with self.subTest(bookie=bookie, wire=wire, writer=type(writer).__name__):
                        await self.written(writer, reader, wire, bookie)

    async def test_refused(self) -> None:
        """Our bookie does not let it in with a principal that does not match saslJaasClientAllowedIds."""
        cluster = shared_cluster()
        client = JavaClient(
            cluster.uri, files().path / "kerberos.log",
            values={**values(), **login(), "saslJaasClientSectionName": "Stranger"},
        )  # fmt: skip
        self.addCleanup(client.stop)
        apache = JavaActor(client, "writer", 3)
        ledger_id = await apache.create(Dialect(3, DigestType.CRC32C), Layout((cluster.ours[0],), 1, 1, 1))
        with self.assertRaises(Refused) as refused:
            await apache.append(ledger_id, 1)
        self.assertIn(UNAUTHORIZED, str(refused.exception))
        self.assertIn("is not among saslJaasClientAllowedIds", cluster.log())


del KerberosTests  # so that its tests are not run a second time here
