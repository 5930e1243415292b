"""A load generator on blocking sockets that costs next to nothing per request.

All frames of a run have one length, so a window of requests is a slice of one prepared byte string
and replies are counted by their bytes.  What the bookie does is then most of what the CPUs do.
The first request's whole answer is looked at, and the status of every later one.  Answers are taken to come in
the order of the requests: where they do not (random reads), latencies are right only on average.

Run as a program it prints a line ``MEASURE`` after the warm-up and one JSON line at the end.  With ``--hold`` it waits
after ``MEASURE`` for a line: whoever samples a bookie's CPU time may come late on a busy machine.
"""

import argparse
import json
import random
import select
import socket
import struct
import sys
import time
from array import array
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import attrs

from bookkeeper_twisted.codec.adds import stored_adds
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.sealing import sealed

from .tls_socket import TlsSocket

FIRST_ID = 1 << 21
"""Where entry and request ids begin: up to 2^28 their varints have four bytes, so that V3 frames have one length."""

Stream = socket.socket | TlsSocket

_LEDGER_AT = 28
"""Where the ledger id of a V2 add is: behind the length, the header and the master key."""

PASSWORD = b"pw"
CHUNK = 512
MAX_BATCH_SIZE = 5 << 20


def add_frames(wire: int, ledger_id: int, first: int, count: int, size: int) -> bytes:
    """The add requests of ``count`` entries from ``first`` on."""
    digester = Digester(DigestType.CRC32C, PASSWORD)
    payload = bytes((7 * i) & 255 for i in range(size))
    protocol = V2 if wire == 2 else V3
    parts = []
    for at in range(first, first + count, CHUNK):
        n = min(CHUNK, first + count - at)
        run = sealed(digester, ledger_id, at, at - 1, at * size, [payload] * n)
        parts.append(protocol.encode_adds(stored_adds(digester.master_key, run), at)[0])
    return b"".join(parts)


