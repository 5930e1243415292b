"""One SQLite metadata file, several real processes."""

import json
import os
import signal
import sys
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredQueue, gatherResults
from twisted.internet.error import ProcessDone
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.errors import BookieRegisteredError
from bookkeeper_twisted.metadata.drivers import create_driver
from bookkeeper_twisted.metadata.interfaces import MetadataOptions
from bookkeeper_twisted.model import BookieServiceInfo

_PRELUDE = """
import json, sys
from twisted.internet import reactor, task
from twisted.internet.defer import Deferred
from bookkeeper_twisted.metadata.drivers import create_driver
from bookkeeper_twisted.metadata.interfaces import MetadataOptions
from bookkeeper_twisted.model import BookieServiceInfo, LedgerMetadata, Segment

OPEN = LedgerMetadata(1, 1, 1, (Segment(0, ("a:1",)),))

async def main(reactor, uri):
    driver = create_driver(reactor, uri, MetadataOptions(create=True))
    await driver.open()
    await work(driver)
    await driver.close()

def run():
    task.react(lambda reactor, uri: Deferred.fromCoroutine(main(reactor, uri)), sys.argv[1:])
"""

_WRITER = """
async def work(driver):
    ids = []
    for _ in range(25):
        ids.append(await driver.ledgers.generate_id())
        await driver.ledgers.create(ids[-1], OPEN)
    print(json.dumps(ids))
run()
"""

_BOOKIE = """
async def work(driver):
    await driver.registration.register_bookie("a:1", False, BookieServiceInfo())
    print("registered", flush=True)
    await Deferred()
run()
"""

_CARELESS = """
async def work(driver):
    print("open", flush=True)
    raise RuntimeError("the program fails and closes nothing")
run()
"""


_HOLDER = """
import sqlite3
db = sqlite3.connect(sys.argv[1].removeprefix("sqlite:///"), isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


class _Child(ProcessProtocol):
    """A process whose output is collected.

    :ivar line: fires with the first line.
    :ivar ended: fires with all output, or fails.
    """

    def __init__(self) -> None:
        self.line: Deferred[bytes] = Deferred()
        self.ended: Deferred[bytes] = Deferred()
        self._output = b""
        self._errors = b""

    def outReceived(self, data: bytes) -> None:
        self._output += data
        if b"\n" in self._output and not self.line.called:
            self.line.callback(self._output.partition(b"\n")[0])

    def errReceived(self, data: bytes) -> None:
        self._errors += data

    def processEnded(self, reason: Failure) -> None:
        if not self.line.called:
            self.line.errback(AssertionError(self._errors.decode()))
        if reason.check(ProcessDone):
            self.ended.callback(self._output)
        else:
            self.ended.errback(reason)


class ProcessTests(TestCase):
    """Processes that write at once, and one that is killed."""

    timeout = 60

    def setUp(self) -> None:
        self.uri = "sqlite:///" + os.path.abspath(self.mktemp())

    def _spawn(self, code: str) -> tuple[_Child, Any]:
        child = _Child()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        arguments = [sys.executable, "-c", _PRELUDE + code, self.uri]
        return child, reactor.spawnProcess(child, sys.executable, arguments, environment)

    async def _driver(self) -> Any:
        driver = create_driver(reactor, self.uri, MetadataOptions(create=True))
        self.addCleanup(lambda: Deferred.fromCoroutine(driver.close()))
        await driver.open()
        return driver

    async def test_concurrent_writers(self) -> None:
        """Four processes that begin at once on no file give no id twice, and lose no ledger."""
        children = [self._spawn(_WRITER)[0] for _ in range(4)]
        outputs = await gatherResults([child.ended for child in children])
        ids = [ledger_id for output in outputs for ledger_id in json.loads(output)]
        self.assertEqual(sorted(ids), list(range(100)))
        driver = await self._driver()
        self.assertEqual([i async for i in driver.ledgers.ledger_ids()], list(range(100)))

    async def test_careless_program(self) -> None:
        """A program that fails without closing its driver ends all the same."""
        child, _ = self._spawn(_CARELESS)
        await child.line
        reason = await child.ended.addBoth(lambda outcome: outcome.value if isinstance(outcome, Failure) else outcome)
        self.assertEqual(reason.exitCode, 1)

    async def test_stopped_in_a_transaction(self) -> None:
        """A process that was stopped in a write transaction holds up writes alone, which go on when it is gone."""
        driver = await self._driver()
        child, process = self._spawn(_HOLDER)
        await child.line
        process.signalProcess(signal.SIGSTOP)
        writing = Deferred.fromCoroutine(driver.ledgers.generate_id())
        self.assertEqual(await driver.registration.writable_bookies(), set())
        self.assertEqual([i async for i in driver.ledgers.ledger_ids()], [])
        self.assertFalse(writing.called)
        process.signalProcess(signal.SIGKILL)
        await child.ended.addErrback(lambda reason: None)
        self.assertEqual(await writing, 0)

    async def test_killed_bookie(self) -> None:
        """A bookie killed without warning is gone for its watchers, and its successor registers at once."""
        child, process = self._spawn(_BOOKIE)
        await child.line
        driver = await self._driver()
        told: DeferredQueue[Any] = DeferredQueue()
        self.addCleanup(driver.registration.watch_bookies(lambda writable, read_only: told.put(writable)))
        self.assertEqual(await told.get(), {"a:1"})
        with self.assertRaises(BookieRegisteredError):
            await driver.registration.register_bookie("a:1", False, BookieServiceInfo())
        process.signalProcess(signal.SIGKILL)
        await child.ended.addErrback(lambda reason: None)
        successor = await self._driver()
        await successor.registration.register_bookie("a:1", True, BookieServiceInfo())
        self.assertEqual(await told.get(), set())
        self.assertEqual(await driver.registration.read_only_bookies(), {"a:1"})
