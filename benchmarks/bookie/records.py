"""``python -m benchmarks records``: what it costs to encrypt and to decrypt the records of TLS, beside the bare call.

Two ends of a connection in this process.  Prints JSON: for each size of a write, the least milliseconds of processor
time for a MB, to encrypt and to decrypt.  ``bare`` is the call of the library that encrypts the bytes of one record,
with nothing around it: what no TLS in Python can leave out.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from OpenSSL import SSL

from bookkeeper_twisted.security.records import RECORD, RecordConnection

from ..shared.certificates import SUITE, TlsFiles, make_files
from ..shared.machine import Machine

SIZES = (1_024, 10_240, 65_536, 524_288)
"""Bytes that one write encrypts: replies to one read, and to batches of reads."""

BARE = "bare"
_CHUNK = 256 * 1024  # what a connection receives at a time
_TURNS = 4  # of the handshake, with room to spare


def connected(files: TlsFiles) -> tuple[RecordConnection, RecordConnection]:
    """Return both ends of a connection after the handshake: that of a bookie, and that of a client."""
    context = SSL.Context(SSL.TLS_METHOD)
    context.use_certificate_chain_file(str(files.folder / "chain.pem"))
    context.use_privatekey_file(str(files.folder / "key.pem"))
    context.set_tls13_ciphersuites(SUITE.encode())
    server, client = RecordConnection(context, None), RecordConnection(SSL.Context(SSL.TLS_METHOD), None)
    server.set_accept_state()
    client.set_connect_state()
    for _ in range(_TURNS):
        for one, other in ((client, server), (server, client)):
            try:
                one.do_handshake()
            except SSL.WantReadError:
                pass
            other.bio_write(one.take())
    return server, client


def least(work: Callable[[], object], n_bytes: int, repeats: int) -> float:
    """Return the least milliseconds of processor time for a MB.

    :param n_bytes: number of bytes that ``work`` encrypts or decrypts.
    """
    seconds = []
    for _ in range(repeats):
        begun = time.thread_time()
        work()
        seconds.append(time.thread_time() - begun)
    return round(min(seconds) / n_bytes * 1e9, 3)


def bare(repeats: int) -> float:
    """Return the least milliseconds for a MB of the call that encrypts the bytes of a record."""
    encrypt, nonce, data = AESGCM(os.urandom(16)).encrypt, bytes(12), os.urandom(RECORD)
    return least(lambda: [encrypt(nonce, data, None) for _ in range(32)], 32 * RECORD, repeats)


def records(server: RecordConnection, client: RecordConnection, size: int, repeats: int) -> dict[str, float]:
    """Return the milliseconds for a MB to encrypt ``size`` bytes by one write, and to decrypt what arrives.

    :param server: the end that encrypts.
    :raises ValueError: what is decrypted is not what was encrypted.
    """
    data = os.urandom(size)
    sent: list[Sequence[bytes | memoryview]] = []
    encrypted = least(lambda: sent.append(server.encrypt([data])), size, repeats)
    chunks = [b"".join(pieces) for pieces in sent]
    received: list[bytes] = []

    def receive() -> None:
        chunk = chunks.pop(0)
        received.extend(client.decrypt(chunk[at : at + _CHUNK]) for at in range(0, len(chunk), _CHUNK))

    decrypted = least(receive, size, repeats)
    if b"".join(received) != data * repeats:
        raise ValueError("what was decrypted is not what was encrypted")
    return {"encrypt": encrypted, "decrypt": decrypted}


def main(arguments: Sequence[str]) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks records", description=__doc__)
    parser.add_argument("--repeats", type=int, default=200, help="of which the least counts (200)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        ends = connected(make_files(Path(folder)))
        found: dict[str, Any] = {BARE: bare(options.repeats)}
        for size in SIZES:
            found[f"{size} B"] = records(*ends, size, options.repeats)
        print(json.dumps({"ms a MB": found, "suite": SUITE, "cpu": Machine.here(Path(folder)).cpu}))
    return 0
