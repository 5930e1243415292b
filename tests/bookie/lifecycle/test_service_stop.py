"""The end of a bookie while its lanes work."""

from twisted.internet.defer import Deferred

from .test_service import StepTestCase


class StopTests(StepTestCase):
    """What a stop waits for."""

    def port_at_the_stop(self, **more: object) -> object:
        """The port that is open when the engine begins to stop."""
        service, executor = self.start(**more)
        assert service.engine is not None
        hold_all, seen = service.engine.factory.hold_all, list[object]()

        def holding() -> None:
            seen.append(service._listening)
            hold_all()

        self.patch(service.engine.factory, "hold_all", holding)
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
