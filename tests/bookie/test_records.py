"""Journal records beside entries."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie import records


class RecordTests(SynchronousTestCase):
    """Layouts."""

    def test_bytes(self) -> None:
        """The layouts are Apache's, byte for byte."""
        ledger = "0000000000000005"
        for made, expected in (
            (records.key_record(5, b"key"), "00000017" + ledger + "fffffffffffff000" + "00000003" + b"key".hex()),
            (records.fence_record(5), "00000010" + ledger + "ffffffffffffe000"),
            (
                records.explicit_lac_record(5, b"lac"),
                "00000017" + ledger + "ffffffffffff8000" + "00000003" + b"lac".hex(),
            ),
        ):
            self.assertEqual(made.hex(), expected)

    def test_trailing_bytes(self) -> None:
        """Key and LAC packet are found again; a length that lies is noticed."""
        body = records.key_record(5, b"key")[4:]
        self.assertEqual(records.trailing_bytes(body), b"key")
        self.assertEqual(records.trailing_bytes(body + b"more"), b"key")
        self.assertIsNone(records.trailing_bytes(body[:-1]))
        self.assertIsNone(records.trailing_bytes(body[:18]))
        self.assertIsNone(records.trailing_bytes(body[:16] + b"\xff\xff\xff\xff"))

    def test_packet(self) -> None:
        """A LAC packet names its ledger and LAC; a short one names none."""
        packet = (5).to_bytes(8, "big") + (7).to_bytes(8, "big") + b"digest"
        self.assertEqual((records.ledger_of_packet(packet), records.lac_of_packet(packet)), (5, 7))
        self.assertEqual((records.ledger_of_packet(packet[:15]), records.lac_of_packet(b"")), (-1, -1))
