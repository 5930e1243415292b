"""CRC32C by each library that may be there."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted import crc32c

CHECK = 0xE3069283  # of b"123456789", from the definition of the polynomial


class Crc32cTests(SynchronousTestCase):
    """The function in use and the one every installation has."""

    def test_known_value(self) -> None:
        """The check value of the polynomial, for every kind of buffer, by either library."""
        for function in (crc32c.crc32c, crc32c._google()):
            for kind in (bytes, bytearray, memoryview):
                self.assertEqual(function(kind(b"123456789"), 0), CHECK)

    def test_of_bytes(self) -> None:
        """The function without a start value agrees."""
        self.assertEqual(crc32c.crc32c_of_bytes(b"123456789"), CHECK)

    def test_continued(self) -> None:
        """A checksum goes on from that of the bytes before."""
        for function in (crc32c.crc32c, crc32c._google()):
            self.assertEqual(function(b"6789", function(b"12345", 0)), CHECK)
            self.assertEqual(function(b"", 0), 0)

    def test_of_blocks(self) -> None:
        """Each block has the checksum that it has by itself, whether memory is lent to the function in C or copied."""
        data = bytes(range(251)) * 3
        for function in (crc32c._c_function(), None):
            self.patch(crc32c, "_extend", function)
            for size in (1, 100, 251, 752, 753, 10_000):
                blocks = [data[at : at + size] for at in range(0, len(data), size)]
                self.assertEqual(crc32c.crc32c_of_blocks(data, size), list(map(crc32c.crc32c_of_bytes, blocks)))
            self.assertEqual(crc32c.crc32c_of_blocks(b"", 8), [])

    def test_lends(self) -> None:
        """The library that every installation has does have the function in C, so that nothing is copied."""
        self.assertIsNotNone(crc32c._c_function())
