"""The driver on a SQLite file passes the suite, inline and on its thread; URIs."""

import os
from collections.abc import Callable

from twisted.internet import reactor  # noqa: TID251
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bookkeeper_twisted.errors import InvalidMetadataUriError, MetadataError
from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metadata.embedded.sqlite import path_of_uri, sqlite_driver
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker, ThreadWorker
from bookkeeper_twisted.testing.contracts.metadata.metadata_contract import make_metadata_driver_tests


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
