"""The progress of commands."""

from ...storage.entries import run
from ..shell_case import BOOKIES
from ..stored_case import StoredCase


class ProgressOfCommandsTests(StoredCase):
    """What is counted, of how many."""

    def test_counts(self) -> None:
        """Ledgers, entries or bytes are counted to the end, with the total where it is known."""
        self.stored([run(1, 0, 3)])
        self.written(3), self.written(2)
        self.do(self.cluster.underreplication.mark(1, (BOOKIES[2],), 5))
        for arguments, expected in (
            (("listledgers",), ("listing", None, 2)), (("listledgers", "-m"), ("listing", None, 2)),
            (("listledgers", "-bookieid", "nobody:1"), ("listing", None, 2)),
            (("readledger", "-l", "0"), ("reading", 3, 3)), (("readledger", "-l", "0", "-fe", "7"), ("reading", 0, 0)),
            (("listunderreplicated", "-c"), ("listing", None, 1)),
            (("recover", "-q", BOOKIES[0]), ("looking for ledgers", None, 2)),
            (("recover", "-dr", BOOKIES[0]), ("looking for ledgers", None, 2)),
            (("activeledgers", "-l", "0"), ("looking up", 1, 1)),
            (("simpletest", "-n", "7"), ("writing", 7, 7)),
        ):  # fmt: skip
            with self.subTest(arguments):
                self.assertEqual(self.shell(*arguments), 0, self.complaints)
                self.assertEqual((self.progress[0], self.forced), (expected, False))
        self.assertEqual(self.shell("readlog", "0"), 0)
        ((_, total, done),) = self.progress
        self.assertEqual(total, self.disk.open("/ledgers/current/0.log").size())
        self.assertLessEqual(done, total or 0)

    def test_format(self) -> None:
        """A bookie's ledgers are looked for among all, whether they name it or not."""
        self.written(1), self.written(1)
        self.assertEqual(self.shell("bookieformat", "-f", "-d", "-progress"), 0, self.complaints)
        self.assertEqual((self.progress, self.forced), ([("looking for ledgers", None, 2)], True))

    def test_forced(self) -> None:
        """It is shown without a terminal if that is wanted, and is not among the rows."""
        self.written(1)
        self.assertEqual(self.rows("listledgers", "-progress"), [{"ledgerId": 0, "metadata": None}])
        self.assertTrue(self.forced)
