"""A bookie as a service: what a start does, what a stop undoes, what a failure ends."""

import errno
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.service import BookieService
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import from_file, from_options
from bookkeeper_twisted.errors import (
    BookieRegisteredError,
    ConfigError,
    DirectoryLockedError,
    InvalidCookieError,
    NoWritableDirectoryError,
    Status,
    StorageError,
)
from bookkeeper_twisted.http.site import make_metrics_site, make_site
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import BookieServiceInfo
from bookkeeper_twisted.testing.executor import StepExecutor

from ...config.shipped_files import BOOKKEEPER, PULSAR, as_file
from ...metadata.zookeeper.rig import cluster_in_memory
from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ...simulated_disk.sim_key_values import SimKeyValues
from ..rig import Peer, add_replies, adds, reads, run


class World:
    """A machine and a cluster without threads, network and disk."""

    def __init__(self) -> None:
        self.disk = SimDisk()
        self.reactor = MemoryReactorClock()
        self.store: Any = MemoryStore()
        self.failures: list[Failure] = []

    def service(self, **more: Any) -> "tuple[BookieService, StepExecutor]":
        """A bookie on this machine."""
        config: dict[str, Any] = {
            "bookie_port": 3181, "advertised_address": "me", "journal_directories": ("/j",),
            "ledger_directories": ("/l",), "metadata_service_uri": "memory:x", "journal_pre_alloc_size_mb": 1, **more,
        }  # fmt: skip
        return self.service_of(BookieConfig(**config))

    def service_of(self, config: BookieConfig) -> "tuple[BookieService, StepExecutor]":
        """A bookie of any configuration."""
        executor = StepExecutor(self.reactor)
        service = BookieService(
            self.reactor, config, self.store.driver(self.reactor), self.disk,
            make_index=SimIndex.open, open_key_values=SimKeyValues.open, executor=executor,
            make_site=lambda admin: make_site(admin, self.reactor),
            make_metrics_site=lambda admin: make_metrics_site(admin.metrics, self.reactor),
            on_failure=self.failures.append,
        )  # fmt: skip
        return service, executor


class StepTestCase(SynchronousTestCase):
    """Starts and stops, step by step."""

    def setUp(self) -> None:
        self.world = World()

    def kill(self) -> None:
        """The process is gone, and the metadata store has noticed."""
        self.world.disk.kill()
        self.world.reactor = MemoryReactorClock()
        self.world.store.bookies.clear()

    def settle(self, executor: StepExecutor) -> None:
        for _ in range(10):
            executor.drain()
            self.world.reactor.advance(0)

    def start(self, **more: Any) -> "tuple[BookieService, StepExecutor]":
        """A bookie that serves."""
        return self.started(*self.world.service(**more))

    def started(self, service: BookieService, executor: StepExecutor) -> "tuple[BookieService, StepExecutor]":
        """Starts it."""
        starting = service.start()
        self.settle(executor)
        self.successResultOf(starting)
        return service, executor

    def refused(self, kind: type[Exception], **more: Any) -> None:
        """A start that fails, and leaves nothing behind."""
        service, executor = self.world.service(**more)
        starting = service.start()
        self.settle(executor)
        self.failureResultOf(starting, kind)
        self.assertEqual(self.delayed(), [])

    def delayed(self) -> list[Any]:
        """What the clock still has to do for bookies."""
        return [call for call in self.world.reactor.getDelayedCalls() if "bookkeeper" in str(call)]

    def stop(self, service: BookieService, executor: StepExecutor) -> None:
        stopping = service.stop()
        self.settle(executor)
        self.successResultOf(stopping)

    def registered(self) -> tuple[frozenset[str], frozenset[str]]:
        """Writable and read-only bookies, as others see them."""
        driver = self.world.store.driver(self.world.reactor)
        self.successResultOf(Deferred.fromCoroutine(driver.open()))
        registration: Any = driver.registration
        found = tuple(
            self.successResultOf(Deferred.fromCoroutine(ask()))
            for ask in (registration.writable_bookies, registration.read_only_bookies)
        )
        self.successResultOf(Deferred.fromCoroutine(driver.close()))
        return found

    def connect(self) -> Peer:
        """A connection through the port that listens."""
        connection = self.gate().buildProtocol(None)
        assert connection is not None
        return Peer(connection)

    def gate(self) -> Any:
        """What the port that listens hands connections to."""
        return self.world.reactor.tcpServers[0][1]


