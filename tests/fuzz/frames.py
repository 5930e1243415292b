"""Requests drawn from the codec: good ones, odd ones, and some that are broken on purpose."""

import struct
from collections.abc import Callable, Sequence
from random import Random

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.operations import Operation, V2Op
from bookkeeper_twisted.codec.runs import FENCE, HIGH_PRIORITY, RECOVERY_ADD, BatchRead
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.entries.entry_run import EntryRun

from .model import LEDGERS, MANY, content

KEY, OTHER_KEY, VICTIMS_KEY = b"k" * 20, b"o" * 20, b"v" * 20
VICTIMS = tuple(0x5A5A_5A5A_0000_0000 + i for i in range(20))
"""Ledgers that are fenced, and written with bytes that were damaged on the way; no bit away from those of the model."""

LONG = (1 << 63) - 1
ENDS = (-LONG - 1, -(1 << 31), -0x8000, -0x2000, -0x1000, -2, -1, 0, 1, 1 << 31, (1 << 32) - 1, LONG - 1, LONG)
STARTS = (0, 0, 100, 1000, (1 << 31) - 6, (1 << 32) - 6, (1 << 62), (1 << 63) - 40)
"""First ids of stretches in which peers write and read."""

Make = Callable[[], bytes]


class Frames:
    """Draws requests.

    :param random: all that is drawn comes from it.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._both: Sequence[Make] = (
            self._good_adds, self._good_adds, self._scattered_adds, self._forged_adds, self._reads, self._reads,
            self._batch, self._fence, self._victim_adds, self._auth,
        )  # fmt: skip
        self._v3_only: Sequence[Make] = (self._lac, self._ask, self._ask, self._poll)
        self._wire = 2

    def stream(self) -> tuple[bytes, bool]:
        """What one connection sends, and whether there are frames in it that are none."""
        random = self._random
        self._wire = random.choice((2, 3))
        frames = [self._frame() for _ in range(random.choice((1, 1, 3, 10, 40)))]
        if random.random() < 0.02:
            frames.append(self._adds_in_turn())
        if random.random() < 0.15:  # V3 may be followed by V2; the other way round ends the connection
            self._wire = 5 - self._wire
            frames += [self._frame() for _ in range(3)]
        is_broken = random.random() < 0.25
        if is_broken:
            frames.insert(random.randrange(len(frames) + 1), self._broken())
        return b"".join(frames), is_broken

    def _frame(self) -> bytes:
        return self._random.choice((*self._both, *self._v3_only) if self._wire == 3 else self._both)()

    # -- what is drawn of a request --

    def _ledger(self) -> int:
        random = self._random
        return random.choice(LEDGERS) if random.random() < 0.7 else random.choice((*VICTIMS, *ENDS, 999))

    def _ledger_to_read(self) -> int:
        return self._random.choice(MANY) if self._random.random() < 0.3 else self._ledger()

    def _entry(self) -> int:
        random = self._random
        if random.random() < 0.3:
            return random.choice(ENDS)
        return min(random.choice(STARTS) + random.randrange(-3, 40), LONG)

    def _number(self) -> int:
        return self._random.choice((*ENDS, self._random.getrandbits(62)))

    def _header(self, operation: int) -> m.Header:
        if self._wire == 2:
            return m.Header(V2, self._random.choice((2, 2, 2, 1, 3, 127)), operation)
        priority = self._random.choice((0, 0, 0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1))
        return m.Header(V3, self._random.choice((3, 3, 3, 1)), operation, self._random.getrandbits(64), priority)

    def _flags(self) -> int:
        return self._random.choice((0, 0, 0, RECOVERY_ADD, HIGH_PRIORITY, RECOVERY_ADD | HIGH_PRIORITY))

    # -- requests of both protocols --

    def _adds(self, key: bytes, ledger_id: int, first: int, bodies: Sequence[bytes]) -> bytes:
        random = self._random
        if self._wire == 3:
            deferred, number = random.random() < 0.1, random.getrandbits(random.choice((7, 14, 40)))
            return v3_requests_out.encode_adds(key, ledger_id, first, list(bodies), self._flags(), deferred, number)
        return v2_requests_out.encode_adds(key, EntryRun.of_entries(ledger_id, first, bodies), self._flags())

    def _stretch(self, longest: int = 12) -> range:
        start = self._random.choice(STARTS) + self._random.randrange(30)
        return range(start, min(start + self._random.randrange(1, longest + 1), LONG + 1))

    def _good_adds(self) -> bytes:
        ledger_id, ids = self._random.choice(LEDGERS), self._stretch()
        return self._adds(KEY, ledger_id, ids[0], [content(ledger_id, entry_id) for entry_id in ids])

    def _adds_in_turn(self) -> bytes:
        """An entry or two of each of many ledgers: their rows of the index are packed."""
        start, count = self._random.choice((0, 0, 5, 1000)), self._random.choice((1, 2))
        ids = range(start, start + count)
        return b"".join([self._adds(KEY, each, start, [content(each, entry_id) for entry_id in ids]) for each in MANY])

    def _scattered_adds(self) -> bytes:
        """Entries that lie alone, as those of striped ledgers: each is a row of its own in the index."""
        ledger_id = self._random.choice(LEDGERS)
        ids = self._random.sample(range(0, 60_000, 3), 20)
        return b"".join(self._adds(KEY, ledger_id, entry_id, [content(ledger_id, entry_id)]) for entry_id in ids)

    def _forged_adds(self) -> bytes:
        """Other bytes for the entries of the model, with a key that is not theirs."""
        ledger_id, ids = self._random.choice(LEDGERS), self._stretch(3)
        bodies = [content(ledger_id, entry_id)[:24] + b"forged" for entry_id in ids]
        return self._adds(OTHER_KEY, ledger_id, ids[0], bodies)

    def _victim_adds(self) -> bytes:
        size = self._random.choice((0, 8, 100, 100, 5000, 300_000))
        ledger_id, ids = self._random.choice(VICTIMS), self._stretch(3)
        bodies = [struct.pack(">qqq", ledger_id, entry_id, -1) + bytes(size) for entry_id in ids]
        return self._adds(VICTIMS_KEY, ledger_id, ids[0], bodies)

    def _reads(self) -> bytes:
        random, ledger_id = self._random, self._ledger_to_read()
        ids: Sequence[int] = self._stretch(40)
        if random.random() < 0.4:
            ids = [self._entry() for _ in range(random.randrange(1, 20))]
        if self._wire == 3:
            return v3_requests_out.encode_reads(ledger_id, ids, self._flags() & HIGH_PRIORITY, random.getrandbits(30))
        return v2_requests_out.encode_reads(ledger_id, ids, self._flags() & HIGH_PRIORITY)

    def _batch(self) -> bytes:
        random = self._random
        wire = V2 if self._wire == 2 else V3
        ledger_id, first = self._ledger_to_read(), self._entry()
        flags, key = random.choice(((0, None), (0, None), (FENCE, OTHER_KEY)))
        count = random.choice((-(1 << 31), -1, 0, 1, 5, 1000, (1 << 31) - 1))
        batch = BatchRead(wire, self._wire, flags, ledger_id, first, self._number(), count, self._number(), key)
        return v2_requests_out.encode_batch_read(batch) if self._wire == 2 else v3_requests_out.encode_batch_read(batch)

    def _fence(self) -> bytes:
        """A fencing read: of the model's ledgers with a wrong key, of others with their key or one that becomes it."""
        operation = V2Op.READ if self._wire == 2 else Operation.READ
        ledger_id = self._ledger()
        key = VICTIMS_KEY if ledger_id in VICTIMS else OTHER_KEY
        request = m.ReadRequest(self._header(operation), ledger_id, self._entry(), fence=True, master_key=key)
        return self._encode(request)

    def _auth(self) -> bytes:
        operation = V2Op.AUTH if self._wire == 2 else Operation.AUTH
        token = bytes(self._random.choice((0, 5, 10_000)))
        return self._encode(m.AuthRequest(self._header(operation), "plugin", token))

    def _encode(self, request: object) -> bytes:
        return v2_requests_out.encode_request(request) if self._wire == 2 else v3_requests_out.encode_request(request)

    # -- requests of V3 alone --

    def _lac(self) -> bytes:
        random, ledger_id = self._random, self._ledger()
        key = VICTIMS_KEY if ledger_id in VICTIMS else OTHER_KEY
        if ledger_id in LEDGERS and random.random() < 0.5:
            key = KEY
        size = random.choice((0, 8, 20, 21, 100_000))
        body = struct.pack(">qq", ledger_id, self._number()) + bytes(size)
        key = random.choice((key, key, key * 5))
        return v3_requests_out.encode_request(
            m.WriteLacRequest(self._header(Operation.WRITE_LAC), ledger_id, 0, key, body)
        )

    def _ask(self) -> bytes:
        operation, request = self._random.choice((
            (Operation.READ_LAC, m.ReadLacRequest), (Operation.FORCE_LEDGER, m.ForceLedgerRequest),
            (Operation.LIST_ENTRIES, m.ListEntriesRequest),
        ))  # fmt: skip
        if self._random.random() < 0.1:
            header = self._header(Operation.BOOKIE_INFO)
            return v3_requests_out.encode_request(m.BookieInfoRequest(header, self._random.randrange(4)))
        return v3_requests_out.encode_request(request(self._header(operation), self._ledger()))

    def _poll(self) -> bytes:
        random = self._random
        header, previous, timeout = self._header(Operation.READ), self._number(), random.choice((0, 1, 20, LONG, -1))
        entry_id, piggyback = random.choice((-1, self._entry())), random.random() < 0.5
        return v3_requests_out.encode_request(m.ReadRequest(
            header, self._ledger(), entry_id, previous_lac=previous, timeout_ms=timeout, piggyback=piggyback
        ))  # fmt: skip

    # -- what no client sends --

    def _broken(self) -> bytes:
        random = self._random
        kind = random.randrange(4)
        if kind == 0:
            return random.choice((0, 3, 5 << 20, (5 << 20) - 3, 1 << 31, (1 << 32) - 1)).to_bytes(4, "big")
        if kind == 1:
            return random.randbytes(random.randrange(4, 200))
        frame = bytearray(self._victim_adds() if random.random() < 0.5 else self._reads())
        if kind == 2:  # a length that is not the frame's
            length = int.from_bytes(frame[:4], "big") + random.choice((-9, -1, 1, 7))
            frame[:4] = max(length, 0).to_bytes(4, "big")
        else:
            for _ in range(random.randrange(1, 4)):
                frame[random.randrange(4, len(frame))] ^= 1 << random.randrange(8)
        return bytes(frame)
