"""Finding out how far open ledgers came."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking_reads import LastConfirmed, UnclosedLedger, read_last_add_confirmed
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.errors import ReadError
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.sealing import sealed

from .made_up import DIGESTER, LEDGER, Cluster


class ConfirmedTests(SynchronousTestCase):
    """Three bookies, write quorum 3, ack quorum 2: two of them have to answer."""

    def setUp(self) -> None:
        self.cluster = Cluster.of(3)

    def entry(self, entry_id: int, lac: int, digester: Digester = DIGESTER) -> dict[int, bytes]:
        """One entry of ten bytes, with the LAC that its writer knew."""
        return {entry_id: sealed(digester, LEDGER, entry_id, lac, 10 * entry_id, [b"0123456789"]).entry(entry_id)}

    def ask(self) -> object:
        """The outcome."""
        ledger = UnclosedLedger(LEDGER, self.cluster.addresses, 3, 2, DIGESTER)
        return read_last_add_confirmed(self.cluster.pool, [ledger])[LEDGER]

    def test_highest(self) -> None:
        """The highest LAC counts, be it of an entry or explicit, and the length goes with the newest entry."""
        self.cluster.bookies[0].entries = self.entry(5, 4)
        self.cluster.bookies[1].entries = self.entry(7, 6)
        self.assertEqual(self.ask(), LastConfirmed(6, 7, 80))
        self.cluster.bookies[0].lac_packet = DIGESTER.seal_lac(LEDGER, 7)
        self.assertEqual(self.ask(), LastConfirmed(7, 7, 80))

    def test_nothing_written(self) -> None:
        """Bookies that do not know the ledger have answered as well."""
        self.assertEqual(self.ask(), LastConfirmed())

    def test_coverage(self) -> None:
        """One bookie of three may fail; with two of them down there is an error that names them."""
        self.cluster.bookies[0].down = True
        self.cluster.bookies[2].entries = self.entry(1, 0)
        self.assertEqual(self.ask(), LastConfirmed(0, 1, 20))
        self.cluster.bookies[1].silent = True
        outcome = self.ask()
        self.assertIsInstance(outcome, ReadError)
        self.assertRegex(str(outcome), "ledger 7: .*b0.*b1|ledger 7: .*b1.*b0")

    def test_damaged_answers_do_not_count(self) -> None:
        """An answer whose digest is wrong leaves the ledger uncovered."""
        wrong = Digester(DigestType.HMAC, b"other")
        for bookie in self.cluster.bookies[:2]:
            bookie.entries = self.entry(1, 0, wrong)
        self.assertIsInstance(self.ask(), ReadError)

    def test_connections_lost_while_idle(self) -> None:
        """A request is sent again over a new connection where the bookie closed the old one."""
        self.ask()
        self.cluster.lose_idle_connections()
        self.assertEqual(self.ask(), LastConfirmed())
