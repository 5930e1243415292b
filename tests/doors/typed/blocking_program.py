"""Blocking calls."""

from collections.abc import Iterator
from typing import assert_type

from bookkeeper_twisted import ClientConfig, Confirmed, DigestType, Entry, EntryBatch, LedgerMetadata, ThreadAppender
from bookkeeper_twisted.blocking import AdvLedgerWriter, BookKeeper, LedgerReader, LedgerWriter


def write(bk: BookKeeper) -> None:
    """Writers."""
    with bk.create_ledger(1, 1, 1, password=b"x", digest_type=DigestType.HMAC) as ledger:
        assert_type(ledger, LedgerWriter)
        assert_type(ledger.append(b"x"), int)
        assert_type(ledger.append_many([b"x", bytearray(b"y"), memoryview(b"z")]), tuple[int, int])
        assert_type(ledger.force(), None)
        assert_type(ledger.appender(), ThreadAppender)
        assert_type((ledger.ledger_id, ledger.last_add_confirmed, ledger.last_add_pushed), tuple[int, int, int])
        assert_type(ledger.metadata, LedgerMetadata)
        ledger.append("text", timeout=1)  # type: ignore[arg-type]
        ledger.apend(b"x")  # type: ignore[attr-defined]
    with bk.create_ledger_adv(7) as adv:
        assert_type(adv, AdvLedgerWriter)
        assert_type(adv.write(0, b"x"), int)


def read(bk: BookKeeper) -> None:
    """Readers."""
    with bk.open_ledger(7, password=None, recover=False) as reader:
        assert_type(reader, LedgerReader)
        assert_type(reader.read(0, 1), list[Entry])
        assert_type(reader.read_entry(0), Entry)
        assert_type(reader.read_unconfirmed(0, 1), list[Entry])
        assert_type(reader.read_batch(0, 10), EntryBatch)
        assert_type(reader.batches(timeout=1), Iterator[EntryBatch])
        assert_type(reader.entries(0, 5), Iterator[Entry])
        for entry in reader:
            assert_type(entry, Entry)
        for entry in reader.tail():
            assert_type(entry.data, bytes)
        for batch in reader.tail_batches(3):
            assert_type(batch, EntryBatch)
        assert_type(reader.read_last_add_confirmed(), int)
        assert_type(reader.try_read_last_add_confirmed(), int)
        assert_type(reader.read_last_add_confirmed_and_entry(1, timeout=5), Confirmed)
        assert_type((reader.length, reader.is_closed), tuple[int, bool])
        assert_type(reader.read(0, 1, timeout=5), list[Entry])


def main() -> None:
    """The client."""
    with BookKeeper.connect("memory:", ClientConfig(read_ahead_bytes=1), timeout=5) as bk:
        assert_type(bk, BookKeeper)
        assert_type(bk.ledger_metadata(7), LedgerMetadata)
        assert_type(bk.delete_ledger(7), None)
        assert_type(list(bk.list_ledgers()), list[int])
        assert_type(bk.close(), None)
        bk.open_ledger("7")  # type: ignore[arg-type]
