"""Apache BookKeeper's shell works on our bookies as on its own."""

from twisted.internet import reactor
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.production import system_chance
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.model import DigestType

from .actors import Dialect, Layout, NamedBookies, OurActor
from .cluster import Cluster, shared_cluster
from .shell import run_shell

_DIALECT = Dialect(3, DigestType.CRC32C)
_COUNT = 5


class ShellTests(TestCase):
    """Each command is a process of its own; :attr:`ledger_id` is a ledger of our client on our bookies, left open."""

    timeout = 120
    cluster: Cluster

    async def setUp(self) -> None:  # type: ignore[override]
        self.cluster = shared_cluster()
        client = await BookKeeper.connect(reactor, self.cluster.uri, ClientConfig(), NamedBookies(system_chance()))
        self.addCleanup(client.close)
        self.ledgers, self.client = client, OurActor(client)
        self.bookies = tuple(self.cluster.ours)
        self.ledger_id = await self.client.create(_DIALECT, Layout(self.bookies, len(self.bookies), 3, 2))
        await self.client.append(self.ledger_id, _COUNT)

    async def shell(self, *arguments: object) -> str:
        said = await deferToThread(run_shell, self.cluster.conf, *arguments)
        self.assertEqual(said.status, 0, said.errors)
        return str(said.output)

    async def test_listbookies(self) -> None:
        """``listbookies -rw`` names all bookies."""
        output = await self.shell("listbookies", "-rw")
        for bookie in (*self.cluster.ours, *self.cluster.apache):
            self.assertIn(bookie, output)

    async def test_simpletest(self) -> None:
        """``simpletest`` writes and reads a ledger."""
        output = await self.shell("simpletest", "-ensemble", 3, "-writeQuorum", 3, "-ackQuorum", 2, "-numEntries", 100)
        self.assertIn("100 entries written to ledger", output)

    async def test_bookiesanity(self) -> None:
        """``bookiesanity`` writes to and reads from our bookie alone."""
        self.assertIn("Bookie sanity test succeeded", await self.shell("bookiesanity"))

    async def test_ledgermetadata(self) -> None:
        """``ledgermetadata`` knows the state and the bookies of our ledger."""
        output = await self.shell("ledgermetadata", "-ledgerid", self.ledger_id)
        for text in ("state=OPEN", "digestType=CRC32C", *self.bookies):
            self.assertIn(text, output)

    async def test_readledger(self) -> None:
        """``readledger`` recovers and reads what we wrote, from the cluster and from one bookie."""
        output = await self.shell("readledger", "-force-recovery", "-ledgerid", self.ledger_id)
        for entry_id in range(_COUNT):
            self.assertIn(f"entryId={entry_id}", output)
        # of one bookie the command leaves out the last entry that it is asked for
        where = ("-bookie", self.bookies[0], "-firstentryid", 0, "-lastentryid", 1)
        self.assertIn("entryId=0", await self.shell("readledger", "-ledgerid", self.ledger_id, *where))

    async def test_recover(self) -> None:
        """``recover`` closes the ledger and copies what one of our bookies has to another bookie."""
        lost = self.bookies[0]
        await self.shell("recover", "-force", "-ledger", self.ledger_id, lost)
        found = await self.client.metadata(self.ledger_id)
        self.assertEqual((found.state, found.last), ("CLOSED", _COUNT - 1))
        ensembles = (await self.ledgers.ledger_metadata(self.ledger_id)).segments
        self.assertFalse([segment for segment in ensembles if lost in segment.bookies])
        seen = await self.client.read(_DIALECT, self.ledger_id)
        self.assertEqual((seen.last, seen.closed), (_COUNT - 1, True))
