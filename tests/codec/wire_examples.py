"""Values the wire tests share: entries, keys, streams of mixed requests, hypothesis strategies."""

import struct
from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.operations import Operation, V2Op
from bookkeeper_twisted.codec.runs import BatchRead
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.entries.entry_run import EntryRun

KEY = bytes(range(20))
OTHER_KEY = bytes(20)
LIMIT = 5 * 1024 * 1024

quick = settings(max_examples=60)

id64 = st.integers(min_value=0, max_value=(1 << 63) - 1)
signed64 = st.integers(min_value=-(1 << 63), max_value=(1 << 63) - 1)


def entry(ledger_id: int, entry_id: int, size: int = 41) -> bytes:
    """An entry of ``size`` bytes, at least 24; payload and digest are a pattern."""
    head = struct.pack(">qqq", ledger_id, entry_id, max(entry_id - 1, -1))
    return head + bytes([(entry_id * 31 + i) % 256 for i in range(size - len(head))])


def run(ledger_id: int, first: int, sizes: list[int]) -> EntryRun:
    """Consecutive entries of the given sizes."""
    return EntryRun.of_entries(ledger_id, first, [entry(ledger_id, first + i, n) for i, n in enumerate(sizes)])


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data cut at the given places."""
    edges = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def v3_adds(
    master_key: bytes, entries: EntryRun, flags: int = 0, deferred_sync: bool = False, first_txn_id: int = 0
) -> bytes:
    """V3 adds of all entries of a run."""
    ids = entries.ledger_id, entries.first
    return v3_requests_out.encode_adds(master_key, *ids, entries.entries(), flags, deferred_sync, first_txn_id)


def v2_requests() -> bytes:
    """Every kind of V2 request, several times, in series and mixed."""
    return b"".join([
        v2_requests_out.encode_adds(KEY, run(7, 0, [100] * 40)),
        v2_requests_out.encode_adds(KEY, run(7, 40, [100, 101, 101, 24, 3000])),
        v2_requests_out.encode_adds(OTHER_KEY, run(7, 45, [50] * 3), flags=6),
        v2_requests_out.encode_adds(KEY, run(8, 0, [50, 50])),
        v2_requests_out.encode_adds(KEY, run(7, 5, [50])),
        v2_requests_out.encode_adds(KEY, run(-7, 5, [50])),
        v2_requests_out.encode_adds(KEY, run(7, -2, [50] * 4)),
        v2_requests_out.encode_adds(KEY, run(7, 9, [20]), version=5),
        v2_requests_out.encode_reads(7, range(30)),
        v2_requests_out.encode_reads(7, [-1], flags=4),
        v2_requests_out.encode_request(m.ReadRequest(m.Header(V2, 2, V2Op.READ), 7, -1, True, True, KEY)),
        v2_requests_out.encode_batch_read(BatchRead(V2, 2, 0, 7, 3, 99, 10, 4096)),
        v2_requests_out.encode_request(m.AuthRequest(m.Header(V2, 2, V2Op.AUTH), "sasl", b"token")),
        v2_requests_out.encode_reads(9, [1, 5, 3]),
    ])  # fmt: skip


def v3_requests() -> bytes:
    """Every kind of V3 request, several times, in series and mixed."""
    header = m.Header(V3, 3, Operation.READ_LAC, 77, 100)
    return b"".join([
        v3_adds(KEY, run(7, 100, [100] * 60), 0, False, 100),
        v3_adds(KEY, run(7, 160, [100, 101, 101, 24, 3000]), 0, False, 160),
        v3_adds(b"short", run(7, 165, [50] * 3), 6, False, 20000),
        v3_adds(KEY, run(8, 0, [50] * 20), 0, True, 1),
        v3_adds(KEY, run(8, -5, [50] * 10), 0, False, 1),
        v3_requests_out.encode_reads(7, range(120, 140), 0, 1),
        v3_requests_out.encode_reads(7, [-1, 4], 4, 1 << 40),
        v3_requests_out.encode_request(m.ReadRequest(m.Header(V3, 3, 1, 5), 7, -1, True, False, KEY)),
        v3_requests_out.encode_batch_read(BatchRead(V3, 3, 1, 7, 3, 99, 10, 4096, KEY, 5, 1000)),
        v3_requests_out.encode_request(m.ReadLacRequest(header, 7)),
        v3_requests_out.encode_request(m.StartTlsRequest(m.Header(V3, 3, Operation.START_TLS, 9))),
        v3_requests_out.encode_request(m.ReadLacRequest(m.Header(V3, 2, Operation.READ_LAC, 10), 7)),
        v3_requests_out.encode_reads(9, [1, 5, 3], 0, 6),
    ])  # fmt: skip
