"""The connection through kazoo passes the suite on a real ZooKeeper."""

from collections.abc import Callable
from typing import Any

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from benchmarks.shared.zookeeper import shared_zookeeper
from bookkeeper_twisted.metadata.interfaces import MetadataOptions
from bookkeeper_twisted.metadata.zookeeper.kazoo_client import KazooZooKeeper
from bookkeeper_twisted.testing.contracts.metadata.zookeeper_contract import make_zookeeper_tests


def _make_server(test: TestCase) -> tuple[str, Callable[[], Any]]:
    server = shared_zookeeper()
    return server.new_root(), lambda: KazooZooKeeper(reactor, server.hosts, MetadataOptions())


class KazooTests(make_zookeeper_tests(_make_server)):  # type: ignore[misc]
    """The contract."""
