"""The driver on a SQLite file passes the suite, inline and on its thread; URIs."""

import os
import sqlite3
from collections.abc import Callable
from typing import Any

from twisted.internet import reactor  # noqa: TID251
from twisted.internet.defer import CancelledError, Deferred, DeferredQueue
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bookkeeper_twisted.errors import InvalidMetadataUriError, MetadataError, NoSuchLedgerMetadataError
from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metadata.embedded.sqlite import path_of_uri, sqlite_driver
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker, ThreadWorker
from bookkeeper_twisted.testing.contracts.metadata.metadata_contract import make_metadata_driver_tests
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import CLOSED, INFO, OPEN


def _inline(test: TestCase) -> Callable[[Clock], EmbeddedDriver]:
    uri = "sqlite:///" + os.path.abspath(test.mktemp())
    return lambda clock: sqlite_driver(clock, uri, InlineWorker())


def _threaded(test: TestCase) -> Callable[[Clock], EmbeddedDriver]:
    uri = "sqlite:///" + os.path.abspath(test.mktemp())
    return lambda clock: sqlite_driver(clock, uri, ThreadWorker(IReactorFromThreads(reactor), "test"))


class InlineTests(make_metadata_driver_tests(_inline)):  # type: ignore[misc]
    """The contract, every call run at once."""


class ThreadTests(make_metadata_driver_tests(_threaded)):  # type: ignore[misc]
    """The contract, as in production."""


class LockedTests(TestCase):
    """A driver, as in production, on a file in which another process has a write transaction."""

    timeout = 60

    async def _start(self) -> None:
        """Open the driver, with ledger 1; let the other process begin."""
        path = os.path.abspath(self.mktemp())
        self.driver = sqlite_driver(reactor, f"sqlite:///{path}", ThreadWorker(IReactorFromThreads(reactor), "test"))
        self.addCleanup(lambda: Deferred.fromCoroutine(self.driver.close()))
        await self.driver.open()
        await self.driver.registration.register_bookie("a:1", False, INFO)
        self.created = await self.driver.ledgers.create(1, OPEN)
        self.other = sqlite3.connect(path, isolation_level=None)
        self.addCleanup(self.other.close)
        for table in ("registrations VALUES ('b:1', 0, ?, '')", "replication_locks VALUES (1, ?, 'host')"):
            self.other.execute(f"INSERT INTO {table}", ("dead",))
        self.other.execute("INSERT INTO auditor_votes (session, candidate) VALUES ('dead', 'b:1')")
        self.other.execute("BEGIN IMMEDIATE")

    async def test_reads(self) -> None:
        """Every read is served while a write waits, also where a dead process left rows; the write is made later."""
        await self._start()
        driver = self.driver
        writing = Deferred.fromCoroutine(driver.ledgers.write(1, CLOSED, self.created.version))
        self.assertEqual(await driver.ledgers.read(1), self.created)
        self.assertEqual([ledger_id async for ledger_id in driver.ledgers.ledger_ids()], [1])
        self.assertEqual(await driver.registration.writable_bookies(), {"a:1"})
        self.assertEqual(await driver.registration.service_info("a:1"), INFO)
        self.assertEqual(await driver.registration.all_bookies(), frozenset())
        self.assertEqual(await driver.underreplication.locked_ledgers(), {})
        self.assertIs(await driver.underreplication.is_enabled(), True)
        self.assertIsNone(await driver.auditing.auditor())
        told: DeferredQueue[Any] = DeferredQueue()
        self.addCleanup(driver.registration.watch_bookies(lambda writable, read_only: told.put(writable)))
        self.assertEqual(await told.get(), {"a:1"})
        self.assertNoResult(writing)
        self.other.execute("ROLLBACK")
        written = await writing
        self.assertEqual(await driver.ledgers.read(1), written)

    async def test_given_up(self) -> None:
        """A write that is given up while it waits is not made after a read that found it not made."""
        await self._start()
        writing = Deferred.fromCoroutine(self.driver.ledgers.create(2, OPEN))
        await self.driver.ledgers.read(1)
        writing.addErrback(lambda failure: failure.trap(CancelledError))
        writing.cancel()
        for end in (lambda: None, lambda: self.other.execute("ROLLBACK")):
            with self.assertRaises(NoSuchLedgerMetadataError):
                await self.driver.ledgers.read(2)
            end()
        await self.driver.ledgers.create(2, OPEN)


class UriTests(SynchronousTestCase):
    """:func:`path_of_uri`."""

    def test_paths(self) -> None:
        """Three slashes are relative to the working directory, four absolute."""
        self.assertEqual(path_of_uri("sqlite:////var/meta.db"), "/var/meta.db")
        self.assertEqual(path_of_uri("sqlite:///var/meta.db"), os.path.abspath("var/meta.db"))
        self.assertEqual(path_of_uri("SQLite:///./a b%20c"), os.path.abspath("a b%20c"))

    def test_refused(self) -> None:
        """No path, hosts, parameters and SQLite's own stores in memory are refused."""
        for uri in (
            "sqlite:", "sqlite://", "sqlite:///", "sqlite:////", "sqlite:relative", "sqlite:/absolute", "zk:///a",
            "sqlite://host/path", "sqlite:///:memory:", "sqlite:///a?mode=ro", "sqlite://///a",
        ):  # fmt: skip
            with self.subTest(uri):
                self.assertRaises(InvalidMetadataUriError, path_of_uri, uri)


class OpenTests(SynchronousTestCase):
    """Opening what is no store."""

    def _refused(self, path: str) -> str:
        driver = sqlite_driver(Clock(), f"sqlite:///{path}", InlineWorker())
        failure = self.failureResultOf(Deferred.fromCoroutine(driver.open()), MetadataError)
        self.successResultOf(Deferred.fromCoroutine(driver.close()))
        return str(failure.value)

    def test_not_a_database(self) -> None:
        """A file of something else is named and left alone."""
        path = os.path.abspath(self.mktemp())
        with open(path, "wb") as file:
            file.write(b"something else" * 100)
        self.assertIn(path, self._refused(path))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"something else" * 100)

    def test_folder_that_cannot_be_made(self) -> None:
        """A path through a file is an error with the path in it."""
        path = self.mktemp()
        with open(path, "wb"):
            pass
        self.assertIn(path, self._refused(os.path.abspath(path) + "/below/metadata.db"))
