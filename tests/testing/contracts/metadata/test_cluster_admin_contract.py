"""The suite on cluster administration notices providers that are wrong: bugs planted in the one in memory."""

from twisted.internet.task import Clock
from twisted.trial.reporter import TestResult
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bookkeeper_twisted.metadata.embedded.driver import EmbeddedAdmin
from bookkeeper_twisted.metadata.embedded.memory import MemorySession, MemoryStore
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker
from bookkeeper_twisted.testing.contracts.metadata.cluster_admin_contract import EmptyStore, make_cluster_admin_tests


class _Careless(EmbeddedAdmin):
    """Removes a cluster that is in use."""

    async def nuke(self, instance_id: str | None) -> None:
        await self.format()


class _Forgetful(EmbeddedAdmin):
    """Makes a cluster where there is one."""

    async def initialize(self) -> bool:
        return True


class _Thrifty(MemorySession):
    """Keeps the cookies."""

    def format(self) -> None:
        cookies = dict(self._shared.cookies)
        super().format()
        self._shared.cookies.update(cookies)


class PlantedBugTests(SynchronousTestCase):
    """Each bug fails the test that is about it."""

    def _passes(
        self, name: str, admin: type[EmbeddedAdmin] = EmbeddedAdmin, session: type[MemorySession] = MemorySession
    ) -> bool:
        def make_store(test: TestCase) -> EmptyStore:
            store = MemoryStore()

            def make(clock: Clock) -> EmbeddedAdmin:
                return admin(clock, "memory:", session(store), InlineWorker())

            return EmptyStore(store.driver, make)

        result = TestResult()
        make_cluster_admin_tests(make_store)(name).run(result)
        return bool(result.wasSuccessful())

    def test_good(self) -> None:
        """Without a bug nothing fails."""
        for name in ("test_nuke_refused", "test_initialize", "test_format"):
            self.assertTrue(self._passes(name))

    def test_nukes_what_is_in_use(self) -> None:
        """Registered bookies and another instance id must be respected."""
        self.assertFalse(self._passes("test_nuke_refused", admin=_Careless))

    def test_initializes_twice(self) -> None:
        """The second must be told that there is a cluster."""
        self.assertFalse(self._passes("test_initialize", admin=_Forgetful))

    def test_keeps_cookies(self) -> None:
        """Formatting removes cookies."""
        self.assertFalse(self._passes("test_format", session=_Thrifty))
