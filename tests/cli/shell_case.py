"""A shell on a cluster in memory, for the tests of its commands."""

import json
import posixpath
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.plugin import getPlugins
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.commands import COMMANDS
from bookkeeper_twisted.cli.shell import run_shell
from bookkeeper_twisted.cli.shell_command import NotConfirmedError, ShellWorld, StoreAccess
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.admin import BookKeeperAdmin
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.metadata.drivers import create_driver
from bookkeeper_twisted.metadata.interfaces import IMetadataDriverFactory
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint
from bookkeeper_twisted.placement.interfaces import IPlacementPolicy
from bookkeeper_twisted.storage.interfaces import IFileSystem
from bookkeeper_twisted.testing.bookies import MemoryBookies

from ..simulated_disk.sim_disk import SimDisk
from ..simulated_disk.sim_index import FILE_NAME, SimIndex
from ..simulated_disk.sim_key_values import SimKeyValues

BOOKIES = ("127.0.0.1:3281", "127.0.0.1:3282", "127.0.0.1:3283", "bookie-four")


def sim_index(fs: IFileSystem, directory: str) -> SimIndex | None:
    """The index of a directory, if there is one."""
    return SimIndex.open(fs, directory) if fs.exists(posixpath.join(directory, FILE_NAME)) else None


class _Files(dict[str, bytes]):
    """Files in memory."""

    def read(self, name: str) -> bytes:
        """Gives one."""
        if name not in self:
            raise FileNotFoundError(2, "No such file or directory", name)
        return self[name]

    def write(self, name: str, data: bytes) -> None:
        """Keeps one."""
        self[name] = data


