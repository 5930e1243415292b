"""What every door of the client has to do, written once as coroutines.

A test takes a cluster in memory and a client of it, and awaits every call.  :meth:`DoorSuite.drive` runs it through
one door; for the blocking door calls return something that can be awaited and is there already (:class:`Ready`).
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

from twisted.logger import capturedLogs, formatEvent

from bookkeeper_twisted.client import WhenFull
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    BookKeeperError,
    ClientClosedError,
    DuplicateEntryIdError,
    IncorrectParameterError,
    LedgerClosedError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
    ReadError,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.model import DigestType, LedgerState, WriteFlag

from .generator import MODULES, members_of

CALLS = {member.name: member.kind for kinds in MODULES.values() for kind in kinds for member in members_of(kind)}
"""How each call of the client ends: ``waits``, ``iteration`` or ``plain``; attributes are ``property``."""

SuiteT = TypeVar("SuiteT", bound="DoorSuite")


def driven(body: Callable[[SuiteT, Any, Any], Coroutine[Any, Any, None]]) -> Callable[[SuiteT], None]:
    """Make a test of a coroutine function that takes a cluster and a client."""

    @wraps(body)
    def test(self: SuiteT) -> None:
        async def with_client(cluster: Any) -> None:
            bk = await cluster.connect()
            await body(self, cluster, bk)
            await bk.close()

        self.drive(with_client)

    return test


class DoorSuite:
    """Behaviour that all doors share, for test cases."""

    assertEqual: Any
    assertFalse: Any
    assertIn: Any
    assertNotIn: Any
    assertTrue: Any

    def drive(self, body: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine function with a cluster of four bookies."""
        raise NotImplementedError

    async def error_of(self, kind: type[Exception], call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """The error of a call that is awaited, or of one that gives an iteration or a value at once."""
        pending = call(*arguments, **named) if CALLS.get(call.__name__, "waits") == "waits" else None
        try:
            await pending if pending is not None else call(*arguments, **named)
        except kind as error:
            return error
        raise AssertionError(f"no {kind.__name__}")

    @driven
    async def test_write_and_read(self, _: Any, bk: Any) -> None:
        """Entries come back one by one, as ranges, as batches and by iteration."""
        async with await bk.create_ledger(3, 2, 2, b"secret") as ledger:
            self.assertEqual(await ledger.append(b"a"), 0)
            self.assertEqual(await ledger.append_many([b"%d" % n for n in range(300)]), (1, 300))
            self.assertEqual((ledger.last_add_confirmed, ledger.last_add_pushed, ledger.length), (300, 300, 791))
        async with await bk.open_ledger(ledger.ledger_id, b"secret") as reader:
            self.assertEqual((await reader.read_entry(0)).data, b"a")
            self.assertEqual([e.data for e in await reader.read(1, 2)], [b"0", b"1"])
            self.assertEqual([e.entry_id async for e in reader.entries()], list(range(301)))
            self.assertEqual([e.entry_id async for e in reader.entries(290, 295)], list(range(290, 296)))
            batches = [batch async for batch in reader.batches(5)]
            self.assertEqual([i for batch in batches for i in batch.ids], list(range(5, 301)))
            self.assertEqual((await reader.read_batch(7, 2)).ids, range(7, 9))
            self.assertEqual((reader.last_add_confirmed, reader.length, reader.is_closed), (300, 791, True))
            self.assertEqual(reader.metadata.ensemble_size, 3)

    @driven
    async def test_closed_reader(self, _: Any, bk: Any) -> None:
        """A reader that was closed reads no more."""
        ledger = await bk.create_ledger()
        await ledger.append(b"a")
        await ledger.close()
        reader = await bk.open_ledger(ledger.ledger_id)
        await reader.close()
        await self.error_of(LedgerClosedError, reader.read, 0, 0)

    @driven
    async def test_leaving_an_iteration(self, _: Any, bk: Any) -> None:
        """A loop that is left early leaves a reader that goes on reading."""
        async with await bk.create_ledger() as ledger:
            await ledger.append_many([b"x"] * 10)
        async with await bk.open_ledger(ledger.ledger_id) as reader:
            for iterate in (reader.entries, reader.tail, reader.batches):
                async for _ in iterate():
                    break
            self.assertEqual(len([e async for e in reader.entries()]), 10)

    @driven
    async def test_tail(self, _: Any, bk: Any) -> None:
        """Tailing gives what is confirmed and ends with the ledger."""
        ledger = await bk.create_ledger()
        for n in range(3):
            await ledger.append(b"%d" % n)  # each confirms the one before
        reader = await bk.open_ledger(ledger.ledger_id, recover=False)
        found = []
        async for entry in reader.tail(1):
            found.append(entry.data)
            if ledger.last_add_pushed == 2:
                await ledger.append(b"3")
            elif not ledger.metadata.closed:
                await ledger.close()
        self.assertEqual(found, [b"1", b"2", b"3"])

    @driven
    async def test_following(self, cluster: Any, bk: Any) -> None:
        """A reader of an open ledger asks how far it came, waits for an entry, and reads beyond the LAC if told to."""
        # A writer that tells its LAC without an entry does so by time, which passes in some of the doors.
        writer = await cluster.connect(ClientConfig(explicit_lac_interval=0))
        ledger = await writer.create_ledger(3, 3, 2)
        await ledger.append(b"0")
        async with await bk.open_ledger(ledger.ledger_id, recover=False) as reader:
            await ledger.append(b"1")
            self.assertFalse(reader.is_closed)
            self.assertEqual(await reader.try_read_last_add_confirmed(), 0)
            self.assertEqual(await reader.read_last_add_confirmed(), 0)
            self.assertEqual([e.data for e in await reader.read_unconfirmed(0, 1)], [b"0", b"1"])
            await self.error_of(ReadError, reader.read, 0, 1)
            await ledger.append(b"2")
            news = await reader.read_last_add_confirmed_and_entry(1, 5)
            self.assertEqual((news.last_add_confirmed, news.entry.data), (1, b"1"))
        await ledger.close()
        await writer.close()

    @driven
    async def test_recovery(self, _: Any, bk: Any) -> None:
        """Opening a ledger that was left open ends its writer and keeps what that acknowledged."""
        ledger = await bk.create_ledger()
        await ledger.append(b"last words")
        reader = await bk.open_ledger(ledger.ledger_id)
        self.assertEqual([e.data async for e in reader.entries()], [b"last words"])
        await self.error_of(BookKeeperError, ledger.append, b"more")

    @driven
    async def test_own_ids(self, _: Any, bk: Any) -> None:
        """A writer that numbers its entries writes under these ids, each once."""
        async with await bk.create_ledger_adv(77, 3, 2, 2, digest_type=DigestType.HMAC) as ledger:
            self.assertEqual(ledger.ledger_id, 77)
            self.assertEqual(await ledger.write(0, b"zero"), 0)
            self.assertEqual(await ledger.write(1, b"one"), 1)
            await self.error_of(DuplicateEntryIdError, ledger.write, 1, b"uno")
        async with await bk.open_ledger(77) as reader:
            self.assertEqual([e.data async for e in reader.entries()], [b"zero", b"one"])

    @driven
    async def test_deferred_sync(self, _: Any, bk: Any) -> None:
        """With deferred sync entries are confirmed by a force and not by their acknowledgement."""
        ledger = await bk.create_ledger(3, 2, 2, write_flags=WriteFlag.DEFERRED_SYNC)
        await ledger.append(b"a")
        self.assertEqual(ledger.last_add_confirmed, -1)
        await ledger.force()
        self.assertEqual(ledger.last_add_confirmed, 0)
        await ledger.close()

    @driven
    async def test_appender(self, _: Any, bk: Any) -> None:
        """What an appender is offered is in the ledger when that is closed."""
        async with await bk.create_ledger() as ledger:
            appender = ledger.appender(WhenFull.CODE)
            for _ in range(3):
                appender.offer(b"x")
        async with await bk.open_ledger(ledger.ledger_id) as reader:
            self.assertEqual(reader.last_add_confirmed, 2)

    @driven
    async def test_ledgers(self, _: Any, bk: Any) -> None:
        """Ledgers are listed, described and deleted."""
        for n in range(3):
            await (await bk.create_ledger(custom_metadata={"n": b"%d" % n})).close()
        ids = [ledger_id async for ledger_id in bk.list_ledgers()]
        metadata = await bk.ledger_metadata(ids[1])
        self.assertEqual((metadata.state, metadata.custom_metadata), (LedgerState.CLOSED, {"n": b"1"}))
        await bk.delete_ledger(ids[1])
        self.assertEqual([ledger_id async for ledger_id in bk.list_ledgers()], [ids[0], ids[2]])

    @driven
    async def test_logger_context(self, _: Any, bk: Any) -> None:
        """The fields of the caller come through every door into the log lines about the ledger."""
        fields = {"tenant": "acme"}
        with capturedLogs() as events:
            await (await bk.create_ledger(logger_context=fields)).append(b"x")
            await (await bk.create_ledger_adv(77, logger_context=fields)).close()
            await (await bk.open_ledger(0, logger_context=fields)).close()
            await bk.delete_ledger(77, fields)
        ours = [str(formatEvent(event)) for event in events if event.get("logger_context") == fields]
        found = [line.partition(" on ")[0] for line in ours]
        for text in ("ledger 0 is created", "ledger 77 is created"):
            self.assertIn(text, found)
        for text in ("ledger 0 is recovered, up to entry 0", "ledger 77 is deleted"):
            self.assertIn(f"{text} [tenant=acme]", found)

    @driven
    async def test_errors(self, _: Any, bk: Any) -> None:
        """Errors of the client come through every door as they are."""
        ledger = await bk.create_ledger(password=b"secret")
        await ledger.close()
        await self.error_of(UnauthorizedAccessError, bk.open_ledger, ledger.ledger_id, b"guess")
        await self.error_of(NoSuchLedgerMetadataError, bk.open_ledger, 99)
        await self.error_of(NoSuchLedgerMetadataError, bk.delete_ledger, 99)
        await self.error_of(IncorrectParameterError, bk.create_ledger, 2, 3, 3)
        await self.error_of(NotEnoughBookiesError, bk.create_ledger, 5, 5, 5)
        await self.error_of(LedgerClosedError, ledger.append, b"x")

    @driven
    async def test_lost_bookie(self, cluster: Any, bk: Any) -> None:
        """A writer goes on with another bookie when one is lost, and a reader with the replicas."""
        ledger = await bk.create_ledger(3, 3, 2)
        await ledger.append(b"before")
        lost = ledger.metadata.segments[0].bookies[0]
        await cluster.stop_bookie(lost)
        await ledger.append(b"after")
        await ledger.append(b"and on")
        await ledger.close()
        self.assertNotIn(lost, ledger.metadata.segments[-1].bookies)
        async with await bk.open_ledger(ledger.ledger_id) as reader:
            self.assertEqual([e.data async for e in reader.entries()], [b"before", b"after", b"and on"])
        await cluster.start_bookie(lost)
        await (await bk.create_ledger(4, 4, 4)).close()

    @driven
    async def test_error_in_the_body(self, _: Any, bk: Any) -> None:
        """An error in the body of a writer's context is what is seen; the ledger is closed all the same."""
        try:
            async with await bk.create_ledger() as ledger:
                await ledger.append(b"a")
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        reader = await bk.open_ledger(ledger.ledger_id, recover=False)
        self.assertTrue(reader.is_closed)

    @driven
    async def test_closed_client(self, cluster: Any, _: Any) -> None:
        """Leaving the context of a client closes it, and it alone."""
        async with await cluster.connect() as bk, await cluster.connect() as other:
            await bk.close()
            await (await other.create_ledger()).close()
        await self.error_of(ClientClosedError, bk.create_ledger)


class Ready:
    """A result, or an error, that can be awaited, or iterated over, though it is there already."""

    def __init__(self, value: Any, error: BaseException | None = None) -> None:
        self._value = value
        self._error = error

    def __await__(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value
        yield  # makes this a generator, as Python wants it

    async def __aiter__(self) -> Any:
        for item in self._value:
            yield item


class Awaitable:
    """A blocking object whose calls can be awaited."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        kind = CALLS.get(name, "waits")
        if not callable(value) or kind == "plain":
            return value

        @wraps(value)
        def call(*arguments: Any, **named: Any) -> Ready:
            try:
                result = value(*arguments, **named)
            except Exception as error:
                if kind == "iteration":
                    raise
                return Ready(None, error)
            ours = type(result).__module__.startswith("bookkeeper_twisted.blocking")
            return Ready(Awaitable(result) if ours else result)

        return call

    def __repr__(self) -> str:
        return repr(self._inner)

    async def __aenter__(self) -> "Awaitable":
        self._inner.__enter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._inner.__exit__(*error)
