"""``python -m benchmarks encrypted``: what it costs a client to encrypt the entries of a ledger, and to decrypt them.

One bookie runs as a process on loopback.  A plain and an encrypting client append and read in turn, round by round.
Prints a line of JSON for each size of an entry: for each way to append or to read, the encrypted and the plain rate of
the median round (entries a second) and the median of the ratios of a round, by time (``ratio``, what a user sees) and
by the client's CPU (``cpu_ratio``, which the load of the machine changes less).

``bare_us`` is the CPU of the call of the library that encrypts one entry, with nothing around it, and ``bare_ratio``
the ratio of CPU that a client would have if the encryption cost it nothing but this call.  No client that encrypts each
entry by a call of its own has a higher ratio.
"""

import argparse
import base64
import json
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import attrs
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bookkeeper_twisted.client import BookKeeper, LedgerReader, LedgerWriter
from bookkeeper_twisted.config.client import ClientConfig

from ..recovery.lost_bookies import own_cpu, reactor, run_to_end, running_cluster

_AT_ONCE = 1000
_SIZES = (100, 1024)
PLAIN, ENCRYPTED = "plain", "encrypted"

Found = Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]
"""By way and kind of ledger, for each round: seconds of time and of CPU an entry."""


async def _append_many(writer: LedgerWriter, payloads: Sequence[bytes]) -> None:
    for at in range(0, len(payloads), _AT_ONCE):
        await writer.append_many(payloads[at : at + _AT_ONCE])


async def _append(writer: LedgerWriter, payloads: Sequence[bytes]) -> None:
    for at in range(0, len(payloads), _AT_ONCE):
        for payload in payloads[at : at + _AT_ONCE]:
            last = writer.append(payload)
        await last


async def _ranges(reader: LedgerReader, count: int) -> int:
    return sum([len(await reader.read(at, min(at + _AT_ONCE, count) - 1)) for at in range(0, count, _AT_ONCE)])


async def _batches(reader: LedgerReader, count: int) -> int:
    return sum([len(batch.payloads) async for batch in reader.batches(0, count - 1)])


async def _iteration(reader: LedgerReader, count: int) -> int:
    return len([entry.data async for entry in reader.entries(0, count - 1)])


_WRITES: Mapping[str, Callable[[LedgerWriter, Sequence[bytes]], Awaitable[None]]] = {
    "append_many": _append_many, "append": _append,
}  # fmt: skip
_READS: Mapping[str, Callable[[LedgerReader, int], Awaitable[int]]] = {
    "read": _ranges, "batches": _batches, "iteration": _iteration,
}  # fmt: skip


def ratios(found: Found, bare: float, rounds: slice = slice(None)) -> dict[str, dict[str, float]]:
    """Return by way the rates of both kinds of ledger, and their ratios by time and by CPU.

    :param bare: seconds of CPU of the call that encrypts one entry.
    :param rounds: the rounds that count.
    """
    result = {}
    for way, by_kind in found.items():
        ours, plain = by_kind[ENCRYPTED][rounds], by_kind[PLAIN][rounds]
        by_time, by_cpu = ([b[at] / a[at] for a, b in zip(ours, plain, strict=True)] for at in (0, 1))
        result[way] = {
            ENCRYPTED: round(1 / median(each[0] for each in ours)), PLAIN: round(1 / median(each[0] for each in plain)),
            "ratio": round(median(by_time), 3), "cpu_ratio": round(median(by_cpu), 3),
            "cpu_us_more": round(1e6 * (median(each[1] for each in ours) - median(each[1] for each in plain)), 3),
            "bare_us": round(1e6 * bare, 3), "bare_ratio": round(1 / (1 + bare / median(each[1] for each in plain)), 3),
        }  # fmt: skip
    return result


@attrs.define
class _Side:
    """One kind of ledger: the client, a writer, and a ledger to read."""

    client: BookKeeper
    writer: LedgerWriter
    reader: LedgerReader

    @classmethod
    async def begin(cls, uri: str, config: ClientConfig, payloads: Sequence[bytes]) -> "_Side":
        client = await BookKeeper.connect(reactor, uri, config)
        filled = await client.create_ledger(1, 1, 1)
        await _append_many(filled, payloads)
        await filled.close()
        return cls(client, await client.create_ledger(1, 1, 1), await client.open_ledger(filled.ledger_id))


def bare_call(size: int, count: int = 20_000, repeats: int = 5) -> float:
    """Return the least seconds of CPU that the library needs to encrypt one entry of ``size`` bytes.

    :param count: number of entries that are encrypted in one repeat.
    :param repeats: how often these entries are encrypted; the least is returned.
    """
    encrypt = AESGCM(os.urandom(32)).encrypt
    nonces, covered = [number.to_bytes(12) for number in range(count)], [bytes(16)] * count
    payloads = [os.urandom(size) for _ in range(count)]
    seconds = []
    for _ in range(repeats):
        begun = own_cpu()
        deque(map(encrypt, nonces, payloads, covered), 0)
        seconds.append(own_cpu() - begun)
    return min(seconds) / count


async def _timed(work: Awaitable[object], count: int) -> tuple[float, float]:
    begun, cpu = time.perf_counter(), own_cpu()
    await work
    return (time.perf_counter() - begun) / count, (own_cpu() - cpu) / count


async def _measured(uri: str, keys: Path, size: int, entries: int, rounds: int) -> dict[str, dict[str, float]]:
    payloads = [os.urandom(size) for _ in range(entries)]
    encrypting = ClientConfig(ledger_key_provider="file", ledger_key_file=str(keys), ledger_encryption=True)
    sides = {
        PLAIN: await _Side.begin(uri, ClientConfig(), payloads), ENCRYPTED: await _Side.begin(uri, encrypting, payloads)
    }  # fmt: skip
    found: dict[str, dict[str, list[tuple[float, float]]]]
    found = {way: {PLAIN: [], ENCRYPTED: []} for way in (*_WRITES, *_READS)}
    for number in range(rounds + 1):
        for way, by_kind in found.items():
            for kind in (PLAIN, ENCRYPTED) if number % 2 else (ENCRYPTED, PLAIN):
                side: Any = sides[kind]
                work = _WRITES[way](side.writer, payloads) if way in _WRITES else _READS[way](side.reader, entries)
                by_kind[kind].append(await _timed(work, entries))
    for side in sides.values():
        await side.client.close()
    return ratios(found, bare_call(size), slice(1, None))  # the first round warms up


def main(arguments: Sequence[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks encrypted", description=__doc__)
    parser.add_argument("--entries", type=int, default=50_000, help="of each ledger and round (50,000)")
    parser.add_argument("--rounds", type=int, default=9, help="of each way (9)")
    parser.add_argument("--directory", default="/var/tmp", help="where the files are made")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures are kept")
    options = parser.parse_args(arguments)
    found: dict[int, Any] = {}
    with running_cluster(directory=options.directory, n_bookies=1) as (folder, cluster):
        keys = folder / "ledger.keys"
        keys.write_text(f"one {base64.b64encode(os.urandom(32)).decode()}\n")
        keys.chmod(0o600)

        async def measure() -> None:
            for size in _SIZES:
                found[size] = await _measured(cluster.uri, keys, size, options.entries, options.rounds)
                print(json.dumps({"size": size, **found[size]}), flush=True)

        status = run_to_end(measure)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1))
    return status
