"""Bookies, and a client that encrypts the ledgers that it creates."""

from base64 import b64encode
from pathlib import Path
from typing import Any

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.spark.reactor import THREAD

from .cluster_case import ClusterCase

try:
    import cryptography  # noqa: F401
except ImportError:
    SKIP: str | None = "needs the extra tls"
else:
    SKIP = None

OVERHEAD = 20
"""Bytes by which an encrypted payload is longer."""

PAYLOADS = [b"%d" % n * (n % 40) for n in range(500)]


def key_line(name: str) -> str:
    """A line of a key file; its key is made of the name."""
    return f"{name} {b64encode(name.encode() * 16).decode()}\n"


class EncryptedCase(ClusterCase):
    """Three bookies, and a client that encrypts.

    :ivar key_file: the file with the keys.
    :ivar keys: attributes of the client's configuration with which encrypted ledgers are read.
    :ivar sealed: a client that encrypts the ledgers that it creates.
    """

    skip = SKIP

    def setUp(self) -> None:
        super().setUp()
        self.key_file = Path(self.mktemp()).absolute()
        self.key_file.write_text(key_line("k1"))
        self.key_file.chmod(0o600)
        self.keys: dict[str, Any] = {"ledger_key_provider": "file", "ledger_key_file": str(self.key_file)}
        config = ClientConfig(explicit_lac_interval=0, ledger_encryption=True, **self.keys)
        self.sealed = BookKeeper.connect(self.uri, config, thread=THREAD)
        self.addCleanup(self.sealed.close)

    def encrypted(self, payloads: list[bytes] = PAYLOADS, password: bytes = b"", quorum: int = 3) -> int:
        """A closed encrypted ledger; its id."""
        with self.sealed.create_ledger(3, quorum, 2, password, custom_metadata={"application": b"events"}) as writer:
            writer.append_many(payloads)
        return writer.ledger_id