class ShellCase(SynchronousTestCase):
    """Four bookies, one of them with an id of its own; every test has a cluster of its own.

    :ivar printed: lines of the last command.
    :ivar complaints: and those where errors go.
    :ivar disk: with the directories of the local bookie.
    :ivar connect: makes the client of a command.
    :ivar out: takes the lines instead of :attr:`printed`.
    :ivar progress: title, total and sum of what was shown by the last command.
    :ivar forced: whether that was to be shown without a terminal, too.
    :ivar own_host_of: gives the name or address of the machine.
    :ivar tick: seconds that pass while a command waits, many times over.
    :ivar screen: what a command can draw on; None for no terminal.
    :ivar requests: method, URL and body of each HTTP request.
    :ivar http_answer: to the next one.
    :ivar answers: what is answered to questions; each that is asked takes one; None for the end of the input.
    """

    def setUp(self) -> None:
        """Starts the cluster."""
        self.clock: Any = Clock()
        self.uri = f"memory:{self.id()}"
        self.addCleanup(self._forget_store)
        own = {"BK_advertisedAddress": "127.0.0.1", "BK_allowLoopback": "true"}
        self.environ = {"BK_metadataServiceUri": self.uri, **own}
        self.bookies = MemoryBookies(self.clock)
        self.files = _Files()
        self.disk = SimDisk()
        self.store = StoreAccess(self.disk, sim_index, self.disk, SimIndex.open, SimKeyValues.open)
        self.own_host_of: Callable[[BookieConfig], str] = lambda config: "127.0.0.1"
        self.tick = 0.0
        self.answers: list[bool | None] = []
        self.requests: list[tuple[str, str, bytes]] = []
        self.screen: Any = None
        self.http_answer: Deferred[tuple[int, bytes]] = Deferred()
        self.questions: list[str] = []
        self.cluster: Any = create_driver(self.clock, self.uri)
        self.do(self.cluster.open())
        registration: Any = self.cluster.registration
        for port, bookie_id in enumerate(BOOKIES, 3281):
            info = BookieServiceInfo((Endpoint("bookie", "127.0.0.1", port, "bookie-rpc"),))
            self.do(registration.register_bookie(bookie_id, False, info))
        self.connect: Any = self._connect
        self.out: Callable[[str], None] | None = None
        self.client = self.do(self._connect(self.uri, ClientConfig())).client

    def _forget_store(self) -> None:
        for factory in getPlugins(IMetadataDriverFactory):
            if "memory" in factory.schemes:
                factory._named.pop(self.uri.partition(":")[2], None)  # type: ignore[attr-defined]

    def _connect(
        self, uri: str, config: ClientConfig, placement: IPlacementPolicy | None = None
    ) -> "Deferred[BookKeeperAdmin]":
        async def connected() -> BookKeeperAdmin:
            driver = create_driver(self.clock, uri)
            await driver.open()
            # each client closes its connections, so each has its own to the same bookies
            bookies = MemoryBookies(self.clock)
            bookies._bookies = self.bookies._bookies
            return BookKeeperAdmin(BookKeeper(self.clock, driver, bookies, Random(3), config, placement))

        return Deferred.fromCoroutine(connected())

    def _ask(self, question: str) -> bool:
        self.questions.append(question)
        answer = self.answers.pop(0)
        if answer is None:
            raise NotConfirmedError("not confirmed: nothing was done")
        return answer

    def _http(
        self, method: str, url: str, body: bytes, config: ClientConfig
    ) -> "Deferred[tuple[int, bytes]]":
        self.requests.append((method, url, body))
        return self.http_answer

    @contextmanager
    def _progress(
        self, title: str, total: int | None, unit: str, forced: bool
    ) -> Iterator[Callable[[int], object]]:
        done: list[int] = []
        yield done.append
        self.progress.append((title, total, sum(done)))
        self.forced = forced

    def settle(self) -> None:
        """Everything goes its way."""
        for _ in range(40):
            self.clock.advance(self.tick)

    def do(self, work: Any) -> Any:
        """The result of a Deferred or coroutine."""
        deferred = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        self.settle()
        return self.successResultOf(deferred)

    def shell(self, *arguments: str) -> int:
        """Runs a command; gives its exit status."""
        status: int = self.do(self.begin(*arguments))
        return status

    def begin(self, *arguments: str) -> "Deferred[int]":
        """Begins a command, which may have to wait; fires with its exit status."""
        self.printed: list[str] = []
        self.progress: list[tuple[str, int | None, int]] = []
        self.forced = False
        self.complaints: list[str] = []
        world = ShellWorld(
            self.clock, self.environ, self.out or self.printed.append, self.complaints.append, self._ask, self.files,
            self.connect, lambda host: succeed((host, "localhost")), self.own_host_of, self.store,
            self._progress, self._http, lambda: self.screen,
        )  # fmt: skip
        return Deferred.fromCoroutine(run_shell(arguments, world))

    def rows(self, *arguments: str, status: int = 0) -> list[dict[str, Any]]:
        """The JSON objects that a command prints, one a line, and nothing else; all have the members of its rows."""
        self.assertEqual(self.shell(*arguments, "-json"), status, self.complaints)
        found = [json.loads(text) for text in self.printed]
        name = next(argument for argument in arguments if argument in COMMANDS)
        row = COMMANDS[name].row
        assert row is not None
        for each in found:
            self.assertEqual(tuple(each), row.members())
        return found

    def spoil(self, ledger_id: int) -> None:
        """Store something that is no metadata as the metadata of a ledger."""
        store = self.cluster.ledgers._store
        version = store.read_ledger(ledger_id).version
        store.write_ledger(ledger_id, b"BookieMetadataLedgerTSERsion\t3\n\xff\x00\xff", version)

    def written(self, count: int, close: bool = True, **options: Any) -> int:
        """A ledger of entries of 10, 20, 30 ... bytes."""
        writer = self.do(self.client.create_ledger(**{"ensemble_size": 4, "write_quorum": 3, **options}))
        for n in range(count):
            self.do(writer.append(bytes((n * 31 + 7 * i) % 256 for i in range(10 * (n + 1)))))
        if close:
            self.do(writer.close())
        ledger_id: int = writer.ledger_id
        return ledger_id
