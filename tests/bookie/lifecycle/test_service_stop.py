"""The end of a bookie while its threads work."""

import errno

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.python.failure import Failure

from bookkeeper_twisted.bookie.admin import Phase
from bookkeeper_twisted.bookie.lifecycle.registration import FIRST_WAIT, WITHDRAWAL_SECONDS, BookieRegistration
from bookkeeper_twisted.errors import MetadataError, StorageError

from ..rig import Peer, adds, run
from .test_service import StepTestCase


class StopTests(StepTestCase):
    """What a stop waits for, and what it says."""

    def test_last_checkpoint_is_logged(self) -> None:
        """A stop names the log mark that the next start replays from, what was flushed, and how long that took."""
        service, executor = self.start()
        assert service.engine is not None
        peer = Peer(service.engine.factory.buildProtocol(None))
        peer.send(adds(run(1, 0, 2)))
        self.settle(executor)
        peer.leave()
        stopping = service.stop()
        with capturedLogs() as events:
            self.settle(executor)
        self.successResultOf(stopping)
        log_mark = service._store.log_marks[0].position
        (line,) = [text for event in events if "checkpoint" in (text := formatEvent(event))]
        self.assertGreater(log_mark.offset, 0)
        said = f"bookie me:3181: last checkpoint up to {log_mark.file_id:x}.txn:{log_mark.offset}, 2 entries and "
        self.assertRegex(line, f"^{said}[1-9][0-9]* bytes flushed in 0 ms$")

    def test_failed_checkpoint(self) -> None:
        """A stop whose checkpoint fails claims none."""
        service, executor = self.start()
        assert service.engine is not None
        peer = Peer(service.engine.factory.buildProtocol(None))
        peer.send(adds(run(1, 0, 2)))
        self.settle(executor)
        peer.leave()
        self.world.disk.fail(errno.EIO, when=lambda op: op.name == "pwrite" and op.path.startswith("/l/"), times=100)
        stopping = service.stop()
        with capturedLogs() as events:
            self.settle(executor)
        self.successResultOf(stopping)
        self.assertEqual([e for e in events if "last checkpoint" in formatEvent(e)], [])

    def test_no_checkpoint(self) -> None:
        """A stop after a failure claims no checkpoint."""
        service, executor = self.start()
        assert service.engine is not None
        service.engine._journal_failed(Failure(StorageError("broken")))
        with capturedLogs() as events:
            self.settle(executor)
        self.assertEqual([e for e in events if "last checkpoint" in formatEvent(e)], [])

    def test_metadata_store_is_gone(self) -> None:
        """A stop whose registration cannot be withdrawn warns in one line, and goes on."""
        service, executor = self.start()

        async def removed(bookie_id: str) -> None:
            raise MetadataError("/m/metadata.db: the file was removed")

        self.patch(service._registrations, "unregister_bookie", removed)
        with capturedLogs() as events:
            self.stop(service, executor)
        said = [(e["log_level"], formatEvent(e)) for e in events if "metadata.db" in str(formatEvent(e))]
        text = "the withdrawal of the registration of the bookie failed: /m/metadata.db: the file was removed"
        self.assertEqual(said, [(LogLevel.warn, text)])
        self.assertEqual([e for e in events if "log_failure" in e], [])
        self.assertEqual(service.admin.state().phase, Phase.STOPPED)

    def test_registration_that_waits(self) -> None:
        """A stop does not wait for a first registration, which may wait for the end of the former one."""
        waiting: list[Deferred[None]] = []

        async def tell(_: BookieRegistration) -> None:
            waiting.append(Deferred())
            await waiting[0]

        self.patch(BookieRegistration, "_tell", tell)
        service, executor = self.world.service()
        starting = service.start()
        self.settle(executor)
        self.assertEqual((len(waiting), starting.called), (1, False))
        self.assertIsNotNone(service._listening)
        self.stop(service, executor)
        self.failureResultOf(starting, CancelledError)
        self.assertEqual((service._listening, self.delayed(), service.admin.state().phase), (None, [], Phase.STOPPED))

    def port_at_the_stop(self, **more: object) -> object:
        """The port that is open when the engine begins to stop."""
        service, executor = self.start(**more)
        assert service.engine is not None
        stop_accepting, seen = service.engine.factory.stop_accepting, list[object]()

        def holding() -> None:
            seen.append(service._listening)
            stop_accepting()

        self.patch(service.engine.factory, "stop_accepting", holding)
        self.stop(service, executor)
        (port,) = seen
        return port

    def test_port_is_closed_first(self) -> None:
        """No port is open when the engine stops."""
        self.assertIsNone(self.port_at_the_stop())

    def test_early_port_is_closed_first(self) -> None:
        """Nor is one whose number had to be known before the store was opened."""
        self.assertIsNone(self.port_at_the_stop(bookie_port=0))

    def test_files_are_closed_last(self) -> None:
        """The files stay open until no thread works any more, also on what was cancelled."""
        service, executor = self.start()
        closed: list[None] = []
        storage, working = service._store.storage, Deferred[None]()
        close = storage.close

        def close_storage() -> None:
            closed.append(None)
            close()

        self.patch(storage, "close", close_storage)
        self.patch(executor, "join", lambda: working)
        stopping = service.stop()
        self.settle(executor)
        self.assertEqual((closed, stopping.called), ([], False))
        working.callback(None)
        self.settle(executor)
        self.successResultOf(stopping)
        self.assertEqual(closed, [None])

    def test_withdrawn_before_the_port(self) -> None:
        """Clients find no bookie registered that refuses their connections: the withdrawal comes first."""
        service, executor = self.start()
        ports = list[object]()

        async def withdraw(bookie_id: str) -> None:
            ports.append(service._listening)

        self.patch(service._registrations, "unregister_bookie", withdraw)
        self.stop(service, executor)
        self.assertNotIn(None, ports)

    def test_store_does_not_answer(self) -> None:
        """If the store does not answer, the bookie waits a second, then closes its port and writes its checkpoint."""
        service, executor = self.start()
        assert service.engine is not None
        answer, began, said = Deferred[None](), self.world.reactor.seconds(), list[tuple[float, str]]()
        peer = Peer(service.engine.factory.buildProtocol(None))
        peer.send(adds(run(1, 0, 2)))
        self.settle(executor)
        peer.leave()
        self.patch(service._registrations, "unregister_bookie", lambda bookie_id: answer)
        stopping = service.stop()
        ports = list[object]()
        for step in (0.0, *[0.5] * 10):
            self.assertNoResult(stopping)
            with capturedLogs() as events:
                self.world.reactor.advance(step)
                self.settle(executor)
            now = self.world.reactor.seconds() - began
            said += [(now, text) for event in events if "bookie" in (text := formatEvent(event))]
            ports.append(service._listening)
        self.successResultOf(stopping)
        self.assertEqual([port is None for port in ports], [False, False] + [True] * 9)
        at, of = zip(*((now, text.split(": ")[1]) for now, text in said if ": " in text), strict=True)
        self.assertEqual(at, (FIRST_WAIT, FIRST_WAIT, WITHDRAWAL_SECONDS))
        self.assertEqual(of[0], "the bookie stops nevertheless, and clients may try to connect to it")
        self.assertRegex(of[1], "^last checkpoint up to .* 2 entries and ")
        self.assertRegex(of[2], "^the metadata store has not answered within 5 s; it removes the registration by ")
        self.assertTrue(answer.called)
