"""The end of a bookie while its lanes work."""

from twisted.internet.defer import Deferred

from .test_service import StepTestCase


class StopTests(StepTestCase):
    """What a stop waits for."""

    def test_files_are_closed_last(self) -> None:
        """The files stay open until no lane works any more, also on what was cancelled."""
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
