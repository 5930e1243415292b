"""A load generator on blocking sockets that costs next to nothing per request.

All frames of a case have one length, so a window of requests is a slice of one prepared byte string
and replies are counted by their bytes.  What the bookie does is then most of what the CPUs do.
Every case begins with one request whose whole answer is looked at: a benchmark of errors is fast.

Run as a program it prints a line ``MEASURE`` after the warm-up and one JSON line at the end.
"""

import argparse
import json
import socket
import struct
import sys
import time
from array import array
from collections import deque
from collections.abc import Sequence

from bookkeeper_twisted.codec import v2, v3
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.runs import BatchRead
from bookkeeper_twisted.model import DigestType

from .cases import FIRST_ID

PASSWORD = b"pw"
CHUNK = 512
MAX_BATCH_SIZE = 5 << 20


def add_frames(wire: int, ledger_id: int, first: int, count: int, size: int) -> bytes:
    """The add requests of ``count`` entries from ``first`` on."""
    digester = Digester(DigestType.CRC32C, PASSWORD)
    payload = bytes((7 * i) & 255 for i in range(size))
    encode = v2.encode_adds if wire == 2 else v3.encode_adds
    parts = []
    for at in range(first, first + count, CHUNK):
        n = min(CHUNK, first + count - at)
        run = digester.seal(ledger_id, at, at - 1, at * size, [payload] * n)
        parts.append(encode(digester.master_key, run, 0, False, at))
    return b"".join(parts)


def read_frames(wire: int, ledger_id: int, entry_ids: Sequence[int]) -> bytes:
    encode = v2.encode_reads if wire == 2 else v3.encode_reads
    return encode(ledger_id, entry_ids, 0, FIRST_ID)


def batch_frames(wire: int, ledger_id: int, starts: Sequence[int], entries: int) -> bytes:
    encode = v2.encode_batch_read if wire == 2 else v3.encode_batch_read
    ids = range(FIRST_ID, FIRST_ID + len(starts))
    requests = [
        BatchRead(wire, wire, 0, ledger_id, start, request, entries, MAX_BATCH_SIZE)
        for request, start in zip(ids, starts, strict=True)
    ]
    return b"".join([encode(request) for request in requests])


def frames(o: argparse.Namespace, first: int, count: int) -> bytes:
    """Requests number ``first`` to ``first + count - 1`` of the case."""
    if o.mode == "add":
        return add_frames(o.wire, o.ledger, o.start + first, count, o.size)
    room = max(o.entries // o.batch, 1)
    starts = [o.start + (i % room) * o.batch for i in range(first, first + count)]
    if o.mode == "read":
        return read_frames(o.wire, o.ledger, starts)
    return batch_frames(o.wire, o.ledger, starts, o.batch)


def first_reply(sock: socket.socket, frame: bytes, wire: int) -> int:
    """Sends one request and reads its answer.

    :returns: bytes of the answer, length word included.
    :raises ValueError: the answer is an error.
    """
    sock.sendall(frame)
    stream = sock.makefile("rb")
    head = stream.read(4)
    (left,) = struct.unpack(">I", head)
    body = stream.read(left)
    code = struct.unpack(">I", body[4:8])[0] if wire == 2 else body[body[1] + 3]
    if code != 0:
        raise ValueError(f"the bookie answered {body[:48].hex()}")
    return int(left) + 4


def drive(sock: socket.socket, requests: bytes, count: int, reply_size: int, inflight: int) -> "array[float]":
    """Keeps ``inflight`` requests outstanding until all are answered.

    :returns: seconds of each request, in order.
    """
    stride, view, buffer = len(requests) // count, memoryview(requests), bytearray(1 << 20)
    latencies, leaving = array("d"), deque[tuple[int, float]]()
    sent = done = surplus = 0
    while done < count:
        until = min(done + inflight, count)
        if until > sent:
            leaving.append((until, time.perf_counter()))
            sock.sendall(view[sent * stride : until * stride])
            sent = until
        got = sock.recv_into(buffer)
        if not got:
            raise ConnectionError("the bookie closed the connection")
        arrived, surplus = divmod(surplus + got, reply_size)
        now, target = time.perf_counter(), done + arrived
        while done < target:
            last, at = leaving[0]
            n = min(last, target) - done
            latencies.extend([now - at] * n)
            done += n
            if done == last:
                leaving.popleft()
    return latencies


def summary(latencies: "array[float]", seconds: float, entries: int, size: int) -> dict[str, float]:
    ordered = sorted(latencies)

    def at(q: float) -> float:
        return ordered[min(int(q * len(ordered)), len(ordered) - 1)] * 1000

    rate = entries / seconds
    figures = {"entries": entries, "seconds": seconds, "rate": rate, "mb_s": rate * size / 1e6}
    return {**figures, "p50_ms": at(0.5), "p99_ms": at(0.99)}


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m benchmarks.generator", description=__doc__)
    p.add_argument("mode", choices=["add", "read", "batch"])
    defaults = {
        "port": 0, "wire": 2, "ledger": 1, "start": FIRST_ID, "size": 100, "count": 1000, "warmup": 1, "inflight": 1,
        "batch": 1, "entries": 0,
    }  # fmt: skip
    for name, default in defaults.items():
        p.add_argument(f"--{name}", type=int, default=default)
    return p


def main(arguments: Sequence[str]) -> int:
    o = parser().parse_args(arguments)
    with socket.create_connection(("127.0.0.1", o.port), timeout=60) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reply_size = first_reply(sock, frames(o, 0, 1), o.wire)
        warm, work = frames(o, 1, o.warmup), frames(o, 1 + o.warmup, o.count)
        drive(sock, warm, o.warmup, reply_size, o.inflight)
        print("MEASURE", flush=True)
        begun = time.perf_counter()
        latencies = drive(sock, work, o.count, reply_size, o.inflight)
        seconds = time.perf_counter() - begun
    print(json.dumps(summary(latencies, seconds, o.count * o.batch, o.size)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
