"""What the clients of a run do while the faults strike."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bookkeeper_twisted.client import LedgerReader, LedgerWriter
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookKeeperError

from .cluster import Cluster
from .history import Call
from .world import ClientNode

T = TypeVar("T")

PASSWORD = b"secret"


class Role:
    """A client process that does one thing again and again; when it is killed, another one takes its place.

    :ivar name: of the role.
    """

    name = "role"

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.cluster = cluster
        self.history = cluster.history
        self.checker = cluster.checker
        self.chance = cluster.world.stream(self.name, number)
        self.number = number
        self.node: ClientNode

    def start(self) -> None:
        """Begins in a process of its own."""
        self.node = self.cluster.new_client(self.name, self._config())
        self.node.spawn(self._run()).addErrback(self._broken)

    def _config(self) -> ClientConfig:
        return self.cluster.config(self.number)

    def _broken(self, failure: Failure) -> None:
        self.checker.fail("crash", f"{self.node.name} ended: {failure.getTraceback()}")

    async def _run(self) -> None:
        try:
            await self.node.start()
        except BookKeeperError:
            await self.node.sleep(1)
            self.node.kill()
            self.start()
            return
        while self.cluster.chaos:
            await self.act()
            await self.pause(self.cluster.scenario.mean_pause)

    async def act(self) -> None:
        """Does it once."""
        raise NotImplementedError

    async def pause(self, mean: float) -> None:
        """Lets time pass."""
        await self.node.sleep(self.chance.expovariate(1 / mean))

    async def call(self, kind: str, ledger_id: int, work: Callable[[], Awaitable[T]]) -> T | None:
        """One call, recorded; None if it fails with an error that is allowed."""
        call = self._begin(kind, ledger_id)
        try:
            result = await work()
        except BookKeeperError as error:
            self.history.end(call, error)
            return None
        self.history.end(call)
        return result

    def _begin(self, kind: str, ledger_id: int) -> Call:
        life = self.node.life
        return self.history.begin(self.node.name, kind, ledger_id, lambda: life.alive)

    def any_ledger(self) -> int | None:
        """Mostly one of the newest."""
        ids = self.cluster.ledger_ids
        return self.chance.choice(ids[-3:] if self.chance.random() < 0.8 else ids) if ids else None


class Writer(Role):
    """Creates a ledger, appends to it until it ends or closes it, and begins another one."""

    name = "w"

    async def act(self) -> None:
        writer = await self._create()
        if writer is None:
            await self.pause(0.5)
            return
        await self._append_some(writer)
        if self.chance.random() < 0.7:
            await self._close(writer)

    async def _create(self) -> LedgerWriter | None:
        size, write, ack = self.chance.choice(self.cluster.scenario.quorums)
        writer = await self.call("create", -1, lambda: self.node.client.create_ledger(size, write, ack, PASSWORD))
        if writer is not None:
            self.cluster.ledger_ids.append(writer.ledger_id)
        return writer

    async def _append_some(self, writer: LedgerWriter) -> None:
        wanted = self.chance.randint(0, 60)
        waits = self.chance.random() < 0.5
        failed: list[BaseException] = []
        while wanted > 0 and self.cluster.chaos and not failed:
            count = self.chance.randint(1, self.cluster.scenario.max_append)
            appended = self._append(writer, count, failed)
            if waits or self.chance.random() < 0.2:
                await appended
            await self.pause(self.cluster.scenario.mean_pause)
            wanted -= count

    def _append(self, writer: LedgerWriter, count: int, failed: list[BaseException]) -> "Deferred[Any]":
        ledger_id = writer.ledger_id
        call = self._begin("append", ledger_id)
        first = writer.last_add_pushed + 1
        payloads = [self._payload(ledger_id, first + i) for i in range(count)]
        appending = self._give(writer, payloads)
        if writer.last_add_pushed == first + count - 1:
            for entry_id, payload in enumerate(payloads, first):
                self.checker.appended(ledger_id, entry_id, payload)

        def acked(result: tuple[int, int]) -> None:
            self.history.end(call, result=result)
            if result != (first, first + count - 1):
                self.checker.fail("S13", f"append of {first}..{first + count - 1} gave {result}")
            for entry_id in range(first, first + count):
                self.checker.acked(ledger_id, entry_id)

        def refused(failure: Failure) -> None:
            failure.trap(BookKeeperError)
            assert failure.value is not None
            self.history.end(call, failure.value)
            failed.append(failure.value)

        return appending.addCallbacks(acked, refused).addErrback(self._broken)

    def _give(self, writer: LedgerWriter, payloads: Sequence[bytes]) -> "Deferred[tuple[int, int]]":
        """Fires with the first and the last id."""
        return writer.append_many(payloads)

    def _payload(self, ledger_id: int, entry_id: int) -> bytes:
        return b"%d/%d/" % (ledger_id, entry_id) + self.chance.randbytes(self.chance.randint(0, 120))

    async def _close(self, writer: LedgerWriter) -> None:
        closed: list[bool] = []

        async def close() -> None:
            await writer.close()
            closed.append(True)

        await self.call("close", writer.ledger_id, close)
        if closed:
            self.checker.writer_closed(writer.ledger_id, writer.last_add_confirmed)


class TurnTaker(Writer):
    """Creates some ledgers and appends to them in turn, so that its connections carry adds of all of them."""

    name = "t"

    async def act(self) -> None:
        writers = [writer for _ in range(3) if (writer := await self._create()) is not None]
        failed: list[BaseException] = []
        for _ in range(self.chance.randint(1, 12)):
            for turn in range(self.chance.randint(1, 4) * len(writers)):
                self._append(writers[turn % len(writers)], 1, failed)
            await self.pause(self.cluster.scenario.mean_pause)
            if failed or not self.cluster.chaos:
                break
        for writer in writers:
            await self._close(writer)
        await self.pause(1)


class Reader(Role):
    """Opens ledgers without recovery and reads what is confirmed."""

    name = "r"

    async def act(self) -> None:
        await self.pause(0.3)
        ledger_id = self.any_ledger()
        if ledger_id is None:
            return
        expected = self.checker.expected_lac(ledger_id)
        reader = await self.call("open", ledger_id, lambda: self.node.client.open_ledger(ledger_id, PASSWORD, False))
        if reader is None:
            return
        self.checker.asked_lac(ledger_id, expected, reader.metadata, reader.last_add_confirmed)
        self.checker.opened(ledger_id, reader.is_closed, reader.last_add_confirmed, reader.length)
        await self.chance.choice((read_all, read_batches, self._ask_lac, self._poll, self._tail))(self, reader)
        await reader.close()

    async def _ask_lac(self, role: Role, reader: LedgerReader) -> None:
        """Asks the bookies how far it is, twice."""
        for _ in range(2):
            before, expected = reader.last_add_confirmed, self.checker.expected_lac(reader.ledger_id)
            told = await self.call("read LAC", reader.ledger_id, reader.read_last_add_confirmed)
            if told is not None:
                self.checker.asked_lac(reader.ledger_id, expected, reader.metadata, told)
            self.checker.heard_lac(reader.ledger_id, before, reader.last_add_confirmed)
        await read_all(self, reader)

    async def _poll(self, role: Role, reader: LedgerReader) -> None:
        """Waits for the next entries, one after the other."""
        for _ in range(5):
            before, wanted = reader.last_add_confirmed, reader.last_add_confirmed + 1
            poll = partial(reader.read_last_add_confirmed_and_entry, wanted, 0.4)
            found = await self.call("poll", reader.ledger_id, poll)
            self.checker.heard_lac(reader.ledger_id, before, reader.last_add_confirmed)
            if found is not None and found.entry is not None:
                self.checker.read(reader.ledger_id, found.entry.entry_id, [found.entry])

    async def _tail(self, role: Role, reader: LedgerReader) -> None:
        """Reads what comes, for as long as it comes."""
        left = self.chance.randint(1, 60)

        async def tail() -> None:
            nonlocal left
            following = 0
            async for entry in reader.tail():
                self.checker.read(reader.ledger_id, following, [entry])
                self.checker.heard_lac(reader.ledger_id, following, reader.last_add_confirmed)
                following += 1
                left -= 1
                if not left:
                    return

        await self.call("tail", reader.ledger_id, tail)


class Recoverer(Role):
    """Opens ledgers with recovery, whatever their writers do, and reads them."""

    name = "v"

    async def act(self) -> None:
        await self.pause(self.cluster.scenario.mean_recovery)
        ledger_id = self.any_ledger()
        if ledger_id is not None:
            if self.chance.random() < 0.2:  # another one at the same time
                self.node.spawn(recover(self, ledger_id)).addErrback(self._broken)
            reader = await recover(self, ledger_id)
            if reader is not None and self.chance.random() < 0.7:
                await self.chance.choice((read_all, read_batches))(self, reader)


class Deleter(Role):
    """Deletes a ledger now and then."""

    name = "d"

    async def act(self) -> None:
        await self.pause(3)
        ledger_id = self.any_ledger()
        if ledger_id is not None:
            await self.call("delete", ledger_id, lambda: self.node.client.delete_ledger(ledger_id))


async def recover(role: Role, ledger_id: int) -> LedgerReader | None:
    """Opens a ledger with recovery."""
    reader = await role.call("recover", ledger_id, lambda: role.node.client.open_ledger(ledger_id, PASSWORD))
    if reader is not None:
        role.checker.opened(ledger_id, True, reader.last_add_confirmed, reader.length)
    return reader


async def read_all(role: Role, reader: LedgerReader) -> bool:
    """Reads everything, some entries at a time.

    :returns: whether all could be read.
    """
    next_id, last = 0, reader.last_add_confirmed
    while next_id <= last:
        end = min(last, next_id + role.chance.randint(0, 20))
        entries = await role.call("read", reader.ledger_id, partial(reader.read, next_id, end))
        if entries is None:
            return False
        role.checker.read(reader.ledger_id, next_id, entries)
        next_id = end + 1
    return True


async def read_batches(role: Role, reader: LedgerReader) -> None:
    """Reads everything ahead of itself, and leaves it now and then."""
    left = role.chance.randint(1, 200)

    async def read() -> None:
        nonlocal left
        following = 0
        batches = reader.batches()
        async for batch in batches:
            role.checker.read(reader.ledger_id, following, list(batch))
            following = batch.last + 1
            left -= len(batch)
            if left <= 0:
                await batches.aclose()

    await role.call("read batches", reader.ledger_id, read)