class StartTests(StepTestCase):
    """Starts."""

    def test_serves(self) -> None:
        """A bookie that has started listens, is registered and stores."""
        service, executor = self.start()
        self.assertEqual((service.bookie_id, self.world.reactor.tcpServers[0][0]), ("me:3181", 3181))
        self.assertEqual(self.registered(), (frozenset({"me:3181"}), frozenset()))
        peer = self.connect()
        peer.send(adds(run(1, 0)))
        executor.drain()
        self.assertEqual(peer.replies(), add_replies(run(1, 0), Status.EOK))

    def test_shipped_files(self) -> None:
        """A bookie starts on what the files of Apache's distributions say, but for places, and stores."""
        places = {"metadataServiceUri": "memory:x", "journalDirectories": "/j", "ledgerDirectories": "/l"}
        own = {**places, "advertisedAddress": "me", "journalPreAllocSizeMB": "1"}
        for facts in (BOOKKEEPER, PULSAR):
            self.world = World()
            config = BookieConfig.load(from_file(as_file(facts), "shipped"), from_options(own))
            _, executor = self.started(*self.world.service_of(config))
            self._check_stores(executor, bytes(100))

    def _check_stores(self, executor: StepExecutor, payload: bytes) -> None:
        peer, entries = self.connect(), run(1, 0, 1, payload)
        peer.send(adds(entries))
        self.world.reactor.advance(0.001)  # journalMaxGroupWaitMSec
        executor.drain()
        self.assertEqual(peer.replies(), add_replies(entries, Status.EOK))

    def test_small_limits(self) -> None:
        """Limits that are smaller than one entry hold up the others, not that entry."""
        _, executor = self.start(
            db_storage_write_cache_max_size_mb=1, journal_max_memory_size_mb=1, log_size_limit=1,
            min_usable_size_for_entry_log_creation=0,
        )  # fmt: skip
        self._check_stores(executor, bytes(3 << 20))

    def test_listens_last(self) -> None:
        """No client connects before the journals are replayed and the engine stands."""
        self.stop(*self.start())
        self.world.reactor.tcpServers.clear()
        service, executor = self.world.service()
        service.start()
        while service.engine is None:
            self.assertEqual(self.world.reactor.tcpServers, [])
            executor.step()
        self.settle(executor)
        self.assertEqual(len(self.world.reactor.tcpServers), 1)

    def test_summary(self) -> None:
        """The log says what serves: identity, places, sizes, what was replayed."""
        with capturedLogs() as events:
            self.start()
        (line,) = [formatEvent(event) for event in events if "serves" in formatEvent(event)]
        self.assertEqual(
            line, "bookie me:3181 serves on port 3181: metadata memory:x, journals /j, entry logs "
            "/l (4,294,967,296 of 8,589,934,592 bytes free), indexes /l, 0 ledgers, 0 entries replayed",
        )  # fmt: skip

    def test_summary_without_secrets(self) -> None:
        """Credentials in a URI are masked."""
        with capturedLogs() as events:
            self.start(metadata_service_uri="zk://user:sesame@host/ledgers")
        text = "\n".join(map(formatEvent, events))
        self.assertNotIn("sesame", text)
        self.assertIn("zk://******@host/ledgers", text)

    def test_taken_port(self) -> None:
        """A port that is taken is found out before a first start writes an identity; another port then does."""

        def taken(port: int, *args: Any, **named: Any) -> Any:
            raise CannotListenError("", port, OSError("in use"))

        self.world.reactor.listenTCP = taken  # type: ignore[method-assign]
        self.refused(CannotListenError)
        self.assertFalse(self.world.disk.exists("/l/current/IDENTITY"))
        del self.world.reactor.listenTCP
        self.assertEqual(self.start(bookie_port=3182)[0].bookie_id, "me:3182")

    def test_small_disk(self) -> None:
        """A disk without space for the first journal file is refused before it is filled, and before there is an
        identity."""
        self.world.disk.capacity = (1 << 30, (1 << 20) - 1)
        self.refused(StorageError)
        for directory in ("/j", "/l"):
            self.assertEqual(self.world.disk.list(f"{directory}/current"), ["LOCK"])
        self.assertEqual(self.world.store.cookies, {})
        self.world.disk.capacity = (1 << 30, 1 << 20)
        self.start()

    def test_full_disk(self) -> None:
        """After a kill a bookie starts on a full ledger disk, is read-only, and serves all it has; space makes it
        writable again, and then the journals are not needed any more."""
        _, executor = self.start()
        peer = self.connect()
        peer.send(adds(run(1, 0, 5, b"payload")))
        executor.drain()
        self.assertEqual(peer.replies(), add_replies(run(1, 0, 5, b"payload"), Status.EOK))
        self.kill()
        self.world.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and op.path.startswith("/l/"))
        _, executor = self.start(flush_interval=1000)
        self.assertEqual(self.registered(), (frozenset(), frozenset({"me:3181"})))
        peer = self.connect()
        peer.send(reads(1, range(5)))
        executor.drain()
        self.assertEqual(peer.replies().count(b"payload"), 5)
        for _ in range(3):
            self.world.reactor.advance(1)
            self.settle(executor)
        self.assertEqual(self.registered(), (frozenset({"me:3181"}), frozenset()))

    def test_no_space_for_the_next_journal(self) -> None:
        """A disk that is full while the next journal file is prepared does not end the bookie."""
        self.world.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and op.path.endswith(".spare"))
        _, executor = self.start()
        peer = self.connect()
        for first in (0, 5):
            peer.send(adds(run(1, first, 5, b"payload")))
            executor.drain()
            self.assertEqual(peer.replies(), add_replies(run(1, first, 5, b"payload"), Status.EOK))

    def test_journals_of_a_full_disk(self) -> None:
        """S7: a start on a full ledger disk keeps the journals, which alone have what it replayed."""
        for first in (0, 5):  # each life has a journal file of its own
            _, executor = self.start(journal_max_backups=0)
            peer = self.connect()
            peer.send(adds(run(1, first, 5, b"payload")))
            executor.drain()
            self.assertEqual(peer.replies(), add_replies(run(1, first, 5, b"payload"), Status.EOK))
            self.kill()
        self.world.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and op.path.startswith("/l/"))
        self.start(journal_max_backups=0)
        self.kill()
        _, executor = self.start(journal_max_backups=0)
        peer = self.connect()
        peer.send(reads(1, range(10)))
        executor.drain()
        self.assertEqual(peer.replies().count(b"payload"), 10)

    def test_closed_gate(self) -> None:
        """A port bound early, to know its number, closes connections until the bookie serves."""
        service, executor = self.world.service(bookie_port=0)
        service.start()
        while not self.world.reactor.tcpServers:
            executor.step()
        self.assertIsNone(self.gate().buildProtocol(None))
        self.settle(executor)
        self.assertIsNotNone(self.gate().buildProtocol(None))

    def test_http(self) -> None:
        """The HTTP server listens where it is wanted."""
        self.start(http_server_enabled=True, http_server_port=8000, http_server_host="127.0.0.1")
        port, _, _, interface = self.world.reactor.tcpServers[1]
        self.assertEqual((port, interface), (8000, "127.0.0.1"))

    def test_forced_read_only(self) -> None:
        """``forceReadOnlyBookie`` registers as read-only."""
        service, _ = self.start(force_read_only_bookie=True)
        assert service.engine is not None
        self.assertTrue(service.engine.bookie.mode.read_only)
        self.assertEqual(self.registered(), (frozenset(), frozenset({"me:3181"})))

    def test_locked(self) -> None:
        """S6: a second bookie on the same directories does not start, and harms nothing."""
        service, executor = self.start()
        self.refused_with_first(DirectoryLockedError)
        peer = self.connect()
        peer.send(adds(run(1, 0)))
        executor.drain()
        self.assertEqual(peer.replies(), add_replies(run(1, 0), Status.EOK))
        peer.leave()
        self.stop(service, executor)
        self.start()

    def refused_with_first(self, kind: type[Exception], **more: Any) -> None:
        service, executor = self.world.service(**more)
        starting = service.start()
        self.settle(executor)
        self.failureResultOf(starting, kind)

    def test_id_is_taken(self) -> None:
        """S6: nor does one whose id another one is registered with."""
        self.start()
        self.world.disk = SimDisk()
        cookies, self.world.store.cookies = self.world.store.cookies, {}
        self.refused_with_first(BookieRegisteredError)
        self.world.store.cookies = cookies

    def test_other_directories(self) -> None:
        """S6: directories without the cookie of a known bookie are refused, and not made: a disk may not be mounted."""
        service, executor = self.start()
        self.stop(service, executor)
        self.refused(InvalidCookieError, journal_directories=("/other",))
        self.assertFalse(self.world.disk.is_directory("/other"))
        self.world.disk.make_directories("/empty/current")
        self.refused(InvalidCookieError, ledger_directories=("/empty",))

    def test_loopback(self) -> None:
        """A bookie that would advertise a loopback address says so before it touches anything."""
        self.refused(ConfigError, advertised_address="")
        self.assertEqual(self.world.reactor.tcpServers, [])

    def test_disk_error(self) -> None:
        """A start that fails half-way undoes the half; the next one succeeds."""
        self.world.disk.fail(errno.EIO, when=lambda op: op.path.endswith("IDENTITY.tmp"))
        self.refused(OSError)
        self.start()

    def test_abandoned(self) -> None:
        """A start that is cancelled ends at its next step, and a stop waits for that."""
        service, executor = self.world.service()
        starting = service.start()
        executor.step()
        starting.cancel()
        self.failureResultOf(starting)
        stopping = service.stop()
        self.settle(executor)
        self.successResultOf(stopping)
        self.assertEqual((self.world.reactor.tcpServers, self.delayed()), ([], []))
        self.start()

    def test_as_a_service(self) -> None:
        """As a Twisted service a start that fails is reported."""
        service, executor = self.world.service(advertised_address="")
        service.startService()
        self.settle(executor)
        self.assertEqual([failure.type for failure in self.world.failures], [ConfigError])
        self.assertEqual(len(self.flushLoggedErrors(ConfigError)), 1)
        self.successResultOf(service.stopService())


