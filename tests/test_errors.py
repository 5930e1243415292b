"""Exceptions and the table of wire statuses."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted import errors
from bookkeeper_twisted.errors import BookKeeperError, DigestMatchError, NoSuchEntryError, Status


class StatusTests(SynchronousTestCase):
    """:class:`Status`."""

    def test_v2_codes(self) -> None:
        """Every status has the code of the older protocol, and comes back from it."""
        codes = {status.name: status.v2 for status in Status}
        self.assertEqual(
            codes,
            {
                "EOK": 0, "ENOLEDGER": 1, "ENOENTRY": 2, "EBADREQ": 100, "EIO": 101, "EUA": 102, "EBADVERSION": 103,
                "EFENCED": 104, "EREADONLY": 105, "ETOOMANYREQUESTS": 106, "EUNKNOWNLEDGERSTATE": 101,
            },
        )  # fmt: skip
        for status in set(Status) - {Status.EUNKNOWNLEDGERSTATE}:
            self.assertIs(Status.from_v2(status.v2), status)

    def test_unknown_ledger_state(self) -> None:
        """107 is understood, though not sent: Java's V2 client would drop the connection (S5)."""
        self.assertIs(Status.from_v2(107), Status.EUNKNOWNLEDGERSTATE)

    def test_unknown_code(self) -> None:
        """A code that is not one of the protocol is an error, not a guess."""
        self.assertRaises(ValueError, Status.from_v2, 3)

    def test_every_failure_has_an_exception(self) -> None:
        """Each status but EOK has one exception, which names it."""
        self.assertEqual(set(errors.ERROR_OF_STATUS), set(Status) - {Status.EOK})
        for status, cls in errors.ERROR_OF_STATUS.items():
            self.assertIs(cls.status, status)


class ExceptionTests(SynchronousTestCase):
    """Texts and codes."""

    def test_bookie_error_text(self) -> None:
        """The text names what is known: condition, ledger, entry, bookie, detail."""
        self.assertEqual(str(NoSuchEntryError()), "no such entry")
        self.assertEqual(str(NoSuchEntryError(3)), "no such entry: ledger 3")
        self.assertEqual(str(NoSuchEntryError(3, 0, "why")), "no such entry: ledger 3 entry 0: why")
        self.assertEqual(str(NoSuchEntryError(3, 0, "why", "b:1")), "no such entry: ledger 3 entry 0, bookie b:1: why")
        self.assertEqual(str(NoSuchEntryError(bookie_id="b:1")), "no such entry: bookie b:1")

    def test_digest_match_error(self) -> None:
        """A bad entry is named in text and fields."""
        error = DigestMatchError(3, 4, "CRC32C digest does not match")
        self.assertEqual((error.ledger_id, error.entry_id), (3, 4))
        self.assertEqual(str(error), "ledger 3 entry 4: CRC32C digest does not match")

    def test_codes_of_the_java_client(self) -> None:
        """Public result codes are those of ``BKException.Code``."""
        for cls, code in (
            (errors.NoSuchLedgerError, -7), (errors.NoSuchEntryError, -13), (errors.LedgerFencedError, -101),
            (errors.UnauthorizedAccessError, -102), (errors.DigestMatchError, -5), (errors.NotEnoughBookiesError, -6),
            (errors.NoSuchLedgerMetadataError, -25), (errors.MetadataVersionError, -17),
            (errors.LedgerExistsError, -20), (errors.MetadataSerializationError, -107),
        ):  # fmt: skip
            self.assertEqual(cls.code, code, cls)

    def test_one_tree(self) -> None:
        """Everything the module defines can be caught as BookKeeperError."""
        classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)]
        self.assertGreater(len(classes), 30)
        for cls in classes:
            self.assertTrue(issubclass(cls, BookKeeperError), cls)

    def test_equal_errors_are_different(self) -> None:
        """Exceptions compare by identity, so that they can be told apart and kept in sets."""
        self.assertEqual(len({NoSuchEntryError(1), NoSuchEntryError(1)}), 2)
