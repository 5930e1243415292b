"""Statuses become errors."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import LedgerFencedError, Status, UnexpectedConditionError
from bookkeeper_twisted.protocol.client.reply_errors import bare_error, error_of


class ReplyErrorTests(SynchronousTestCase):
    """What a caller is told."""

    def test_status(self) -> None:
        """Each status that is not EOK has its error, which names ledger and entry."""
        error = error_of(Status.EFENCED, 7, 3)
        self.assertIsInstance(error, LedgerFencedError)
        self.assertIn("ledger 7", str(error))
        self.assertIn("3", str(error))
        for status in Status:
            if status is not Status.EOK:
                self.assertIs(type(error_of(status, 7)).status, status)  # type: ignore[attr-defined]

    def test_success_without_content(self) -> None:
        """A success that has no content is an error: a request asks for content."""
        self.assertIsInstance(bare_error(Status.EOK), UnexpectedConditionError)
        self.assertIsInstance(bare_error(Status.EFENCED), LedgerFencedError)
