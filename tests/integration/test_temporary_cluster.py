"""Bookies in a temporary folder, as examples and notebooks use them."""

from pathlib import Path
from typing import cast

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted import temporary_cluster
from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.errors import IncorrectParameterError


class TemporaryClusterTests(SynchronousTestCase):
    """``temporary_cluster``."""

    def test_write_and_read(self) -> None:
        """A ledger on all of its bookies can be written and read, and the folder is gone after that."""
        with temporary_cluster(3) as uri:
            directory = Path(uri.removeprefix("sqlite://")).parent
            with BookKeeper.connect(uri, timeout=30) as bk:
                with bk.create_ledger(3, 3, 3) as ledger:
                    ledger.append(b"here")
                self.assertEqual([entry.data for entry in bk.open_ledger(ledger.ledger_id)], [b"here"])
            self.assertTrue(directory.exists())
        self.assertFalse(directory.exists())

    def test_error(self) -> None:
        """An error inside of the context is not lost, and the folder is gone as well."""
        with self.assertRaises(KeyError), temporary_cluster() as uri:
            raise KeyError(uri)
        self.assertFalse(Path(uri.removeprefix("sqlite://")).parent.exists())

    def test_number(self) -> None:
        """A cluster has a bookie at least."""
        for bookies in (0, -1, 1.5):
            with self.assertRaisesRegex(IncorrectParameterError, "the number of bookies"):
                temporary_cluster(cast(int, bookies)).__enter__()
