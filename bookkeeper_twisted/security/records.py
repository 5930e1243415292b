"""Encrypts and decrypts many TLS records with few calls.

A TLS record contains at most 16 KiB.  pyOpenSSL decrypts one record per call, each into a new buffer, and raises an
exception after the last record.  For a short request, this takes twice the time of OpenSSL itself.  This module calls
OpenSSL's functions directly, with one buffer for all records.  pyOpenSSL still makes the handshake and its checks.

The direct calls need undocumented attributes of pyOpenSSL, which :func:`missing` lists.  If the installed version lacks
one of them, this is logged, :data:`DIRECT` is False, and pyOpenSSL's own methods are used.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from OpenSSL import SSL
from twisted.logger import Logger

from .record_format import HEAD, body_size

Piece = bytes | memoryview

TlsError = SSL.Error
"""The errors of OpenSSL."""

RECORD = 16 * 1024
"""Maximum number of bytes of plaintext in a TLS record.

If the byte strings of one write are shorter than this on average, they are joined before encryption: otherwise each
of them would become a record.
"""

GROUP = 64 * 1024
"""Maximum number of bytes, to encrypt or to decrypt, that are passed to OpenSSL before its output is read.

OpenSSL's two buffers for encrypted bytes grow to about this size, and are freed only with the connection.
"""

_OF_MODULE = ("_lib", "_ffi")
_OF_LIBRARY = (
    "BIO_get_mem_data", "BIO_read", "BIO_write", "SSL_get_error", "SSL_read", "SSL_write", "SSL_ERROR_WANT_READ",
)  # fmt: skip
_OF_CONNECTION = ("_ssl", "_into_ssl", "_from_ssl", "_raise_ssl_error")

_OVERHEAD = 17 * 1024
"""Number of bytes by which the buffer for plaintext is larger than the received ciphertext.

The received bytes may complete a record whose first bytes, up to 16 KiB, OpenSSL has stored in an earlier call.
"""

_log = Logger()


def missing(module: Any = SSL) -> list[str]:
    """Return the attributes that this version of pyOpenSSL lacks; log them in one line.

    :param module: pyOpenSSL's ``OpenSSL.SSL``.
    """
    names = [name for name in _OF_MODULE if not hasattr(module, name)]
    library = getattr(module, "_lib", None)
    names += [f"_lib.{name}" for name in _OF_LIBRARY if not hasattr(library, name)]
    connection = module.Connection(module.Context(module.TLS_METHOD), None)
    names += [f"Connection.{name}" for name in _OF_CONNECTION if not hasattr(connection, name)]
    if names:
        _log.warn("this version of pyOpenSSL lacks {names}: TLS costs more", names=names)
    return names


DIRECT = not missing()
"""Whether this module can call OpenSSL's functions without the methods of pyOpenSSL.

