"""``decommissionbookie``."""

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
        """Without ledgers it ends at once, and the cookie goes; once more succeeds as well."""
        for _ in range(2):
            self.assertEqual(self.shell("decommissionbookie", "-bookieid", _GONE), 0, self.complaints)
            self.assertPrints(
                "The ledgers stored in the given decommissioning bookie are properly replicated"
                f" {{bookieAddress={_GONE}}}",
                f"Cookie of the decommissioned bookie is deleted successfully {{bookieAddress={_GONE}}}",
            )
            self.assertNotIn(_GONE, self.do(self.cluster.registration.all_bookies()))

    def test_what_blocks(self) -> None:
        """Ledgers that nobody copies are listed at the end of the patience, and the cookie stays."""
        self.do(self.cluster.registration.register_bookie(_GONE, False, self.service_info))
        ledger_id = self.written(2, write_quorum=4, ack_quorum=2)
        self.do(self.cluster.registration.unregister_bookie(_GONE))
        self.tick = 1.0
        self.assertEqual(self.shell("decommissionbookie", "-bookieid", _GONE, "-patience", "20"), 255)
        self.assertPrints(
            "Ledgers remain {count=1, found=1}",
            f"Nothing has changed for a while {{seconds=20, bookieId={_GONE}}}",
            f"Ledger remains {{ledgerId={ledger_id}, reason=not marked yet}}",
        )
        self.assertIn(_GONE, self.do(self.cluster.registration.all_bookies()))

    def test_running(self) -> None:
        """A bookie that runs is refused."""
        self.assertEqual(self.shell("decommissionbookie", "-bookieid", BOOKIES[0]), 255)
        self.assertIn("is running", self.complaints[0])
