"""Racks of bookies: tables, scripts, and the memory of both."""

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import BookieHandleNotAvailableError, ConfigError
from bookkeeper_twisted.placement.racks import (
    DEFAULT_RACK,
    RETRY,
    BookieRacks,
    IRackResolver,
    MappingResolver,
    NoRacks,
    ScriptResolver,
    parse_table,
)


def _now(test: SynchronousTestCase, work: Any) -> Any:
    return test.successResultOf(Deferred.fromCoroutine(work))


class ResolverTests(SynchronousTestCase):
    """The three ways to find a rack."""

    def test_interface(self) -> None:
        """All are resolvers."""
        for resolver in (MappingResolver(lambda: ""), ScriptResolver(lambda hosts: succeed(b"")), NoRacks()):
            self.assertTrue(verifyObject(IRackResolver, resolver))

    def test_table(self) -> None:
        """A table has a host and a path in each line, blank lines and comments."""
        self.assertEqual(parse_table("a /r1\n\n# x\n b\t/r2/s # y\n"), {"a": "/r1", "b": "/r2/s"})

    def test_bad_table(self) -> None:
        """A line that is no such pair is named."""
        for line in ("a", "a r1", "a /r1 /r2"):
            error = self.assertRaises(ConfigError, parse_table, "x /r\n" + line)
            self.assertIn("line 2", str(error))

    def test_table_is_read_again(self) -> None:
        """A host that is not in the table makes it be read again; a known one does not."""
        texts = ["a /r1", "a /r1\nb /r2"]
        resolver = MappingResolver(lambda: texts.pop(0))
        self.assertEqual(_now(self, resolver.racks(["a"])), {"a": "/r1"})
        self.assertEqual(_now(self, resolver.racks(["a"])), {"a": "/r1"})
        self.assertEqual(_now(self, resolver.racks(["b"])), {"b": "/r2"})
        self.assertEqual(texts, [])

    def test_script(self) -> None:
        """A script is asked about a hundred hosts at most at a time."""
        asked: list[int] = []

        def run(hosts: Sequence[str]) -> Deferred[bytes]:
            asked.append(len(hosts))
            return succeed("".join(f"/rack-{host}\n" for host in hosts).encode())

        hosts = [f"h{i}" for i in range(150)]
        self.assertEqual(_now(self, ScriptResolver(run).racks(hosts)), {host: f"/rack-{host}" for host in hosts})
        self.assertEqual(asked, [100, 50])

    def test_script_that_prints_too_little(self) -> None:
        """Paths that cannot be told apart are no answer."""
        resolver = ScriptResolver(lambda hosts: succeed(b"/r1"))
        self.failureResultOf(Deferred.fromCoroutine(resolver.racks(["a", "b"])), ConfigError)


@implementer(IRackResolver)
class _Resolver:
    """Answers when told."""

    version = 0

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []
        self.answers: list[Deferred[Mapping[str, str]]] = []

    async def racks(self, hosts: Sequence[str]) -> Mapping[str, str]:
        """Waits for the test."""
        self.asked.append(hosts)
        self.answers.append(Deferred())
        return await self.answers[-1]


