"""The parts of a bookie together."""

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.metrics import new_registry

from .rig import Rig, add_replies, adds, run


class EngineTests(SynchronousTestCase):
    """Start, work, stop, failure."""

    def setUp(self) -> None:
        self.rig = Rig()
        self.engine = self.rig.engine

    def test_start(self) -> None:
        """The next journal file is made ready, and checkpoints come by the clock."""
        self.engine.start(10)
        self.rig.drain()
        self.assertTrue(any(name.endswith(".spare") for name in self.rig.disk.list("/journal0/current")))
        self.rig.add(run(1, 0))
        self.rig.drain()
        self.rig.clock.advance(10)
        self.rig.drain()
        self.assertEqual(self.rig.storage.pending_bytes(), 0)
        self.engine.checkpointer.stop()

    def test_stop(self) -> None:
        """A stop answers what was begun, closes the connections, and leaves nothing to replay."""
        self.engine.start(10)
        peer = self.rig.connect()
        peer.send(adds(run(1, 0, 3)))
        stopping = Deferred.fromCoroutine(self.engine.stop())
        self.assertTrue(peer.held)
        self.rig.drain()
        self.assertEqual(peer.replies(), add_replies(run(1, 0, 3), Status.EOK))
        self.assertTrue(peer.ended)
        self.assertNoResult(stopping)
        peer.leave()
        self.rig.drain()
        self.successResultOf(stopping)
        self.assertEqual(self.rig.clock.getDelayedCalls(), [])
        self.assertEqual(self.rig.restart().store.n_replayed, 0)

    def test_journals_are_closed(self) -> None:
        """Behind a stop nothing is written to a journal any more (S1)."""
        self.engine.start(10)
        stopping = Deferred.fromCoroutine(self.engine.stop())
        self.rig.drain()
        self.successResultOf(stopping)
        before = self.rig.store.journals[0].position
        failed: list[Exception | None] = []
        self.engine.commits[0].append(b"late", 1, failed.append)
        self.rig.drain()
        self.assertIsNotNone(failed[0])
        self.assertEqual(self.rig.store.journals[0].position, before)

    def test_failed_journal(self) -> None:
        """S10: a journal that fails answers with errors, once, says so once, and a stop is still possible."""
        self.engine.start(10)
        self.rig.drain()
        self.rig.fail("sync", "/journal0/")
        peer = self.rig.connect()
        peer.send(adds(run(1, 0, 3)))
        self.rig.drain()
        self.assertEqual(peer.replies(), add_replies(run(1, 0, 3), Status.EIO))
        self.assertEqual(len(self.rig.failures), 1)
        before = self.rig.store.log_marks[0].position
        stopping = Deferred.fromCoroutine(self.engine.stop())
        peer.leave()
        self.rig.drain()
        self.successResultOf(stopping)
        self.assertEqual(self.rig.store.log_marks[0].position, before)

    def test_metrics(self) -> None:
        """Replies, writes and groups are counted."""
        peers = [self.rig.connect(), self.rig.connect()]
        for ledger_id, peer in enumerate(peers):
            peer.send(adds(run(ledger_id, 0, 50)))
        self.rig.drain()
        registry = new_registry(self.engine.instruments)
        for name, labels, value in (
            ("bookie_connection_replies", {}, 100),
            ("bookie_connection_writes", {}, 2),
            ("bookie_journal_groups", {"journalIndex": "0"}, 1),
            ("bookie_SERVER_STATUS", {}, 1),
            ("bookkeeper_server_ADD_ENTRY_REQUEST_count", {"success": "true"}, 100),
            ("bookie_WRITE_BYTES", {}, 2 * run(0, 0, 50).size),
        ):
            self.assertEqual(registry.get_sample_value(name, labels), value, name)
