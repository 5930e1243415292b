"""The blocking client on real bookies in its own reactor thread."""

import os
import signal
import threading
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking import BookKeeper, ReactorThread
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.embedding import make_bookie, standalone_configs
from bookkeeper_twisted.errors import (
    ClientClosedError,
    IllegalOperationError,
    IncorrectParameterError,
    InvalidMetadataUriError,
    LedgerClosedError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
)
from bookkeeper_twisted.model import LedgerState

from .bounds import in_thread, join

THREAD = ReactorThread()
"""One for all tests, as in a process of its own."""


def _refusals(bk: BookKeeper, thread: ReactorThread) -> Iterator[str]:
    """What a client, an iteration and a new client say in a process that has only a copy of their thread."""
    for call in (
        bk.create_ledger, lambda: list(bk.list_ledgers()), lambda: BookKeeper.connect("memory:", thread=thread),
        partial(thread.reactor.callFromThread, print),
    ):  # fmt: skip
        try:
            call()
        except Exception as error:
            yield f"{type(error).__name__}: {error}"


def _fork() -> int:
    """As :func:`os.fork`; the child ends by itself if it hangs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # this process has threads
        pid = os.fork()
    if not pid:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(5)
    return pid


class BlockingTests(SynchronousTestCase):
    """One bookie."""

    def setUp(self) -> None:
        """Starts the bookie and connects."""
        config = BookieConfig(bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=1)
        (config,) = standalone_configs(config, 1, str(Path(self.mktemp()).absolute()))
        self.bookie = make_bookie(THREAD.reactor, config)
        THREAD.wait(self.bookie.start)
        self.addCleanup(THREAD.wait, self.bookie.stop)
        self.bk = BookKeeper.connect(config.metadata_service_uri, thread=THREAD)
        self.addCleanup(self.bk.close)

    def test_write_and_read(self) -> None:
        """Entries are written, read in three ways, and iterated over."""
        with self.bk.create_ledger(1, 1, 1, b"secret") as ledger:
            self.assertEqual(ledger.append(b"a"), 0)
            self.assertEqual(ledger.append_many([b"%d" % n for n in range(3000)]), (1, 3000))
            self.assertEqual(ledger.last_add_confirmed, 3000)
        with self.bk.open_ledger(ledger.ledger_id, b"secret") as reader:
            self.assertEqual(reader.read_entry(0).data, b"a")
            self.assertEqual([e.data for e in reader.read(1, 2)], [b"0", b"1"])
            self.assertEqual([e.entry_id for e in reader], list(range(3001)))
            self.assertEqual([e.entry_id for e in reader.entries(2990, 2995)], list(range(2990, 2996)))
            self.assertEqual((reader.last_add_confirmed, reader.length), (3000, 1 + 10 + 180 + 2700 + 8000))
        self.assertRaises(LedgerClosedError, reader.read, 0, 0)

    def test_appender(self) -> None:
        """Threads append, and wait for what they have appended together."""
        with self.bk.create_ledger(1, 1, 1) as ledger:
            appender = ledger.appender()
            join(*[in_thread(lambda: [appender.offer(b"x") for _ in range(1000)]) for _ in range(2)])
            appender.flush().result(20)
            self.assertEqual(ledger.last_add_confirmed, 1999)
            self.assertEqual(ledger.append(b"y"), 2000)

    def test_ledgers(self) -> None:
        """Ledgers are listed, described and deleted."""
        for _ in range(3):
            self.bk.create_ledger(1, 1, 1).close()
        ids = list(self.bk.list_ledgers())
        self.assertEqual(len(ids), 3)
        self.assertIs(self.bk.ledger_metadata(ids[0]).state, LedgerState.CLOSED)
        self.bk.delete_ledger(ids[0])
        self.assertEqual(list(self.bk.list_ledgers()), ids[1:])

    def test_errors(self) -> None:
        """Errors are raised in the caller, as the client made them."""
        self.assertRaises(NoSuchLedgerMetadataError, self.bk.open_ledger, 99)
        self.assertRaises(NotEnoughBookiesError, self.bk.create_ledger)
        self.assertRaises(InvalidMetadataUriError, BookKeeper.connect, "nothing://x", thread=THREAD)

    def test_timeout(self) -> None:
        """An append behind a gap waits no longer than it may, and is written once the gap is filled."""
        with self.bk.create_ledger_adv(None, 1, 1, 1) as ledger:
            self.assertRaises(TimeoutError, ledger.write, 1, b"one", timeout=0.05)
            self.assertEqual(ledger.write(0, b"zero", timeout=5), 0)
        with self.bk.open_ledger(ledger.ledger_id) as reader:
            self.assertEqual([e.data for e in reader], [b"zero", b"one"])

    def test_tail(self) -> None:
        """A tail gives what another thread appends; without news it ends with the timeout."""
        ledger = self.bk.create_ledger(1, 1, 1)
        reader = self.bk.open_ledger(ledger.ledger_id, recover=False)
        self.assertRaises(TimeoutError, next, reader.tail(timeout=0.05))

        def write() -> None:
            with ledger:
                for n in range(3):
                    ledger.append(b"%d" % n)

        writer = in_thread(write)
        self.assertEqual([e.data for e in reader.tail(timeout=10)], [b"0", b"1", b"2"])
        join(writer)

    def test_tail_by_batches(self) -> None:
        """A tail waits for another thread once for each batch that arrives, not for each entry."""
        with self.bk.create_ledger(1, 1, 1) as ledger:
            ledger.append_many([b"entry"] * 500)
        reader, waits = self.bk.open_ledger(ledger.ledger_id), list[Any]()
        wait = reader._wait

        def counted(*arguments: Any) -> Any:
            waits.append(arguments)
            return wait(*arguments)

        reader._wait = counted  # type: ignore[assignment]
        self.assertEqual([entry.entry_id for entry in reader.tail(timeout=10)], list(range(500)))
        self.assertLessEqual(len(waits), 5)
        self.assertEqual(sum(map(len, reader.tail_batches(100, timeout=10))), 400)
        self.assertRaises(IncorrectParameterError, reader.tail, -1)

    def test_error_in_the_body(self) -> None:
        """An error in the body of a writer is what is seen; the ledger is closed all the same."""

        def write() -> None:
            with self.bk.create_ledger(1, 1, 1) as ledger:
                ledger.append(b"a")
                raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, write)
        (ledger_id,) = self.bk.list_ledgers()
        self.assertIs(self.bk.ledger_metadata(ledger_id).state, LedgerState.CLOSED)

    def test_threads(self) -> None:
        """Several threads append to one ledger, each in its own order."""

        def append(name: bytes) -> None:
            for n in range(30):
                ledger.append(name + b"%02d" % n)

        ledger = self.bk.create_ledger(1, 1, 1)
        join(*[in_thread(partial(append, name)) for name in (b"a", b"b", b"c")])
        ledger.close()
        data = [entry.data for entry in self.bk.open_ledger(ledger.ledger_id)]
        for name in (b"a", b"b", b"c"):
            self.assertEqual([d for d in data if d[:1] == name], [name + b"%02d" % n for n in range(30)])

    def test_context(self) -> None:
        """Leaving the context closes the client."""
        with BookKeeper.connect("memory:", thread=THREAD) as bk:
            self.assertEqual(list(bk.list_ledgers()), [])
        self.assertRaises(ClientClosedError, bk.create_ledger)


class ReactorThreadTests(SynchronousTestCase):
    """The thread."""

    def test_one_reactor(self) -> None:
        """It is started once, and is not the one of this process."""
        self.assertIs(THREAD.reactor, THREAD.reactor)
        self.assertIsNot(THREAD.reactor, reactor)

    def test_timeout(self) -> None:
        """A call that takes too long is cancelled, and says how long it had."""
        causes: list[Any] = []
        ended = threading.Event()

        async def work() -> None:
            try:
                await Deferred()
            except CancelledError as error:
                causes.append(error)
                ended.set()
                raise

        error = self.assertRaises(TimeoutError, THREAD.wait, work, 0.01)
        self.assertEqual(str(error), "no result within 0.01 s; the call is cancelled")
        self.assertTrue(ended.wait(5))
        self.assertEqual(len(causes), 1)

    def test_timeout_of_the_work(self) -> None:
        """A TimeoutError of the work itself comes as it is."""

        async def work() -> None:
            raise TimeoutError("my own")

        error = self.assertRaises(TimeoutError, THREAD.wait, work, 5)
        self.assertEqual(str(error), "my own")

    def test_own_thread(self) -> None:
        """A blocking call on the reactor's thread is refused: it would wait for itself."""

        async def nothing() -> None:
            pass

        async def work() -> None:
            THREAD.wait(nothing)

        self.assertRaises(IllegalOperationError, THREAD.wait, work)

    def test_forked(self) -> None:
        """In a process that was forked after the first call, calls are refused at once, of inherited objects too."""
        thread = ReactorThread()
        bk = BookKeeper.connect("memory:", thread=thread)
        self.addCleanup(bk.close)
        reading, writing = os.pipe()
        pid = _fork()
        if not pid:  # a failure must not reach the test runner, of which this is a copy
            os.write(writing, "\n".join(_refusals(bk, thread)).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as lines:
            told = lines.read().splitlines()
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(len(told), 4, told)
        for line in told:
            self.assertRegex(line, "^IllegalOperationError: this process was forked .* method spawn or forkserver")
        self.assertEqual(list(bk.list_ledgers()), [])

    def test_forked_before(self) -> None:
        """A process that was forked before the first call has a thread of its own."""
        thread = ReactorThread()
        pid = _fork()
        if not pid:
            with BookKeeper.connect("memory:", thread=thread) as bk:
                os._exit(7 if list(bk.list_ledgers()) == [] else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)

    def test_interrupt(self) -> None:
        """Ctrl-C while a call waits cancels what it waits for and reaches the caller."""
        ended = threading.Event()
        causes: list[Any] = []

        async def work() -> None:
            # what a signal does: the main thread, which waits, gets the exception
            THREAD.reactor.callLater(0.05, interrupt)
            try:
                await Deferred()
            except CancelledError as error:
                causes.append(error)
                ended.set()
                raise

        def interrupt() -> None:
            signal.pthread_kill(main_ident, signal.SIGINT)

        main_ident = threading.main_thread().ident or 0
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.assertRaises(KeyboardInterrupt, THREAD.wait, work)
        self.assertTrue(ended.wait(5))
        self.assertEqual(len(causes), 1)