class BookieRacksTests(SynchronousTestCase):
    """What is kept of look-ups."""

    def setUp(self) -> None:
        """Nothing is known yet."""
        self.clock = Clock()
        self.resolver = _Resolver()
        self.racks = BookieRacks(self.clock, self.resolver, self._host, "here")

    async def _host(self, bookie_id: str) -> str:
        if bookie_id == "lost":
            raise BookieHandleNotAvailableError("no address")
        return bookie_id.partition(":")[0]

    def _learn(self, *bookies: str) -> "Deferred[None]":
        return Deferred.fromCoroutine(self.racks.learn(bookies))

    def test_learn(self) -> None:
        """A bookie has the rack of its host or of its id; without one it is in the default rack."""
        learned = self._learn("a:1", "b:1", "c:1")
        self.assertEqual(self.racks.rack_of("a:1"), DEFAULT_RACK)
        self.assertEqual(self.resolver.asked, [["a", "a:1", "b", "b:1", "c", "c:1", "here"]])
        self.resolver.answers[0].callback({"a": "/r1", "b": "/r0", "b:1": "/r2", "here": "/r1"})
        self.successResultOf(learned)
        self.assertEqual([self.racks.rack_of(b) for b in ("a:1", "b:1", "c:1")], ["/r1", "/r2", DEFAULT_RACK])
        self.assertTrue(self.racks.is_known("c:1"))
        self.assertEqual(self.racks.local_rack, "/r1")

    def test_kept(self) -> None:
        """What is known is not looked up again."""
        self._learn("a:1")
        self.resolver.answers[0].callback({})
        self.successResultOf(self._learn("a:1"))
        self.assertEqual(len(self.resolver.asked), 1)
        self._learn("a:1", "b:1")
        self.assertEqual(self.resolver.asked[1], ["b", "b:1", "here"])
        self.resolver.answers[1].callback({})

    def test_one_at_a_time(self) -> None:
        """Those who ask for the same bookies at the same time share one look-up."""
        first, second = self._learn("a:1"), self._learn("a:1")
        self.assertNoResult(second)
        self.resolver.answers[0].callback({"a": "/r1"})
        self.successResultOf(first)
        self.successResultOf(second)
        self.assertEqual(len(self.resolver.asked), 1)

    def test_many_at_a_time(self) -> None:
        """However many ask at the same time, all of them go on, and one that gives up holds up no other."""
        learned = [self._learn("a:1") for _ in range(2000)]
        learned.append(self._learn("b:1"))
        learned.pop(0).addErrback(lambda failure: failure.trap(CancelledError) and None).cancel()
        self.resolver.answers[0].callback({"a": "/r1"})
        self.resolver.answers[1].callback({"b": "/r2"})
        for one in learned:
            self.successResultOf(one)
        self.assertEqual([self.racks.rack_of(one) for one in ("a:1", "b:1")], ["/r1", "/r2"])

    def test_failure(self) -> None:
        """A look-up that fails is logged and leaves the default rack; it is tried again after a while."""
        learned = self._learn("a:1")
        self.resolver.answers[0].errback(OSError("no such program"))
        self.successResultOf(learned)
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.assertFalse(self.racks.is_known("a:1"))
        self.successResultOf(self._learn("a:1"))
        self.assertEqual(len(self.resolver.asked), 1)
        self.clock.advance(RETRY)
        self._learn("a:1")
        self.resolver.answers[1].callback({"a": "/r1"})
        self.assertEqual(self.racks.rack_of("a:1"), "/r1")

    def test_without_an_address(self) -> None:
        """A bookie that has no address can have a rack by its id."""
        self._learn("lost")
        self.resolver.answers[0].callback({"lost": "/r3"})
        self.assertEqual(self.racks.rack_of("lost"), "/r3")

    def test_version(self) -> None:
        """With a new version of the resolver all bookies are looked up again; what is known remains until then."""
        self._learn("a:1", "b:1")
        self.resolver.answers[0].callback({"a": "/r1", "b": "/r1"})
        self.resolver.version += 1
        again = self._learn("a:1")
        self.assertEqual([self.racks.rack_of(one) for one in ("a:1", "b:1")], ["/r1", "/r1"])
        self.resolver.answers[1].callback({"a": "/r2"})
        self.successResultOf(again)
        self._learn("a:1", "b:1")
        self.assertEqual(self.resolver.asked[2:], [["b", "b:1", "here"]])
        self.resolver.answers[2].callback({})
        self.assertEqual([self.racks.rack_of(one) for one in ("a:1", "b:1")], ["/r2", DEFAULT_RACK])

    def test_version_after_failure(self) -> None:
        """A new version is looked up at once, also when a look-up has just failed."""
        self._learn("a:1")
        self.resolver.answers[0].errback(OSError("no such program"))
        self.flushLoggedErrors(OSError)
        self.resolver.version += 1
        self._learn("a:1")
        self.assertEqual(len(self.resolver.asked), 2)
        self.resolver.answers[1].callback({})

    def test_local_default(self) -> None:
        """A machine in the default rack is nowhere in particular."""
        self._learn("a:1")
        self.resolver.answers[0].callback({"here": DEFAULT_RACK})
        self.assertIsNone(self.racks.local_rack)
