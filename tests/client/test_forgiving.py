"""What a user gets wrong first, and what is seen of objects in a log or a debugger."""

from typing import Any

from bookkeeper_twisted.errors import IncorrectParameterError, LedgerFencedError
from bookkeeper_twisted.model import DigestType, digest_type_of

from .cluster_case import ClusterCase


class ParameterTests(ClusterCase):
    """Parameters of another type than they should be."""

    def test_digest_by_name(self) -> None:
        """The name of a digest type will do, Apache's name of it as well."""
        ledger: Any = self.do(self.bk.create_ledger(digest_type="CRC32"))
        self.assertIs(ledger.metadata.digest_type, DigestType.CRC32)
        self.assertIs(digest_type_of("MAC"), DigestType.HMAC)
        self.assertIs(digest_type_of(DigestType.DUMMY), DigestType.DUMMY)

    def test_no_digest(self) -> None:
        """What is no digest type is refused with those there are, and no ledger is made."""
        for wrong in ("CRC64", 3, None):
            error = self.error(self.bk.create_ledger(digest_type=wrong), IncorrectParameterError)  # type: ignore[arg-type]
            wanted = "a DigestType or one of MAC, CRC32, HMAC, CRC32C, DUMMY is wanted"
            self.assertEqual(str(error), f"digest_type: {wrong!r} was given, {wanted}")

    def test_password_as_text(self) -> None:
        """A password that is text is refused, without being shown."""
        wrong: Any = "secret"
        for call in (self.bk.create_ledger, self.bk.create_ledger_adv):
            error = self.error(call(password=wrong), IncorrectParameterError)
            self.assertEqual(str(error), "password: str was given, bytes is wanted")
        ledger = self.do(self.bk.create_ledger())
        error = self.error(self.bk.open_ledger(ledger.ledger_id, wrong), IncorrectParameterError)
        self.assertEqual(str(error), "password: str was given, bytes is wanted")


class ReprTests(ClusterCase):
    """``repr`` of what an application holds."""

    def test_client(self) -> None:
        """A client says whether it is open, and how many bookies it sees."""
        self.do(self.bk.create_ledger())
        self.assertEqual(repr(self.bk), "<BookKeeper open, 4 writable bookies>")
        self.do(self.bk.close())
        self.assertEqual(repr(self.bk), "<BookKeeper closed: close() was called>")

    def test_writer(self) -> None:
        """A writer says which ledger it writes, its state and how far it came; never the password."""
        ledger = self.do(self.bk.create_ledger(password=b"secret"))
        self.do(ledger.append(b"a"))
        self.assertEqual(repr(ledger), "<LedgerWriter ledger 0 open, LAC 0>")
        self.do(ledger.close())
        self.assertEqual(repr(ledger), "<LedgerWriter ledger 0 closed, LAC 0, ended: close() was called>")
        fenced = self.do(self.bk.create_ledger_adv(7))
        self.do(self.bk.open_ledger(7))
        error = self.error(fenced.write(0, b"x"), LedgerFencedError)
        self.assertEqual(repr(fenced), f"<AdvLedgerWriter ledger 7 failed, LAC -1, ended: LedgerFencedError: {error}>")

    def test_reader(self) -> None:
        """A reader says which ledger it reads, its state and how far it came."""
        ledger = self.do(self.bk.create_ledger(password=b"secret"))
        self.do(ledger.append(b"a"))
        reader = self.do(self.bk.open_ledger(ledger.ledger_id, b"secret", recover=False))
        self.assertEqual(repr(reader), "<LedgerReader ledger 0 open, LAC -1>")
        self.do(ledger.close())
        self.assertEqual(repr(reader), "<LedgerReader ledger 0 closed, LAC 0>")
        self.do(reader.close())
        self.assertEqual(repr(reader), "<LedgerReader ledger 0 closed, LAC 0, ended: close() was called>")
