"""The text of a lock."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.metadata.stored_form import stored_text


class StoredTextTests(SynchronousTestCase):
    """:func:`stored_text`."""

    def test_plain(self) -> None:
        """The name of a host is stored as it is."""
        self.assertEqual(stored_text("worker-1.example.org"), "worker-1.example.org")

    def test_one_line(self) -> None:
        """Line breaks and tabs become spaces."""
        self.assertEqual(stored_text("host: no\r\nbookie\thas  it\n"), "host: no bookie has it")

    def test_cut(self) -> None:
        """A text of more than 500 characters is cut, and ends with three dots."""
        self.assertEqual(stored_text("é" * 500), "é" * 500)
        self.assertEqual(stored_text("é" * 501), "é" * 497 + "...")
