"""Every operation, with every call of it losing its answer, executed or not: the outcome is the same."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import attrs

from bookkeeper_twisted.errors import LedgerExistsError, MetadataVersionError
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.metadata.zookeeper.interfaces import NotConnectedError, OutcomeUnknownError
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import CLOSED, INFO, OPEN

from .rig import Store, ZooKeeperCase, ended

MINE = attrs.evolve(OPEN, c_token=77)

Operation = Callable[[Any], Coroutine[Any, Any, object]]
OPERATIONS: dict[str, tuple[tuple[Operation, ...], Operation]] = {
    "create ledger": ((), lambda d: d.ledgers.create(1 << 40, MINE)),
    "write ledger": ((lambda d: d.ledgers.create(1, MINE),), lambda d: d.ledgers.write(1, CLOSED, 0)),
    "remove ledger": ((lambda d: d.ledgers.create(1, MINE),), lambda d: d.ledgers.remove(1, 0)),
    "read ledger": ((lambda d: d.ledgers.create(1, MINE),), lambda d: d.ledgers.read(1)),
    "list ledgers": ((lambda d: d.ledgers.create(1, MINE),), lambda d: _listed(d)),
    "register": ((), lambda d: d.registration.register_bookie("a:1", False, INFO)),
    "register read-only": ((), lambda d: d.registration.register_bookie("a:1", True, INFO)),
    "become read-only": (
        (lambda d: d.registration.register_bookie("a:1", False, INFO),),
        lambda d: d.registration.register_bookie("a:1", True, INFO),
    ),
    "unregister": (
        (lambda d: d.registration.register_bookie("a:1", False, INFO),),
        lambda d: d.registration.unregister_bookie("a:1"),
    ),
    "bookies": ((), lambda d: d.registration.writable_bookies()),
    "create cookie": ((), lambda d: d.registration.write_cookie("a:1", b"c", None)),
    "replace cookie": (
        (lambda d: d.registration.write_cookie("a:1", b"c", None),),
        lambda d: d.registration.write_cookie("a:1", b"d", 0),
    ),
    "remove cookie": (
        (lambda d: d.registration.write_cookie("a:1", b"c", None),),
        lambda d: d.registration.remove_cookie("a:1", 0),
    ),
    "mark": ((), lambda d: d.underreplication.mark(5, ["a:1"], 1)),
    "mark again": (
        (lambda d: d.underreplication.mark(5, ["a:1"], 1),),
        lambda d: d.underreplication.mark(5, ["b:1"], 2),
    ),
    "remove mark": (
        (lambda d: d.underreplication.mark(5, ["a:1"], 1),),
        lambda d: d.underreplication.remove_mark(5, 0),
    ),
    "lock": ((), lambda d: d.underreplication.lock(5, "host")),
    "unlock": ((lambda d: d.underreplication.lock(5, "host"),), lambda d: d.underreplication.unlock(5)),
    "instance id": ((), lambda d: d.registration.instance_id()),
}


async def _listed(driver: Any) -> list[int]:
    return [ledger_id async for ledger_id in driver.ledgers.ledger_ids()]


class UnknownOutcomeTests(ZooKeeperCase):
    """Answers that get lost (safety: metadata faults)."""

    def _run_of(self, name: str, **loss: Any) -> tuple[object, object, int]:
        """Result, stored nodes and number of calls of an operation on a new store."""
        self.setUp()
        before, operation = OPERATIONS[name]
        driver, zookeeper = self.opened()
        for step in before:
            self.run_(step(driver))
        n_before = len(zookeeper.calls)
        if loss:
            zookeeper.lose(**loss)
        result = self.run_(operation(driver))
        for _ in range(8):
            self.clock.advance(0.25)  # a registration may have to be renewed
        stored = [(p, n.data, n.version, n.owner == zookeeper.session_id) for p, n in self.server.dump("/ledgers")]
        n_calls = len(zookeeper.calls) - n_before
        self.run_(driver.close())
        return result, stored, n_calls

    def test_lost_answers(self) -> None:
        """With the session going on, results and stored nodes are those of an undisturbed run (S15)."""
        for name in OPERATIONS:
            result, stored, n_calls = self._run_of(name)
            self.assertGreater(n_calls, 0)
            for after in range(n_calls):
                for is_executed in (True, False):
                    with self.subTest(f"{name}, call {after}, executed: {is_executed}"):
                        again = self._run_of(name, after=after, is_executed=is_executed)
                        self.assertEqual(again[:2], (result, stored))

    def test_expired_sessions(self) -> None:
        """The same where the session ends with the connection: what it had registered is registered again."""
        for name in OPERATIONS:
            result, stored, n_calls = self._run_of(name)
            for after in range(n_calls):
                for is_executed in (True, False):
                    with self.subTest(f"{name}, call {after}, executed: {is_executed}"):
                        again = self._run_of(name, after=after, is_executed=is_executed, expires=True)
                        self.assertEqual(again[:2], (result, stored))

    def test_ids(self) -> None:
        """An id whose answer was lost is skipped, never given; its node goes with the session."""
        driver, zookeeper = self.opened()
        self.assertEqual(self.run_(driver.ledgers.generate_id()), 0)
        at = zookeeper.calls[-3:].index("create")
        for is_executed, expected in ((True, 2), (False, 3)):
            zookeeper.lose(is_executed, after=1 + at)
            self.assertEqual(self.run_(driver.ledgers.generate_id()), expected)
        self.run_(driver.close())
        self.assertEqual(list(self.server.find("/ledgers/idgen").children), [])

    def test_create_without_token(self) -> None:
        """A ledger that may be another client's is not taken for one's own."""
        driver, zookeeper = self.opened()
        zookeeper.lose(True, after=4)
        self.fails(LedgerExistsError, driver.ledgers.create(1, OPEN))
        self.assertEqual(self.run_(driver.ledgers.read(1)), Versioned(OPEN, 0))

    def test_lost_race(self) -> None:
        """A write whose answer was lost, and that another write had overtaken, has lost."""
        driver, zookeeper = self.opened()
        self.run_(driver.ledgers.create(1, MINE))
        other, _ = self.opened()
        for is_executed in (True, False):
            version = self.run_(other.ledgers.read(1)).version
            zookeeper.lose(is_executed)
            running = self.start(driver.ledgers.write(1, CLOSED, version))
            self.run_(other.ledgers.write(1, MINE, version + is_executed))
            self.failureResultOf(ended(self.clock, running), MetadataVersionError)

    def test_lost_again_and_again(self) -> None:
        """After a bounded number of repetitions the caller is told that the outcome is unknown; a read has none."""
        driver, zookeeper = self.opened()
        for after in range(20):
            zookeeper.lose(True, after=after)
        before = len(zookeeper.calls)
        self.fails(OutcomeUnknownError, driver.ledgers.remove(1))
        self.assertEqual(len(zookeeper.calls) - before, 4)
        error = self.fails(NotConnectedError, driver.ledgers.read(1))
        self.assertEqual(len(zookeeper.calls) - before, 8)
        self.assertIn("was not done", error)


class AdminOutcomeTests(ZooKeeperCase):
    """Making and formatting a cluster, with answers that get lost."""

    def _runs(self, operation: Callable[[Any], Coroutine[Any, Any, object]]) -> Iterator[tuple[object, list[str]]]:
        """The outcome without a loss, and with each of them."""
        n_calls = 0
        for after in [-1, *range(40)]:
            for is_executed in (True, False):
                store = Store()
                admin = store.admin(self.clock)
                self.run_(admin.open())
                if after >= 0:
                    store.connections[0].lose(is_executed, after=after)
                result = self.run_(operation(admin))
                n_calls = n_calls or len(store.connections[0].calls)
                yield result, store.paths()
            if after == n_calls:
                return

    def test_initialize(self) -> None:
        """The client that has made the cluster gets True."""
        (expected, *others) = self._runs(lambda admin: admin.initialize())
        self.assertEqual(expected[0], True)
        for other in others:
            self.assertEqual(other, expected)

    def test_format(self) -> None:
        """Formatting ends with a whole cluster."""
        (expected, *others) = self._runs(lambda admin: admin.format())
        self.assertEqual(sorted(expected[1]), ["INSTANCEID", "LAYOUT", "available", "available/readonly"])
        for other in others:
            self.assertEqual(other, expected)
