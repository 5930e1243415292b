"""Runs taken apart again, so that results can be compared whatever the chunks were."""

from collections.abc import Iterable
from typing import Any

from bookkeeper_twisted.codec.messages import Header, ReadResponse
from bookkeeper_twisted.codec.operations import Operation, V2Op
from bookkeeper_twisted.codec.runs import (
    AddReplies,
    AddRun,
    BatchRead,
    BatchReply,
    ReadReply,
    ReadRun,
)
from bookkeeper_twisted.codec.v2 import replies_out as v2_replies_out
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import replies_out as v3_replies_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wire_protocol import IWireProtocol
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import Status

from .wire_examples import v3_adds

REQUESTS_OUT: dict[Any, Any] = {V2: v2_requests_out, V3: v3_requests_out}
REPLIES_OUT: dict[Any, Any] = {V2: v2_replies_out, V3: v3_replies_out}


def single_runs(item: AddRun) -> list[EntryRun]:
    """The entries of adds, each as a run."""
    return [
        EntryRun.of_entries(run.ledger_id, run.first + i, [entry])
        for run in item.entries.runs() for i, entry in enumerate(run.entries())
    ]  # fmt: skip


def split(items: Iterable[object]) -> list[object]:
    """Each run of adds, reads or add replies as runs of one; everything else as it is."""
    singles: list[object] = []
    for item in items:
        if isinstance(item, AddRun):
            singles += [
                AddRun(
                    item.wire, item.version, item.flags, item.deferred_sync, item.master_key, one,
                    item.txn_ids[i : i + 1],
                )
                for i, one in enumerate(single_runs(item))
            ]  # fmt: skip
        elif isinstance(item, ReadRun):
            singles += [
                ReadRun(item.wire, item.version, item.flags, [ledger], [entry], list(item.txn_ids[i : i + 1]))
                for i, (ledger, entry) in enumerate(zip(item.ledger_ids, item.entry_ids, strict=True))
            ]
        elif isinstance(item, AddReplies):
            singles += [
                AddReplies(item.status, [ledger_id], [item.entry_ids[i]], item.txn_ids[i : i + 1])
                for i, ledger_id in enumerate(item.ledger_ids)
            ]
        else:
            singles.append(item)
    return singles


def plain(item: object) -> object:
    """A value that compares by content: runs and replies as tuples."""
    if isinstance(item, EntryRun):
        return ("entries", item.ledger_id, item.first, tuple(item.entries()), item.data)
    if type(item).__module__ == AddRun.__module__:
        fields = [getattr(item, name) for name in type(item).__slots__]  # type: ignore[attr-defined]
        return (type(item).__name__, *[_value(field) for field in fields])
    return item


def _value(field: object) -> object:
    if isinstance(field, list | tuple | range):
        return tuple(field)
    return plain(field) if isinstance(field, EntryRun) else field


def flat(items: Iterable[object]) -> list[object]:
    """What items stand for, comparable, one value for each request or reply."""
    return [plain(item) for item in split(items)]


def encode_request(item: object) -> bytes:
    """The bytes of one request as its sender would make them."""
    if isinstance(item, AddRun):
        assert isinstance(item.entries, EntryRun)
        if item.wire is V2:
            return v2_requests_out.encode_adds(item.master_key, item.entries, item.flags, item.version)
        return v3_adds(item.master_key, item.entries, item.flags, item.deferred_sync, item.txn_ids[0])
    if isinstance(item, ReadRun):
        more: dict[str, Any] = {"version": item.version} if item.wire is V2 else {"first_txn_id": item.txn_ids[0]}
        return REQUESTS_OUT[item.wire].encode_reads(  # type: ignore[no-any-return]
            item.ledger_ids[0], item.entry_ids, item.flags, **more
        )
    if isinstance(item, BatchRead):
        return REQUESTS_OUT[item.wire].encode_batch_read(item)  # type: ignore[no-any-return]
    return REQUESTS_OUT[item.header.wire].encode_request(item)  # type: ignore[attr-defined, no-any-return]


def encode_reply(item: object, wire: IWireProtocol, version: int) -> bytes:
    """The bytes of one reply as a bookie would make them for a request of this protocol and version."""
    if isinstance(item, AddReplies):
        entries = EntryRun.of_entries(item.ledger_ids[0], item.entry_ids[0], [b""] * len(item.entry_ids))
        return AddRun(wire, version, 0, False, b"", entries, item.txn_ids).replies(item.status)
    if isinstance(item, ReadReply):
        operation = V2Op.READ if wire is V2 else Operation.READ
        header = Header(wire, version, operation, item.txn_id or 0)
        response = ReadResponse(
            header, item.status, item.ledger_id, item.entry_id, item.entry, item.max_lac, item.lac_update_timestamp
        )
        return REPLIES_OUT[wire].encode_response(response)  # type: ignore[no-any-return]
    if isinstance(item, BatchReply):
        request = BatchRead(wire, version, 0, item.ledger_id, item.first, item.request_id, 0, 0)
        if item.entries is None:
            return request.failure(item.status)
        assert item.status is Status.EOK
        return b"".join(request.success([item.entries], item.max_lac))
    return REPLIES_OUT[wire].encode_response(item)  # type: ignore[no-any-return]
