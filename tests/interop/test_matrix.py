"""The matrix: either client, on either's bookies and on both, by both wire protocols, with every digest."""

import itertools
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.production import system_chance
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.model import DigestType

from .actors import Actor, Dialect, JavaActor, NamedBookies, OurActor
from .cluster import Cluster, shared_cluster
from .scenarios import SCENARIOS, Stage
from .table import Cell, Table

ENSEMBLES = {"ours": (3, 0), "Java": (0, 3), "2 ours, 1 Java": (2, 1), "1 ours, 2 Java": (1, 2)}
"""How many bookies of ours and of Apache's."""

CLIENTS = ("ours", "Java")
WIRES = (2, 3)

_table = Table(("writer", "reader", "bookies", "wire"), tuple(SCENARIOS))


def has_cell(reader: str, wire: int, column: str) -> bool:
    """Whether a cell exists: Apache's client has no batch reads in V3."""
    return (reader, wire, column) != ("Java", 3, "batch read")


def cells() -> Iterator[Cell]:
    """All of the matrix."""
    for writer, reader, bookies, wire in itertools.product(CLIENTS, CLIENTS, ENSEMBLES, WIRES):
        for column, digest in itertools.product(SCENARIOS, DigestType):
            if has_cell(reader, wire, column):
                yield Cell((writer, reader, bookies, f"V{wire}"), column, digest.name)


class MatrixCase(TestCase):
    """A row of a table with one digest: all scenarios, at once."""

    timeout = 120
    table = _table

    def cluster(self) -> Cluster:
        """The cluster of the table."""
        return shared_cluster()

    def config(self, wire: int) -> ClientConfig:
        """The configuration of our client."""
        return ClientConfig(wire_protocol=f"v{wire}")

    async def play(self, writer: str, reader: str, bookies: str, wire: int, digest: DigestType) -> None:
        """A row of the table with one digest."""
        cluster = self.cluster()
        ours, apache = ENSEMBLES[bookies]
        stage = Stage(
            await self._actor(cluster, writer, "writer", wire), await self._actor(cluster, reader, "reader", wire),
            Dialect(wire, digest), (*cluster.ours[:ours], *cluster.apache[:apache]), not apache,
            lambda: deferToThread(cluster.batch_reads),
        )  # fmt: skip
        failures: dict[str, str] = {}
        for column in (column for column in SCENARIOS if has_cell(reader, wire, column)):
            error = await self._try(SCENARIOS[column], stage)
            self.table.record(Cell((writer, reader, bookies, f"V{wire}"), column, digest.name), error is None)
            if error is not None:
                failures[column] = error
        self.assertEqual(failures, {})

    @staticmethod
    async def _try(scenario: Callable[[Stage], Awaitable[None]], stage: Stage) -> str | None:
        try:
            await scenario(stage)
        except Exception as error:  # reported: by the assertion of the row, and in the table
            return f"{type(error).__name__}: {error}"
        return None

    async def _actor(self, cluster: Cluster, kind: str, role: str, wire: int) -> Actor:
        """A client of its own, so that the writer and its reader share nothing."""
        if kind == "Java":
            return JavaActor(cluster.java, role, wire)
        placement = NamedBookies(system_chance())
        client = await BookKeeper.connect(reactor, cluster.uri, self.config(wire), placement)
        self.addCleanup(client.close)
        return OurActor(client)


class MatrixTests(MatrixCase):
    """Each test is a row of the table."""


def _test(*row: Any) -> Callable[[MatrixTests], "Deferred[None]"]:
    def test(self: MatrixTests) -> "Deferred[None]":
        return Deferred.fromCoroutine(self.play(*row))

    writer, reader, bookies, wire, digest = row
    test.__doc__ = f"{writer} writes, {reader} reads; bookies: {bookies}; V{wire}, {digest.name}."
    return test


for _row in itertools.product(CLIENTS, CLIENTS, ENSEMBLES, WIRES, DigestType):
    _words = "_".join(str(getattr(word, "name", word)) for word in _row).replace(", ", "_").replace(" ", "_")
    setattr(MatrixTests, f"test_{_words.lower()}", _test(*_row))


class TableTests(TestCase):
    """After the matrix: trial sorts classes by name."""

    def test_complete(self) -> None:
        """Every cell of the matrix was tried and has passed; prints the table."""
        shared_cluster()
        print(f"\n{_table.text()}")
        self.assertEqual(_table.missing(cells()), [])
