"""Blocking reads of real bookies over real sockets."""

import socket
import subprocess
import sys
import time
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking import BookKeeper, ReactorThread
from bookkeeper_twisted.blocking_reads import (
    Address,
    Fragment,
    FragmentReader,
    LastConfirmed,
    ReadLimits,
    SocketPool,
    Timeouts,
    UnclosedLedger,
    dial,
    read_last_add_confirmed,
)
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.embedding import make_bookie, standalone_configs
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, CodecError, RequestTimeoutError
from bookkeeper_twisted.model import DigestType

THREAD = ReactorThread()
PAYLOADS = [b"%d" % n * (n % 50) for n in range(5000)]


class RealBookieTests(SynchronousTestCase):
    """Three bookies in a reactor of their own."""

    def setUp(self) -> None:
        config = BookieConfig(bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=1)
        configs = standalone_configs(config, 3, str(Path(self.mktemp()).absolute()))
        self.bookies = [make_bookie(THREAD.reactor, one) for one in configs]
        for bookie in self.bookies:
            THREAD.wait(bookie.start)
            self.addCleanup(THREAD.wait, bookie.stop)
        self.client = BookKeeper.connect(configs[0].metadata_service_uri, thread=THREAD)
        self.addCleanup(self.client.close)
        self.addresses = {
            f"bookie-{i}": Address(f"bookie-{i}", "127.0.0.1", b.port) for i, b in enumerate(self.bookies)
        }
        self.pool = SocketPool(lambda address, wire: dial(address, wire, Timeouts()), time.monotonic)
        self.addCleanup(self.pool.close)

    def test_what_was_written(self) -> None:
        """Entries written by the client come back, of every digest type, in both protocols, striped or not."""
        for digest_type in DigestType:
            for ensemble, quorum in ((3, 3), (3, 2)):
                with self.client.create_ledger(ensemble, quorum, 2, b"pw", digest_type) as ledger:
                    ledger.append_many(PAYLOADS)
                bookies = self.client.ledger_metadata(ledger.ledger_id).segments[0].bookies
                ensemble_of = tuple(self.addresses[bookie_id] for bookie_id in bookies)
                fragment = Fragment(ledger.ledger_id, 0, len(PAYLOADS) - 1, ensemble_of, quorum)
                digester = Digester(digest_type, b"pw")
                for wire in (2, 3):
                    with self.subTest(digest_type=digest_type, quorum=quorum, wire=wire):
                        reader = FragmentReader(self.pool, fragment, digester, ReadLimits(wire, 20_000))
                        found = [payload for run in reader.runs() for payload in digester.payloads(run)]
                        self.assertEqual(found, PAYLOADS)

    def test_last_add_confirmed(self) -> None:
        """The end of a ledger that is being written is known from its bookies."""
        with self.client.create_ledger(3, 3, 2) as ledger:
            ledger.append_many(PAYLOADS)
            ledger.append(b"last")
            open_ledger = UnclosedLedger(
                ledger.ledger_id, tuple(self.addresses.values()), 3, 2, Digester(DigestType.CRC32C, b"")
            )
            known = read_last_add_confirmed(self.pool, [open_ledger])[ledger.ledger_id]
            assert isinstance(known, LastConfirmed), known
            self.assertEqual(known.last_add_confirmed, len(PAYLOADS) - 1)
            self.assertEqual(known.entry_id, len(PAYLOADS))


class SocketTests(SynchronousTestCase):
    """Connections that go wrong."""

    def setUp(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        self.address = Address("b", "127.0.0.1", self.listener.getsockname()[1])

    def test_silent_bookie(self) -> None:
        """A bookie that does not answer in time is a time-out, not a wait without end."""
        connection = dial(self.address, 2, Timeouts(1, 0.05))
        self.addCleanup(connection.close)
        self.assertRaises(RequestTimeoutError, connection.receive, 1)

    def test_lost_connection(self) -> None:
        """A connection that the bookie closes is an error that names it, also in the middle of a frame."""
        connection = dial(self.address, 2, Timeouts())
        self.addCleanup(connection.close)
        accepted, _ = self.listener.accept()
        accepted.sendall(b"\0\0\0\x08half")
        accepted.close()
        error = self.assertRaises(BookieHandleNotAvailableError, connection.receive_frame)
        self.assertIn("bookie b", str(error))

    def test_frame_over_the_limit(self) -> None:
        """A frame that is longer than the limit is refused before it is received."""
        connection = dial(self.address, 2, Timeouts(), 1024)
        self.addCleanup(connection.close)
        accepted, _ = self.listener.accept()
        self.addCleanup(accepted.close)
        accepted.sendall(b"\0\0\x04\x01")
        self.assertRaises(CodecError, connection.receive_frame)

    def test_nobody_listens(self) -> None:
        """No connection, and no address, are errors that name the bookie."""
        self.listener.close()
        for address in (self.address, Address("b", "", 0)):
            error = self.assertRaises(BookieHandleNotAvailableError, dial, address, 2, Timeouts())
            self.assertIn("bookie b", str(error))

    def test_no_twisted(self) -> None:
        """The package is of use where no Twisted is wanted: importing it loads none of it."""
        check = (
            "import sys, bookkeeper_twisted.blocking_reads; "
            "sys.exit(any(n.partition('.')[0] == 'twisted' for n in sys.modules))"
        )
        self.assertEqual(subprocess.run([sys.executable, "-c", check]).returncode, 0)
