"""Racks that a store says."""

from collections.abc import Mapping, Sequence

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.placement.racks import IRackResolver
from bookkeeper_twisted.placement.stored_racks import PATIENCE, StoredRacks


class StoredRacksTests(SynchronousTestCase):
    """:class:`StoredRacks`."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.resolver = StoredRacks(self.clock)

    def _asked(self, *hosts: str) -> "Deferred[Mapping[str, str]]":
        async def ask(hosts: Sequence[str]) -> Mapping[str, str]:
            return await self.resolver.racks(hosts)

        return Deferred.fromCoroutine(ask(hosts))

    def test_interface(self) -> None:
        """It is a resolver."""
        self.assertTrue(verifyObject(IRackResolver, self.resolver))

    def test_ids_and_hosts(self) -> None:
        """A bookie is found by its id, and by its host; what is not stored is left out."""
        self.resolver.changed({"10.0.0.1:3181": "/r1", "bk-2": "/r2"})
        found = self.successResultOf(self._asked("10.0.0.1:3181", "10.0.0.1", "bk-2", "bk-3"))
        self.assertEqual(found, {"10.0.0.1:3181": "/r1", "10.0.0.1": "/r1", "bk-2": "/r2"})

    def test_wait(self) -> None:
        """Whoever asks before the first reading waits for it."""
        asked = [self._asked("a:1"), self._asked("b:1")]
        self.assertNoResult(asked[0])
        asked[1].addErrback(lambda failure: None).cancel()
        self.resolver.changed({"a:1": "/r1"})
        self.assertEqual(self.successResultOf(asked[0]), {"a:1": "/r1"})
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_patience(self) -> None:
        """A store that says nothing for a while is an error, and not for longer than that."""
        asked = self._asked("a:1")
        self.clock.advance(PATIENCE)
        self.failureResultOf(asked, MetadataError)
        self.resolver.changed({"a:1": "/r1"})
        self.assertEqual(self.successResultOf(self._asked("a:1")), {"a:1": "/r1"})

    def test_changes(self) -> None:
        """A change takes the place of all that was known, and is a new version."""
        self.resolver.changed({"a:1": "/r1", "b:1": "/r1"})
        before = self.resolver.version
        self.resolver.changed({"b:1": "/r2"})
        self.assertEqual(self.successResultOf(self._asked("a:1", "b:1")), {"b:1": "/r2"})
        self.assertGreater(self.resolver.version, before)