class StopTests(StepTestCase):
    """Stops."""

    def test_answers_what_was_begun(self) -> None:
        """An add that was begun is answered, connections are closed, nothing is left to replay."""
        service, executor = self.start()
        peer = self.connect()
        peer.send(adds(run(1, 0)))
        stopping = service.stop()
        self.settle(executor)
        self.assertEqual(peer.replies(), add_replies(run(1, 0), Status.EOK))
        self.assertTrue(peer.ended)
        peer.leave()
        self.settle(executor)
        self.successResultOf(stopping)
        self.assertEqual((self.registered(), self.delayed()), ((frozenset(), frozenset()), []))

    def test_peer_that_stays(self) -> None:
        """A peer that does not go is dropped."""
        service, executor = self.start()
        peer = self.connect()
        stopping = service.stop()
        self.settle(executor)
        self.assertFalse(peer.transport.aborted)
        self.world.reactor.advance(5)
        self.assertTrue(peer.transport.aborted)
        peer.leave()
        self.settle(executor)
        self.successResultOf(stopping)

    def test_twice(self) -> None:
        """A stop of a stopped bookie, and of one that was never started, is harmless."""
        service, executor = self.start()
        first, second = service.stop(), service.stop()
        self.settle(executor)
        for stopping in (first, second, service.stop()):
            self.successResultOf(stopping)
        self.successResultOf(self.world.service()[0].stop())

    def test_entries_stay(self) -> None:
        """What was stored is there after a stop and a start."""
        service, executor = self.start()
        peer = self.connect()
        peer.send(adds(run(1, 0)))
        executor.drain()
        peer.leave()
        self.stop(service, executor)
        self.world.reactor.tcpServers.clear()
        service, executor = self.start()
        peer = self.connect()
        peer.send(reads(1, [0]))
        executor.drain()
        self.assertEqual(peer.replies()[28:], run(1, 0).entry(0))


