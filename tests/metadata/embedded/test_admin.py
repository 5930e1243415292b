"""Making and unmaking the cluster in memory and in a SQLite file."""

import os

from twisted.trial.unittest import TestCase

from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.embedded.sqlite import sqlite_admin, sqlite_driver
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker
from bookkeeper_twisted.testing.contracts.metadata.cluster_admin_contract import EmptyStore, make_cluster_admin_tests


def _memory(test: TestCase) -> EmptyStore:
    store = MemoryStore()
    return EmptyStore(store.driver, store.admin)


def _sqlite(test: TestCase) -> EmptyStore:
    uri = "sqlite:///" + os.path.abspath(test.mktemp())
    return EmptyStore(
        lambda clock: sqlite_driver(clock, uri, InlineWorker()), lambda clock: sqlite_admin(clock, uri, InlineWorker())
    )


class MemoryAdminTests(make_cluster_admin_tests(_memory)):  # type: ignore[misc]
    """The contract."""


class SqliteAdminTests(make_cluster_admin_tests(_sqlite)):  # type: ignore[misc]
    """The contract."""