The calls need undocumented attributes of pyOpenSSL, which some versions lack.
"""

if DIRECT:
    _lib, _ffi = SSL._lib, SSL._ffi  # type: ignore[attr-defined]
    _bio_read, _bio_write, _bio_size = _lib.BIO_read, _lib.BIO_write, _lib.BIO_get_mem_data
    _read, _write, _error = _lib.SSL_read, _lib.SSL_write, _lib.SSL_get_error
    _WANT_READ = _lib.SSL_ERROR_WANT_READ
    _new, _view, _address = _ffi.new_allocator(should_clear_after_alloc=False), _ffi.buffer, _ffi.from_buffer
    _start = _ffi.new("char **")  # BIO_get_mem_data stores an address here, which is not used


class RecordEnds:
    """Finds where TLS records end; :meth:`find` must be called with all encrypted bytes of a peer, in order."""

    __slots__ = ("_head", "_body")

    def __init__(self) -> None:
        self._head = b""  # the received part of an incomplete record header
        self._body = 0  # number of bytes of the last record that have not been received yet

    @property
    def is_inside(self) -> bool:
        """Whether the received bytes end in the middle of a record."""
        return bool(self._head or self._body)

    def find(self, data: bytes, at: int, most: int) -> int:
        """Return the offset in ``data`` at which the next ``most`` TLS records end.

        The rest of a record that began in an earlier call counts as a record.

        :param data: received bytes.
        :param at: offset at which to begin: 0 for newly received bytes, else the result of the last call.
        :param most: number of records.
        :returns: the offset; the length of ``data`` if it has fewer records.
        """
        size = len(data)
        if not (at or self._body or self._head) and size == HEAD + body_size(data):
            return size  # the usual case: the bytes are one whole record
        if self._body:
            at += self._body
            most -= 1
        while most and at < size:
            most -= 1
            if not self._head and at + HEAD <= size:
                at += HEAD + (data[at + 3] << 8) + data[at + 4]
                continue
            missing = HEAD - len(self._head)
            head = self._head + data[at : at + missing]
            if len(head) < HEAD:
                self._head, at = head, size
                break
            self._head = b""
            at += missing + body_size(head)
        self._body = max(at - size, 0)
        return min(at, size)


class RecordConnection(SSL.Connection):
    """A TLS connection in memory, which encrypts or decrypts many records per call.

    :ivar has_failed: whether TLS has ended or failed; if so, the next :meth:`recv` or :meth:`send` raises the error.
    """

    # the class and the arguments of the error; the error itself would keep its stack frames, and their bytes, in memory
    _failure: tuple[type[SSL.Error], tuple[Any, ...]] | None = None

    @property
    def is_ended(self) -> bool:
        """Whether the peer has ended TLS (close_notify)."""
        return bool(self.get_shutdown() & SSL.RECEIVED_SHUTDOWN)

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    def decrypt(self, data: bytes) -> bytes:
        """Decrypt bytes that the peer has sent; return the plaintext of all complete records.

        :param data: encrypted bytes from the peer; must not be empty.
        """
        if not DIRECT:
            return self._decrypt(data)
        ssl, into, start, at, size = self._ssl, self._into_ssl, _address(data), 0, len(data) + _OVERHEAD
        text = _new("char[]", size)
        for offset in range(0, len(data), GROUP):
            part = min(GROUP, len(data) - offset)
            if _bio_write(into, start + offset, part) != part:
                raise MemoryError("OpenSSL cannot keep the bytes of a peer")
            while (count := _read(ssl, text + at, size - at)) > 0:
                at += count
            if _error(ssl, count) != _WANT_READ:
                self._fail(count)
                break
        return _view(text, at)[:] if at else b""  # type: ignore[no-any-return]

    def encrypt(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Encrypt pieces of plaintext; return all bytes to send, including TLS messages that OpenSSL itself sends.

        :param pieces: byte strings of any length; the caller may change them after this call.
        """
        encrypted: list[Piece] = []
        waiting = 0
        for piece in _long(pieces):
            whole = memoryview(piece)  # its slices are not copies
            for at in range(0, len(piece), GROUP):
                part = whole[at : at + GROUP]
                if waiting + len(part) > GROUP:
                    encrypted.append(self.take())
                    waiting = 0
                waiting += len(part)
                if not self._encrypt(part):
                    return [*encrypted, self.take()]
        encrypted.append(self.take())
        return encrypted

    def take(self) -> Piece:
        """Return and remove all encrypted bytes that wait to be sent to the peer."""
        if not DIRECT:
            return self._take()
        size = _bio_size(self._from_ssl, _start)
        if size <= 0:
            return b""
        data = _new("char[]", size)
        return memoryview(_view(data, _bio_read(self._from_ssl, data, size)))

    def _encrypt(self, data: Piece) -> bool:
        """Encrypt ``data``; return False if TLS has failed."""
        try:
            if not DIRECT:
                self.sendall(data)
                return True
            ssl, start, at, size = self._ssl, _address(data), 0, len(data)
            while at < size:
                count = _write(ssl, start + at, size - at)
                if count <= 0:
                    self._raise_ssl_error(ssl, count)  # type: ignore[attr-defined]
                at += count
        except SSL.Error as error:
            self._failure = type(error), error.args
            return False
        return True

    def _fail(self, result: int) -> None:
        """Store the error for the failed ``result`` of an OpenSSL call, so that a later call can raise the error."""
        try:
            self._raise_ssl_error(self._ssl, result)  # type: ignore[attr-defined]
        except SSL.Error as error:
            self._failure = type(error), error.args

    def _decrypt(self, data: bytes) -> bytes:
        self.bio_write(data)
        texts: list[bytes] = []
        while True:
            try:
                texts.append(super().recv(2 * RECORD))
            except SSL.WantReadError:
                break
            except SSL.Error as error:
                self._failure = type(error), error.args
                break
        return b"".join(texts)

    def _take(self) -> bytes:
        try:
            return self.bio_read(2 * RECORD)
        except SSL.WantReadError:
            return b""

    def recv(self, bufsiz: int, flags: int | None = None) -> bytes:
        """Return decrypted bytes that the peer has sent.

        :param bufsiz: maximum number of bytes to return.
        :param flags: flags of the socket module, which pyOpenSSL interprets.
        """
        self._raise_failure()
        return super().recv(bufsiz, flags)

    def send(self, buf: Any, flags: int = 0) -> int:
        """Encrypt bytes of the application.

        :param buf: the bytes to encrypt.
        :param flags: ignored by pyOpenSSL.
        """
        self._raise_failure()
        return super().send(buf, flags)

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure[0](*failure[1])

    def bio_read(self, bufsiz: int) -> bytes:
        """Return all encrypted bytes for the peer; Twisted would not call this a second time to get more.

        :param bufsiz: the number of bytes to read per OpenSSL call.
        """
        pieces = [super().bio_read(bufsiz)]
        while len(pieces[-1]) == bufsiz:
            try:
                pieces.append(super().bio_read(bufsiz))
            except SSL.WantReadError:
                break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def bio_write(self, buf: Any) -> int:
        """Store encrypted bytes that the peer has sent, for OpenSSL to read.

        :param buf: the bytes.  If it is empty, the result is 0; the base class would raise an error.
        """
        return super().bio_write(buf) if len(buf) else 0


def _long(pieces: Sequence[Piece]) -> Iterable[Piece]:
    """Join ``pieces`` into one byte string if they are short, because each piece becomes a TLS record."""
    if len(pieces) == 1:
        return pieces
    if len(pieces) * RECORD > sum(map(len, pieces)):
        return [b"".join(pieces)]
    return pieces
