"""Many records by few calls: what is encrypted arrives, and errors come when they should."""

from types import SimpleNamespace
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ..protocol.tls_ends import NOW, missing
from .certificates import Folder, authority, bookie, client


class _RecordsCase(SynchronousTestCase):
    """A bookie and a client after their handshake, in memory."""

    skip = missing()
    is_direct = True
    more: dict[str, Any] = {}

    def setUp(self) -> None:
        from pathlib import Path

        from bookkeeper_twisted.security import records
        from bookkeeper_twisted.security.contexts import ClientTls, ServerTls

        from .handshakes import shaken

        self.records = records
        self.patch(records, "DIRECT", self.is_direct)
        files = Folder(Path(self.mktemp()))
        files.put_pair(bookie(), authority())
        server = ServerTls(files.settings(**self.more), lambda: NOW)
        files = Folder(Path(self.mktemp()))
        files.put_pair(client(), authority())
        ends: Any = shaken(server, ClientTls(files.settings(**self.more), lambda: NOW))
        self.assertEqual(ends.errors, [None, None])
        self.server, self.client = ends.server, ends.client

    def sent(self, pieces: Any) -> bytes:
        """Encrypted bytes of the client."""
        return b"".join(self.client.encrypt(pieces))

    def text(self, size: int) -> bytes:
        return bytes(i * i & 255 for i in range(251)) * (size // 251 + 1)


class RecordsTests(_RecordsCase):
    """Calls of OpenSSL's functions."""

    def test_is_direct(self) -> None:
        """The installed pyOpenSSL has what is needed."""
        self.assertEqual(self.records.missing(), [])

    def test_sizes(self) -> None:
        """Bytes of all sizes arrive as they were, in one or several pieces, in order."""
        record, group = self.records.RECORD, self.records.GROUP
        for sizes in (
            [1], [record - 1], [record], [record + 1], [group], [group + 1], [3 * group + 5], [10] * 50,
            [20, record, 30, 5 * record], [20, group - 20, 7, 2 * group, 9], [group // 2] * 5, [0, 5],
        ):  # fmt: skip
            text = self.text(sum(sizes))[: sum(sizes)]
            pieces, at = [], 0
            for size in sizes:
                pieces.append(memoryview(text)[at : at + size])
                at += size
            self.assertEqual(self.server.decrypt(self.sent(pieces)), text, sizes)
            self.assertFalse(self.server.has_failed)

    def test_received_in_groups(self) -> None:
        """OpenSSL is given a large chunk by parts, as it keeps the memory for the largest one."""
        if not self.records.DIRECT:
            return
        given: list[int] = []
        write = self.records._bio_write

        def counted(bio: Any, data: Any, size: int) -> int:
            given.append(size)
            return int(write(bio, data, size))

        self.patch(self.records, "_bio_write", counted)
        text = self.text(4 * self.records.GROUP)
        encrypted = self.sent([text])
        self.assertEqual(self.server.decrypt(encrypted), text)
        self.assertEqual((max(given), sum(given)), (self.records.GROUP, len(encrypted)))

    def test_nothing(self) -> None:
        """Nothing encrypted is nothing."""
        for pieces in ([], [b""], [b"", b""]):
            self.assertEqual(self.sent(pieces), b"")

    def test_changed_afterwards(self) -> None:
        """The owner of the bytes may change them after the call."""
        for size in (100, self.records.GROUP + 1):
            owned = bytearray(size)
            encrypted = self.client.encrypt([memoryview(owned)])
            owned[:] = b"x" * size
            self.assertEqual(self.server.decrypt(b"".join(encrypted)), bytes(size))

    def test_cut(self) -> None:
        """Wherever the stream is cut, all complete records are given, and nothing of others."""
        encrypted = self.sent([self.text(300)[:100]]) + self.sent([self.text(300)[:200]])
        for step in (1, 7, 100, 150):
            found = [self.server.decrypt(encrypted[at : at + step]) for at in range(0, len(encrypted), step)]
            self.assertEqual(b"".join(found), self.text(300)[:100] + self.text(300)[:200])
            self.assertEqual({len(text) for text in found} - {0, 100, 200, 300}, set())
            encrypted = self.sent([self.text(300)[:100]]) + self.sent([self.text(300)[:200]])

    def test_large_records_cut(self) -> None:
        """Half of a large record waits for the other half, which comes with many more."""
        text = self.text(40 * self.records.RECORD)[: 40 * self.records.RECORD]
        encrypted = self.sent([text])
        cut = self.records.RECORD - 1
        self.assertEqual(self.server.decrypt(encrypted[:cut]) + self.server.decrypt(encrypted[cut:]), text)

    def test_end(self) -> None:
        """The end of TLS leaves what came before it, and is raised by the next read, once more by those after it."""
        from OpenSSL import SSL

        encrypted = self.sent([b"last"])
        self.client.shutdown()
        self.assertEqual(self.server.decrypt(encrypted + self.client.take()), b"last")
        self.assertTrue(self.server.has_failed)
        for _ in range(2):
            self.assertRaises(SSL.ZeroReturnError, self.server.recv, 1)
        self.assertFalse(self.server.has_failed)

    def test_forged(self) -> None:
        """A record that was changed on its way is refused with its reason; what came before it is given."""
        from OpenSSL import SSL

        good, bad = self.sent([b"good"]), bytearray(self.sent([b"bad!"]))
        bad[-1] ^= 1
        self.assertEqual(self.server.decrypt(good + bytes(bad)), b"good")
        error = self.assertRaises(SSL.Error, self.server.recv, 1)
        self.assertIn("bad record mac", str(error))
        self.assertNotEqual(self.server.take(), b"")  # the alert

    def test_after_the_end(self) -> None:
        """What is encrypted after the own end fails, and the error is raised by the next send."""
        from OpenSSL import SSL

        self.client.shutdown()
        self.client.take()
        self.assertEqual(self.sent([b"late"]), b"")
        self.assertTrue(self.client.has_failed)
        self.assertRaises(SSL.Error, self.client.send, b"late")


class CallsTests(RecordsTests):
    """The same by pyOpenSSL's own methods, where its names have changed."""

    is_direct = False


class OlderTests(RecordsTests):
    """The same in TLS 1.2."""

    more = {"protocols": "TLSv1.2"}


class MissingTests(SynchronousTestCase):
    """A version of pyOpenSSL that lacks names."""

    skip = missing()

    def test_logged(self) -> None:
        """One line names all of them."""
        from OpenSSL import SSL
        from twisted.logger import LogLevel, globalLogPublisher

        from bookkeeper_twisted.security import records

        events: list[Any] = []
        observer: Any = events.append
        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)
        other = SimpleNamespace(
            Connection=lambda context, socket: None, Context=SSL.Context, TLS_METHOD=SSL.TLS_METHOD,
            _lib=SimpleNamespace(BIO_read=None),
        )  # fmt: skip
        names = records.missing(other)
        self.assertEqual((names[0], len(names)), ("_ffi", 1 + 6 + 4))
        self.assertEqual([event["log_level"] for event in events], [LogLevel.warn])


class RecordEndsTests(SynchronousTestCase):
    """Where records end in what a peer sends."""

    skip = missing()

    def test_pieces(self) -> None:
        """However the bytes are cut, each given number of records ends where it ends, and not before."""
        from bookkeeper_twisted.security.records import RecordEnds

        bodies = (0, 1, 5, 300, 2, 0, 0, 7, 16_384, 3)
        stream = b"".join(b"\x17\x03\x03" + size.to_bytes(2, "big") + b"\xff" * size for size in bodies)
        marks, at = [0], 0
        for size in bodies:
            at += 5 + size
            marks.append(at)
        for most in (1, 2, 3, 100):
            for chunk in (1, 2, 4, 5, 6, 7, 100, 1 << 15):
                ends, found, begun = RecordEnds(), [], 0
                for first in range(0, len(stream), chunk):
                    data, at = stream[first : first + chunk], 0
                    while at < len(data):
                        end = ends.find(data, at, most)
                        records = sum(1 for mark in marks if first + at <= mark < first + end)
                        self.assertLessEqual(records, most)
                        begun += records
                        at = end
                        found.append(first + end)
                self.assertEqual((begun, found[-1]), (len(bodies), len(stream)))
                if chunk > len(stream):
                    self.assertEqual(found, [*marks[most:-1:most], len(stream)])

    def test_cut(self) -> None:
        """Two chunks, wherever they are cut, end where records end, and at the cut."""
        from bookkeeper_twisted.security.records import RecordEnds

        bodies = (0, 1, 300, 2, 0, 7)
        stream, marks = b"", []
        for size in bodies:
            stream += b"\x17\x03\x03" + size.to_bytes(2, "big") + b"\x01" * size
            marks.append(len(stream))
        for cut in range(1, len(stream)):
            ends, found = RecordEnds(), []
            for first, data in ((0, stream[:cut]), (cut, stream[cut:])):
                at = 0
                while at < len(data):
                    at = ends.find(data, at, 1)
                    found.append(first + at)
            self.assertEqual(found, sorted({*marks, cut}))
