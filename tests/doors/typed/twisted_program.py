"""Twisted's door, in coroutines and with Deferreds."""

from collections.abc import AsyncGenerator
from typing import assert_type

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from bookkeeper_twisted import (
    AdvLedgerWriter,
    BookKeeper,
    ClientConfig,
    Confirmed,
    DigestType,
    Entry,
    EntryBatch,
    LedgerMetadata,
    LedgerReader,
    LedgerWriter,
    ThreadAppender,
)


async def write(bk: BookKeeper) -> None:
    """Writers."""
    async with await bk.create_ledger(1, 1, 1, password=b"x", digest_type=DigestType.HMAC) as ledger:
        assert_type(ledger, LedgerWriter)
        assert_type(await ledger.append(b"x"), int)
        assert_type(await ledger.append_many([b"x", bytearray(b"y"), memoryview(b"z")]), tuple[int, int])
        assert_type(await ledger.force(), None)
        assert_type(ledger.appender(), ThreadAppender)
        assert_type((ledger.ledger_id, ledger.last_add_confirmed, ledger.last_add_pushed), tuple[int, int, int])
        assert_type(ledger.metadata, LedgerMetadata)
        assert_type(ledger.append(b"x"), Deferred[int])
        forgotten: int = ledger.append(b"x")  # type: ignore[assignment]
        await ledger.append("text")  # type: ignore[arg-type]
        await ledger.apend(b"x")  # type: ignore[attr-defined]
    async with await bk.create_ledger_adv(7) as adv:
        assert_type(adv, AdvLedgerWriter)
        assert_type(await adv.write(0, b"x"), int)
    print(forgotten)


async def read(bk: BookKeeper) -> None:
    """Readers."""
    async with await bk.open_ledger(7, password=None, recover=False) as reader:
        assert_type(reader, LedgerReader)
        assert_type(await reader.read(0, 1), list[Entry])
        assert_type(await reader.read_entry(0), Entry)
        assert_type(await reader.read_unconfirmed(0, 1), list[Entry])
        assert_type(await reader.read_batch(0, 10), EntryBatch)
        assert_type([batch async for batch in reader.batches()], list[EntryBatch])
        assert_type(reader.entries(0, 5), AsyncGenerator[Entry, None])
        async for entry in reader:
            assert_type(entry, Entry)
        async for entry in reader.tail():
            assert_type(entry.data, bytes)
        async for batch in reader.tail_batches(3):
            assert_type(batch, EntryBatch)
        assert_type(await reader.read_last_add_confirmed(), int)
        assert_type(await reader.try_read_last_add_confirmed(), int)
        assert_type(await reader.read_last_add_confirmed_and_entry(1, timeout=5), Confirmed)
        assert_type((reader.length, reader.is_closed), tuple[int, bool])
        await reader.read(0, 1, timeout=5)  # type: ignore[call-arg]


async def main(reactor: IReactorTime) -> None:
    """The client."""
    async with await BookKeeper.connect(reactor, "memory:", ClientConfig(read_ahead_bytes=1)) as bk:
        assert_type(bk, BookKeeper)
        assert_type(await bk.ledger_metadata(7), LedgerMetadata)
        assert_type(await bk.delete_ledger(7), None)
        assert_type([ledger_id async for ledger_id in bk.list_ledgers()], list[int])
        assert_type(await bk.close(), None)
        await bk.open_ledger("7")  # type: ignore[arg-type]
