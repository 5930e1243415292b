"""The suite on connections notices ones that are wrong: bugs planted in the one in memory."""

from twisted.internet.defer import Deferred
from twisted.trial.reporter import TestResult
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode, Stat
from bookkeeper_twisted.testing.contracts.metadata.zookeeper_contract import make_zookeeper_tests
from bookkeeper_twisted.testing.zookeeper import MemoryConnection, MemoryZooKeeper


class _Careless(MemoryConnection):
    """Writes whatever the version is."""

    def set(self, path: str, data: bytes, version: int) -> "Deferred[Stat]":
        return super().set(path, data, -1)


class _Forgetful(MemoryZooKeeper):
    """Gives numbers of a sequence again."""

    def create(self, new: NewNode, session_id: int) -> str:
        self.find(new.path.rpartition("/")[0]).created *= not new.sequence
        return super().create(new, session_id)


class PlantedBugTests(SynchronousTestCase):
    """Each bug fails the test that is about it."""

    def _passes(
        self,
        name: str,
        kind: type[MemoryConnection] = MemoryConnection,
        server: type[MemoryZooKeeper] = MemoryZooKeeper,
    ) -> bool:
        zookeeper = server()
        result = TestResult()
        make_zookeeper_tests(lambda test: ("/root", lambda: kind(zookeeper)))(name).run(result)
        return bool(result.wasSuccessful())

    def test_good(self) -> None:
        """Without a bug nothing fails."""
        for name in ("test_errors", "test_sequence"):
            self.assertTrue(self._passes(name))

    def test_versions(self) -> None:
        """A version must be respected."""
        self.assertFalse(self._passes("test_errors", kind=_Careless))

    def test_sequences(self) -> None:
        """A number must not come back."""
        self.assertFalse(self._passes("test_sequence", server=_Forgetful))
