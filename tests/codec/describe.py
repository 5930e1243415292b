"""The text the captured conversations give to a frame, made from what our decoder says it is."""

import struct

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.availability import encode_availability
from bookkeeper_twisted.codec.operations import FENCE, HIGH_PRIORITY, RECOVERY_ADD
from bookkeeper_twisted.codec.runs import AddReplies, AddRun, BatchRead, BatchReply, ReadReply, ReadRun
from bookkeeper_twisted.entries.entry_run import EntryRun

_FLAGS = ((FENCE, "DO_FENCING"), (RECOVERY_ADD, "RECOVERY_ADD"), (HIGH_PRIORITY, "HIGH_PRIORITY"))


def _join(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _field(name: str, value: object | None) -> str:
    return "" if value is None else f"{name} {value}"


def _bytes(name: str, value: bytes | None) -> str:
    return "" if value is None else f"{name} {len(value)}B"


def _packet(entry: bytes) -> str:
    """Ids of an entry, where it has all of its header."""
    if len(entry) < 32:
        return ""
    return "[ledger {} entry {} lac {} length {}]".format(*struct.unpack_from(">qqqq", entry))


def _entry(name: str, entry: bytes | None) -> str:
    return "" if entry is None else f"{name} {len(entry)}B {_packet(entry)}".rstrip()


def _v2_flags(flags: int) -> str:
    names = [name for bit, name in _FLAGS if flags & bit]
    unknown = flags & ~(FENCE | RECOVERY_ADD | HIGH_PRIORITY)
    if unknown:
        names.append(f"unknown 0x{unknown:x}")
    return "flags " + "|".join(names) if names else ""


# ---- V2 ----------------------------------------------------------------------------------------------


def v2_request(item: object) -> str:
    """One request."""
    if isinstance(item, AddRun):
        assert isinstance(item.entries, EntryRun)
        (entry,) = item.entries.entries()
        packet = _packet(entry)
        return _join(
            f"version {item.version}", _v2_flags(item.flags), f"add {packet + ' ' * bool(packet)}packet {len(entry)}B"
        )
    if isinstance(item, ReadRun):
        ids = (f"ledger {item.ledger_ids[0]}", f"entry {item.entry_ids[0]}")
        return _join(f"version {item.version}", _v2_flags(item.flags), *ids)
    if isinstance(item, m.ReadRequest):
        flags = _v2_flags(FENCE * item.fence | HIGH_PRIORITY * item.high_priority)
        ids = (f"ledger {item.ledger_id}", f"entry {item.entry_id}")
        return _join(f"version {item.header.version}", flags, *ids, _more(item.master_key))
    if isinstance(item, BatchRead):
        limits = (f"requestId {item.request_id}", f"maxCount {item.max_count}", f"maxSize {item.max_size}")
        ids = (f"ledger {item.ledger_id}", f"entry {item.first}")
        return _join(f"version {item.version}", _v2_flags(item.flags), *ids, *limits, _more(item.master_key))
    assert isinstance(item, m.AuthRequest), item
    return _join(f"version {item.header.version}", f"authPluginName {item.plugin}", _bytes("payload", item.payload))


def _more(key: bytes | None) -> str:
    return "" if key is None else f"with {len(key)} more bytes"


def v2_response(item: object, version: int) -> str:
    """One response; the version is not part of what a client is told."""
    start = f"version {version}"
    if isinstance(item, AddReplies):
        return _join(start, item.status.name, f"ledger {item.ledger_ids[0]}", f"entry {item.entry_ids[0]}")
    if isinstance(item, ReadReply):
        ids = (f"ledger {item.ledger_id}", f"entry {item.entry_id}")
        return _join(start, item.status.name, *ids, _entry("entry packet", item.entry))
    if isinstance(item, BatchReply):
        count = item.entries.count if item.entries else 0
        where = f"ledger {item.ledger_id}, entry {item.first}, requestId {item.request_id}"
        return _join(start, item.status.name, where, f"{count} entries")
    assert isinstance(item, m.AuthResponse), item
    return _join(start, f"authPluginName {item.plugin}", _bytes("payload", item.payload))


# ---- V3 ----------------------------------------------------------------------------------------------


def _header(header: m.Header) -> str:
    version = f"header version {header.version}" if header.version != 3 else ""
    return _join(f"txnId {header.txn_id}", f"priority {header.priority}" if header.priority else "", version)


def v3_request(item: object) -> str:
    """One request; a high priority is 100 where the decoder keeps no more of it."""
    if isinstance(item, AddRun):
        assert isinstance(item.entries, EntryRun)
        (entry,) = item.entries.entries()
        fields = _join(
            "flag 1" if item.flags & RECOVERY_ADD else "", f"ledgerId {item.entries.ledger_id}",
            f"entryId {item.entries.first}", _bytes("masterKey", item.master_key), _entry("body", entry),
            "writeFlags 1" if item.deferred_sync else "",
        )  # fmt: skip
        return _join(_run_header(item.txn_ids[0], item.flags), f"addRequest{{{fields}}}")
    if isinstance(item, ReadRun):
        fields = f"ledgerId {item.ledger_ids[0]}, entryId {item.entry_ids[0]}"
        return _join(_run_header(item.txn_ids[0], item.flags), f"readRequest{{{fields}}}")
    header = _header(item.header)  # type: ignore[attr-defined]
    name, fields = _v3_request_fields(item)
    return _join(header, f"{name}{{{fields}}}")


def _run_header(txn_id: int, flags: int) -> str:
    return _join(f"txnId {txn_id}", "priority 100" if flags & HIGH_PRIORITY else "")


def _v3_request_fields(item: object) -> tuple[str, str]:
    match item:
        case m.ReadRequest():
            return "readRequest", _join(
                "flag 1" if item.fence else "flag 2" if item.piggyback else "",
                f"ledgerId {item.ledger_id}", f"entryId {item.entry_id}", _bytes("masterKey", item.master_key),
                _field("previousLAC", item.previous_lac), _field("timeOut", item.timeout_ms),
            )  # fmt: skip
        case m.AuthRequest():
            return "authRequest", _join(f"authPluginName {item.plugin}", _bytes("payload", item.payload))
        case m.WriteLacRequest():
            ids = (f"ledgerId {item.ledger_id}", f"lac {item.lac}")
            return "writeLacRequest", _join(*ids, _bytes("masterKey", item.master_key), _bytes("body", item.body))
        case m.ReadLacRequest():
            return "readLacRequest", f"ledgerId {item.ledger_id}"
        case m.BookieInfoRequest():
            return "getBookieInfoRequest", f"requested {item.requested}" if item.requested else ""
        case m.StartTlsRequest():
            return "startTLSRequest", ""
        case m.ForceLedgerRequest():
            return "forceLedgerRequest", f"ledgerId {item.ledger_id}"
        case m.ListEntriesRequest():
            return "getListOfEntriesOfLedgerRequest", f"ledgerId {item.ledger_id}"
    raise AssertionError(item)


def v3_response(item: object) -> str:
    """One response.  Bookies give the outer and the inner status the same value, so one is kept."""
    if isinstance(item, AddReplies):
        status = f"status {item.status.name}"
        ids = f"ledgerId {item.ledger_ids[0]}, entryId {item.entry_ids[0]}"
        return f"txnId {item.txn_ids[0]}, {status}, addResponse{{{status}, {ids}}}"
    if isinstance(item, ReadReply):
        status = f"status {item.status.name}"
        where = f"ledgerId {item.ledger_id}, entryId {item.entry_id}"
        stamp = _field("lacUpdateTimestamp", item.lac_update_timestamp)
        fields = _join(status, where, _entry("body", item.entry), _field("maxLAC", item.max_lac), stamp)
        return f"txnId {item.txn_id}, {status}, readResponse{{{fields}}}"
    status = f"status {item.status.name}"  # type: ignore[attr-defined]
    name, fields = _v3_response_fields(item, status)
    return _join(_header(item.header), status, f"{name}{{{fields}}}" if name else "")  # type: ignore[attr-defined]


def _v3_response_fields(item: object, status: str) -> tuple[str, str]:
    match item:
        case m.AuthResponse():
            return "authResponse", _join(f"authPluginName {item.plugin}", _bytes("payload", item.payload))
        case m.WriteLacResponse():
            return "writeLacResponse", _join(status, f"ledgerId {item.ledger_id}")
        case m.ReadLacResponse():
            bodies = (_bytes("lacBody", item.lac_body), _entry("lastEntryBody", item.last_entry))
            return "readLacResponse", _join(status, f"ledgerId {item.ledger_id}", *bodies)
        case m.BookieInfoResponse():
            total = _field("totalDiskCapacity", item.total_disk_capacity)
            return "getBookieInfoResponse", _join(status, total, _field("freeDiskSpace", item.free_disk_space))
        case m.StartTlsResponse():
            return ("startTLSResponse", "") if item.status == 0 else ("", "")
        case m.ForceLedgerResponse():
            return "forceLedgerResponse", _join(status, f"ledgerId {item.ledger_id}")
        case m.ListEntriesResponse():
            packed = None if item.ranges is None else encode_availability(item.ranges)
            listing = _bytes("availabilityOfEntriesOfLedger", packed)
            return "getListOfEntriesOfLedgerResponse", _join(status, f"ledgerId {item.ledger_id}", listing)
        case m.ErrorResponse():
            return "", ""
    raise AssertionError(item)