def turn_frames(wire: int, ledgers: range, first: int, count: int, size: int, run: int = 1) -> bytes:
    """The add requests number ``first`` to ``first + count - 1`` of ledgers that get ``run`` entries each in turn."""
    a_turn = len(ledgers) * run
    turns = range(first // a_turn, -(-(first + count) // a_turn))
    parts: list[bytes] = []
    stride = 0
    for at in turns[:: max(CHUNK // run, 1)]:
        n = min(max(CHUNK // run, 1), turns.stop - at)
        of_ledgers = [add_frames(wire, ledger_id, FIRST_ID + at * run, n * run, size) for ledger_id in ledgers]
        piece = len(of_ledgers[0]) // n
        stride = piece // run
        parts += [adds[i * piece : (i + 1) * piece] for i in range(n) for adds in of_ledgers]
    skipped, before = divmod(first - turns.start * a_turn, run)
    wanted = parts[skipped : skipped - (-(before + count) // run)]
    return b"".join(wanted)[before * stride : (before + count) * stride]


def read_frames(wire: int, ledger_id: int, entry_ids: Sequence[int]) -> bytes:
    """One read request for each entry."""
    return (V2 if wire == 2 else V3).encode_reads(ledger_id, entry_ids, FIRST_ID)


def batch_frames(wire: int, ledger_id: int, starts: Sequence[int], entries: int) -> bytes:
    """One batch read of ``entries`` entries from each start on."""
    protocol = V2 if wire == 2 else V3
    ids = range(FIRST_ID, FIRST_ID + len(starts))
    requests = [
        protocol.batch_read(ledger_id, start, request, entries, MAX_BATCH_SIZE)
        for request, start in zip(ids, starts, strict=True)
    ]
    return b"".join([protocol.encode_batch_read(request) for request in requests])


def frames(o: argparse.Namespace, first: int, count: int) -> bytes:
    """Requests number ``first`` to ``first + count - 1`` of the run."""
    if o.mode == "add" and o.ledgers == 1:
        return add_frames(o.wire, o.ledger, FIRST_ID + first, count, o.size)
    if o.mode == "add":
        return turn_frames(o.wire, range(o.ledger, o.ledger + o.ledgers), first, count, o.size, o.run)
    room = max(o.entries // o.batch, 1)
    if o.order == "random":
        chance = random.Random(first)
        starts = [FIRST_ID + chance.randrange(room) * o.batch for _ in range(count)]
    else:
        starts = [FIRST_ID + (i % room) * o.batch for i in range(first, first + count)]
    if o.mode == "read":
        return read_frames(o.wire, o.ledger, starts)
    return batch_frames(o.wire, o.ledger, starts, o.batch)


def to_next_ledger(adds: bytearray, count: int) -> None:
    """Makes ``count`` V2 adds of one ledger those of the next one; their digests, which bookies do not verify, stay."""
    stride = len(adds) // count
    ledger_id = int.from_bytes(adds[_LEDGER_AT : _LEDGER_AT + 8], "big") + 1
    for at, byte in enumerate(ledger_id.to_bytes(8, "big"), _LEDGER_AT):
        adds[at::stride] = bytes((byte,)) * count


@attrs.frozen
class ReplyShape:
    """What all replies of a run have in common.

    :ivar size: bytes, length word included.
    :ivar status_at: where the byte is that is 0 for success.
    """

    size: int
    status_at: int


def first_reply(sock: Stream, frame: bytes, wire: int) -> ReplyShape:
    """Sends one request and reads its answer.

    :raises ValueError: the answer is an error.
    """
    sock.sendall(frame)
    body = _exactly(sock, struct.unpack(">I", _exactly(sock, 4))[0])
    status_at = 7 if wire == 2 else body[1] + 3
    if body[status_at] != 0:
        raise ValueError(f"the bookie answered {body[:48].hex()}")
    return ReplyShape(len(body) + 4, status_at + 4)


def _exactly(sock: Stream, size: int) -> bytes:
    data, at = bytearray(size), 0
    while at < size:
        got = sock.recv_into(memoryview(data)[at:])
        if not got:
            raise ConnectionError("the bookie closed the connection")
        at += got
    return bytes(data)


class Replies:
    """Counts the answers of one bookie.

    :ivar done: complete answers so far.
    :raises ValueError: one of them is an error.
    """

    def __init__(self, sock: Stream, shape: ReplyShape) -> None:
        self.done = 0
        self._sock = sock
        self._shape = shape
        self._surplus = 0  # bytes of an answer that is not complete
        self._buffer = bytearray(1 << 20)

    def receive(self) -> None:
        """Takes what is there."""
        size = self._shape.size
        got = self._sock.recv_into(self._buffer)
        if not got:
            raise ConnectionError("the bookie closed the connection")
        statuses = self._buffer[(self._shape.status_at - self._surplus) % size : got : size]
        if statuses.count(0) != len(statuses):
            raise ValueError("the bookie answered with an error")
        arrived, self._surplus = divmod(self._surplus + got, size)
        self.done += arrived


def drive(
    socks: Sequence[Stream], shape: ReplyShape, requests: bytes | bytearray, count: int, inflight: int, acks: int
) -> "array[float]":
    """Keeps ``inflight`` requests outstanding until all are answered by all bookies.

    :param acks: how many bookies must have answered a request for it to be done.
    :returns: seconds of each request, in order.
    """
    stride, view = len(requests) // max(count, 1), memoryview(requests)
    latencies, leaving = array("d"), deque[tuple[int, float]]()
    replies = {sock: Replies(sock, shape) for sock in socks}
    sent = done = 0
    while any(each.done < count for each in replies.values()):
        until = min(done + inflight, count)
        if until > sent:
            leaving.append((until, time.perf_counter()))
            for sock in socks:
                sock.sendall(view[sent * stride : until * stride])
            sent = until
        for sock in socks if len(socks) == 1 else select.select(socks, (), ())[0]:
            replies[sock].receive()
        now, target = time.perf_counter(), sorted(each.done for each in replies.values())[-acks]
        while done < target:
            last, at = leaving[0]
            n = min(last, target) - done
            latencies.extend([now - at] * n)
            done += n
            if done == last:
                leaving.popleft()
    return latencies


def summary(latencies: "array[float]", seconds: float, entries: int) -> dict[str, float]:
    """The figures of a run."""
    ordered = sorted(latencies)

    def at(q: float) -> float:
        return ordered[min(int(q * len(ordered)), len(ordered) - 1)] * 1000

    figures = {"entries": entries, "seconds": seconds, "rate": entries / seconds, "errors": 0}
    return {**figures, "p50_ms": at(0.5), "p99_ms": at(0.99)}


def parser() -> argparse.ArgumentParser:
    """The options of the program."""
    p = argparse.ArgumentParser(prog="python -m benchmarks.shared.generator", description=__doc__)
    p.add_argument("mode", choices=["add", "read", "batch"])
    p.add_argument("--ports", required=True, help="of the bookies on 127.0.0.1, separated by commas; all get every add")
    p.add_argument("--trusted", type=Path, help="begin TLS, with a bookie of this authority (PEM); for one bookie")
    p.add_argument("--hold", action="store_true", help="wait for a line after MEASURE")
    p.add_argument("--order", choices=["seq", "random"], default="seq", help="in which reads take the entries")
    defaults = {
        "wire": 2, "ledger": 1, "ledgers": 1, "size": 100, "count": 1000, "warmup": 0, "inflight": 1, "batch": 1,
        "entries": 0, "acks": 1, "run": 1, "repeats": 1,
    }  # fmt: skip
    for name, default in defaults.items():
        p.add_argument(f"--{name}", type=int, default=default)
    return p


def _connected(port: int, trusted: Path | None) -> Stream:
    """A connection to a bookie; with TLS if an authority is given."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=60)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock if trusted is None else TlsSocket(sock, trusted)


def main(arguments: Sequence[str]) -> int:
    """Runs the program."""
    o = parser().parse_args(arguments)
    ports = list(map(int, o.ports.split(",")))
    assert o.trusted is None or len(ports) == 1
    socks = [_connected(port, o.trusted) for port in ports]
    for sock in socks:
        shape = first_reply(sock, frames(o, 0, 1), o.wire)
    drive(socks, shape, frames(o, 1, o.warmup), o.warmup, o.inflight, o.acks)
    work = bytearray(frames(o, 1 + o.warmup, o.count))
    print("MEASURE", flush=True)
    if o.hold:
        sys.stdin.readline()
    begun = time.perf_counter()
    latencies = drive(socks, shape, work, o.count, o.inflight, o.acks)
    for _ in range(1, o.repeats):
        to_next_ledger(work, o.count)
        latencies.extend(drive(socks, shape, work, o.count, o.inflight, o.acks))
    seconds = time.perf_counter() - begun
    print(json.dumps(summary(latencies, seconds, o.count * o.batch * o.repeats)))
    for sock in socks:
        sock.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
