"""KeyUpdate messages of TLS 1.3 (RFC 8446, 4.6.3), which OpenSSL's Python interface cannot send."""

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from OpenSSL import SSL

SUITE = "TLS_AES_128_GCM_SHA256"
"""The suite that a connection has to have."""

_UPDATE = bytes((24, 0, 0, 1))
"""The message: an update; a byte behind it says whether one in return is requested."""

_HANDSHAKE = b"\x16"


class KeyUpdates:
    """Makes the records of one end of a connection.

    :param context: of the end; no connection is made from it yet.
    :param label: of the secret in NSS's key log: ``CLIENT_TRAFFIC_SECRET_0`` or ``SERVER_TRAFFIC_SECRET_0``.
    :param sent: the number of records that the end has sent since its handshake; the next connection of the context
        starts there again.
    """

    def __init__(self, context: SSL.Context, label: str, sent: int = 0) -> None:
        self._label = label.encode()
        self._first = self._sent = sent
        self._secret = b""
        context.set_keylog_callback(self._logged)

    def _logged(self, connection: SSL.Connection, line: bytes) -> None:
        label, _, secret = line.split()
        if label == self._label:
            self._secret, self._sent = bytes.fromhex(secret.decode()), self._first

    def records(self, count: int, requests: bool = True) -> bytes:
        """Return the records of the next messages.

        :param requests: whether each requests an update in return.
        """
        return b"".join(self._record(_UPDATE + bytes([requests]) + _HANDSHAKE) for _ in range(count))

    def data(self, data: bytes) -> bytes:
        """Return a record of application data."""
        return self._record(data + b"\x17", False)

    def alert(self, number: int) -> bytes:
        """Return the record of a fatal alert.

        :param number: its description (RFC 8446, 6), as 45 for an expired certificate.
        """
        return self._record(bytes((2, number)) + b"\x15", False)

    def end(self) -> bytes:
        """Return the record that ends TLS (close_notify)."""
        return self._record(b"\x01\x00\x15", False)

    def _record(self, inner: bytes, is_update: bool = True) -> bytes:
        key, iv = self._expand("key", 16), int.from_bytes(self._expand("iv", 12))
        nonce = (iv ^ self._sent).to_bytes(12)
        head = b"\x17\x03\x03" + (len(inner) + 16).to_bytes(2)
        self._sent += 1
        if is_update:
            self._secret, self._sent = self._expand("traffic upd", 32), 0
        return head + AESGCM(key).encrypt(nonce, inner, head)

    def _expand(self, label: str, size: int) -> bytes:
        name = f"tls13 {label}".encode()
        info = size.to_bytes(2) + bytes([len(name)]) + name + b"\0"
        return HKDFExpand(SHA256(), size, info).derive(self._secret)
