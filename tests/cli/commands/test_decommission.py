"""``decommissionbookie``."""

from bookkeeper_twisted.errors import MetadataUnavailableError

from ..shell_case import BOOKIES
from .test_autorecovery import AutorecoveryCase

_GONE = BOOKIES[3]


class DecommissionTests(AutorecoveryCase):
    """A bookie that is down, with a cookie and a closed ledger."""

    def setUp(self) -> None:
        super().setUp()
        self.elect()
        self.service_info = self.do(self.cluster.registration.service_info(_GONE))
        self.do(self.cluster.registration.write_cookie(_GONE, b"5\n", None))
        self.do(self.cluster.registration.unregister_bookie(_GONE))

    def test_nothing_there(self) -> None:
        """Without ledgers it ends at once, and the cookie goes; once more succeeds as well, and says that none went."""
        for cookie in (
            "Cookie of the decommissioned bookie is deleted successfully",
            "There is no cookie: the bookie was decommissioned before, or never existed",
        ):
            self.assertEqual(self.shell("decommissionbookie", "-force", "-bookieid", _GONE), 0, self.complaints)
            self.assertPrints(
                "The ledgers stored in the given decommissioning bookie are properly replicated"
                f" {{bookieAddress={_GONE}}}",
                f"{cookie} {{bookieAddress={_GONE}}}",
            )
            self.assertNotIn(_GONE, self.do(self.cluster.registration.all_bookies()))

    def test_what_blocks(self) -> None:
        """Ledgers that nobody copies are listed at the end of the patience, and the cookie stays."""
        self.do(self.cluster.registration.register_bookie(_GONE, False, self.service_info))
        ledger_id = self.written(2, write_quorum=4, ack_quorum=2)
        self.do(self.cluster.registration.unregister_bookie(_GONE))
        self.tick = 1.0
        self.assertEqual(self.shell("decommissionbookie", "-force", "-bookieid", _GONE, "-patience", "20"), 255)
        self.assertPrints(
            "Ledgers remain {count=1, found=1}",
            f"Nothing has changed for a while {{seconds=20, bookieId={_GONE}}}",
            f"Ledger remains {{ledgerId={ledger_id}, reason=not marked yet}}",
        )
        self.assertIn(_GONE, self.do(self.cluster.registration.all_bookies()))

    def test_time_left(self) -> None:
        """What remains is printed with the seconds that it will take at the pace so far."""
        self.do(self.cluster.registration.register_bookie(_GONE, False, self.service_info))
        ids = [self.written(1, write_quorum=4, ack_quorum=2) for _ in range(3)]
        self.do(self.cluster.registration.unregister_bookie(_GONE))
        running = self.begin("decommissionbookie", "-force", "-bookieid", _GONE)
        self.settle()
        for ledger_id in ids:
            self.clock.pump([1.0] * 10)
            self.do(self.cluster.ledgers.remove(ledger_id))
        self.clock.pump([1.0] * 10)
        self.assertEqual(self.successResultOf(running), 0)
        self.assertEqual(
            [text for text in self.printed if text.startswith("Ledgers remain")],
            [
                "Ledgers remain {count=3, found=3}",
                "Ledgers remain {count=2, found=3, secondsLeft=24}",
                "Ledgers remain {count=1, found=3, secondsLeft=11}",
            ],
        )

    def test_store_is_away(self) -> None:
        """While the metadata store is away, one line says that it waits, once for each time; then it continues."""
        self.do(self.cluster.registration.register_bookie(_GONE, False, self.service_info))
        ledger_id = self.written(2, write_quorum=4, ack_quorum=2)
        self.do(self.cluster.registration.unregister_bookie(_GONE))
        running = self.begin("decommissionbookie", "-force", "-bookieid", _GONE)
        self.settle()

        async def away(*_: object) -> object:
            raise MetadataUnavailableError("no connection")

        for _ in range(2):
            patch = self.patch(type(self.cluster.ledgers), "read", away)
            self.clock.pump([1.0] * 20)
            patch.restore()
            self.clock.pump([1.0] * 6)
        self.do(self.cluster.ledgers.remove(ledger_id))
        self.clock.pump([1.0] * 10)
        self.assertEqual(self.successResultOf(running), 0)
        told = ["Ledgers remain {count=1, found=1}", *["Waiting for the metadata store {error=no connection}"] * 2]
        self.assertEqual([each for each in self.printed if each.startswith(("Ledgers", "Waiting"))], told)

    def test_running(self) -> None:
        """A bookie that runs is refused."""
        self.assertEqual(self.shell("decommissionbookie", "-force", "-bookieid", BOOKIES[0]), 255)
        self.assertIn("is running", self.complaints[0])
