"""Looking again and again."""

from twisted.logger import capturedLogs

from bookkeeper_twisted.metadata.zookeeper.interfaces import Watch
from bookkeeper_twisted.metadata.zookeeper.watches.watch_loop import WatchLoop

from ..rig import ZooKeeperCase


class WatchLoopTests(ZooKeeperCase):
    """:class:`WatchLoop`."""

    def setUp(self) -> None:
        super().setUp()
        self.session = self.store.session(self.clock)
        self.run_(self.session.open())
        self.watches: list[Watch] = []
        self.loop = WatchLoop(self.session, "something", self.look)

    async def look(self, watch: Watch) -> bool:
        self.watches.append(watch)
        return len(self.watches) < 3

    def test_events(self) -> None:
        """A change is looked at at once, a lost watch after a pause; the end is the look's to say."""
        self.loop.start()
        self.watches[0](True)
        self.assertEqual(len(self.watches), 2)
        self.watches[1](False)
        self.assertEqual(len(self.watches), 2)
        self.clock.advance(0.2)
        self.assertEqual(len(self.watches), 3)
        self.watches[2](True)
        self.assertEqual((len(self.watches), self.clock.getDelayedCalls()), (3, []))

    def test_same_watch(self) -> None:
        """All looks leave the same watch: a server that is asked twice keeps it once."""
        self.loop.start()
        self.watches[0](True)
        self.assertEqual(self.watches[0], self.watches[1])

    def test_stop(self) -> None:
        """A stopped loop looks no more, wherever it was."""
        self.loop.start()
        self.watches[0](False)
        self.loop.stop()
        self.watches[0](True)
        self.clock.advance(1)
        self.assertEqual((len(self.watches), self.clock.getDelayedCalls()), (1, []))

    def test_stopped_by_a_look(self) -> None:
        """A loop that is stopped by what a look calls, after its watch was left, looks no more."""

        async def once(watch: Watch) -> bool:
            self.watches.append(watch)
            if len(self.watches) > 1:
                loop.stop()
            return True

        loop = WatchLoop(self.session, "something", once)
        loop.start()
        for _ in range(3):
            self.watches[-1](True)
            self.clock.advance(1)
        self.assertEqual((len(self.watches), self.clock.getDelayedCalls()), (2, []))

    def test_outage(self) -> None:
        """While the store is gone a loop goes on without a line of its own: the session has one for all of them."""
        self.connection = self.store.connections[-1]

        async def read(watch: Watch) -> bool:
            await self.session.run("look", lambda: self.connection.get("/ledgers", watch))
            self.watches.append(watch)
            return True

        loops = [WatchLoop(self.session, "something", read) for _ in range(5)]
        with capturedLogs() as events:
            for loop in loops:
                loop.start()
            self.connection.suspend()
            self.clock.pump([1.0] * 100)
            self.connection.resume()
            self.clock.pump([1.0] * 2)
        self.assertEqual((len(events), len(self.watches)), (2, 10))

    def test_bug(self) -> None:
        """An error that is none of the store's ends the loop, and is logged."""

        async def broken(watch: Watch) -> bool:
            raise ZeroDivisionError

        WatchLoop(self.session, "something", broken).start()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