class FailureTests(StepTestCase):
    """What a failure ends."""

    def test_journal(self) -> None:
        """S10: when a journal fails nothing is acknowledged, the listener closes and the failure is reported."""
        _, executor = self.start()
        peer = self.connect()
        self.world.disk.fail(errno.EIO, when=lambda op: op.name == "sync" and op.path.startswith("/j/"))
        peer.send(adds(run(1, 0)))
        self.settle(executor)
        peer.leave()
        self.settle(executor)
        self.assertNotIn(add_replies(run(1, 0), Status.EOK), peer.replies())
        self.assertTrue(peer.transport.aborted)
        self.assertEqual([failure.type for failure in self.world.failures], [OSError])
        self.assertEqual(self.registered(), (frozenset(), frozenset()))

    def test_no_space(self) -> None:
        """A full ledger disk makes the bookie read-only, not stop; space makes it writable again."""
        _, executor = self.start(flush_interval=1000)
        peer = self.connect()
        peer.send(adds(run(1, 0)))
        executor.drain()
        self.world.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and op.path.startswith("/l/"))
        self.world.reactor.advance(1)
        self.settle(executor)
        self.assertEqual(self.registered(), (frozenset(), frozenset({"me:3181"})))
        peer.replies()
        peer.send(adds(run(1, 1)))
        self.assertEqual(peer.replies(), add_replies(run(1, 1), Status.EREADONLY))
        self.world.reactor.advance(1)
        self.settle(executor)
        self.assertEqual((self.registered()[0], self.world.failures), (frozenset({"me:3181"}), []))

    def test_no_read_only_mode(self) -> None:
        """Where read-only mode is not wanted a full disk stops the bookie."""
        _, executor = self.start(flush_interval=1000, read_only_mode_enabled=False)
        peer = self.connect()
        peer.send(adds(run(1, 0)))
        executor.drain()
        peer.leave()
        self.world.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and op.path.startswith("/l/"))
        self.world.reactor.advance(1)
        self.settle(executor)
        self.assertEqual([failure.type for failure in self.world.failures], [NoWritableDirectoryError])
        self.assertEqual(self.registered(), (frozenset(), frozenset()))

    def test_lost_identity(self) -> None:
        """S6: a bookie whose session ended, and whose id another has by then, stops."""
        self.world.store = store = cluster_in_memory(self.world.reactor)
        _, executor = self.start()
        connection = store.connections[-1]
        connection.expire()
        other = store.driver(self.world.reactor)
        self.successResultOf(Deferred.fromCoroutine(other.open()))
        info = BookieServiceInfo()
        self.successResultOf(Deferred.fromCoroutine(other.registration.register_bookie("me:3181", False, info)))
        connection.resume()
        for _ in range(12):
            self.world.reactor.advance(1)
            self.settle(executor)
        self.assertEqual([failure.type for failure in self.world.failures], [BookieRegisteredError])
        self.assertEqual(self.registered(), (frozenset({"me:3181"}), frozenset()))

    def test_renewed_session(self) -> None:
        """A bookie whose session ended is registered in the next one, in the mode it has by then."""
        self.world.store = store = cluster_in_memory(self.world.reactor)
        service, executor = self.start(force_read_only_bookie=True)
        connection = store.connections[-1]
        connection.expire()
        self.assertEqual(self.registered(), (frozenset(), frozenset()))
        connection.resume()
        self.settle(executor)
        self.assertEqual(self.registered(), (frozenset(), frozenset({"me:3181"})))
        self.stop(service, executor)
        self.assertEqual((self.registered(), self.world.failures), ((frozenset(), frozenset()), []))
