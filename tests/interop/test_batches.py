"""Appends of one turn to many ledgers, which our client sends together, on Apache's bookies."""

from collections.abc import Sequence

from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper, LedgerWriter
from bookkeeper_twisted.client.production import system_chance
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.model import DigestType

from .actors import Actor, Dialect, JavaActor, Layout, NamedBookies, OurActor, Seen
from .cluster import Cluster, shared_cluster
from .entries import length, payload

_LEDGERS = 200
_TURNS = 5
_SIZES = 4  # ids of one turn, and so sizes
_FOR_JAVA = 10  # ledgers that its client reads


class BatchTests(TestCase):
    """Two hundred ledgers are written in the same turns."""

    timeout = 120

    async def _client(self, cluster: Cluster) -> BookKeeper:
        client = await BookKeeper.connect(
            reactor, cluster.uri, ClientConfig(wire_protocol="v2"), NamedBookies(system_chance())
        )
        self.addCleanup(client.close)
        return client

    async def _write(self, cluster: Cluster, dialect: Dialect, layout: Layout) -> list[tuple[int, int]]:
        """:returns: ledgers, and how many entries each has."""
        client, bookies = await self._client(cluster), {"bookies": ",".join(layout.bookies).encode()}
        writers: Sequence[LedgerWriter] = await gatherResults(
            client.create_ledger(
                layout.ensemble, layout.write_quorum, layout.ack_quorum, dialect.password.encode(), dialect.digest,
                bookies,
            )
            for _ in range(_LEDGERS)
        )  # fmt: skip
        counts = [1 + number % _SIZES for number in range(_LEDGERS)]
        await gatherResults(
            writer.append_many([payload(entry_id) for entry_id in range(count)])
            for writer, count in zip(writers, counts, strict=True)
        )
        for turn in range(_TURNS):
            ids = [count + turn for count in counts]
            appended = [writer.append(payload(entry_id)) for writer, entry_id in zip(writers, ids, strict=True)]
            batches = {batch for writer in writers for batch in writer._quorum.batches}
            self.assertEqual(len(batches), 1)
            self.assertEqual(await gatherResults(appended), ids)
        await gatherResults(writer.close() for writer in writers)
        return [(writer.ledger_id, count + _TURNS) for writer, count in zip(writers, counts, strict=True)]

    async def _verify(self, reader: Actor, dialect: Dialect, ledgers: Sequence[tuple[int, int]]) -> None:
        seen = await gatherResults(
            Deferred.fromCoroutine(reader.read(dialect, ledger_id)) for ledger_id, _ in ledgers
        )  # fmt: skip
        self.assertEqual(seen, [Seen(count - 1, length(count), True, 0) for _, count in ledgers])

    async def _play(self, cluster: Cluster, dialect: Dialect, layout: Layout) -> None:
        ledgers = await self._write(cluster, dialect, layout)
        await self._verify(OurActor(await self._client(cluster)), dialect, ledgers)
        java = JavaActor(cluster.java, "reader", dialect.wire)
        for ledger in ledgers[:_FOR_JAVA]:
            await self._verify(java, dialect, (ledger,))

    async def test_apache(self) -> None:
        """Apache's bookies acknowledge them, and either client reads the closed ledgers."""
        cluster = shared_cluster()
        await self._play(cluster, Dialect(2, DigestType.CRC32C), Layout(tuple(cluster.apache), 3, 3, 2))

    async def test_striped(self) -> None:
        """So do bookies of ours and Apache's that keep some of the entries each, with another digest."""
        cluster = shared_cluster()
        bookies = (cluster.ours[0], *cluster.apache[:2])
        await self._play(cluster, Dialect(2, DigestType.HMAC), Layout(bookies, 3, 2, 2))
