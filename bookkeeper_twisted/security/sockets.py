"""TLS contexts of the standard library's :mod:`ssl`, for libraries that use blocking sockets on their own threads.

The rules are those of :mod:`.openssl`: TLS 1.2 and 1.3, no compression, no renegotiation, and only the certificates in
the trust store are trusted, not the system's certificates.
"""

import os
import ssl
from collections.abc import Sequence
from contextlib import ExitStack

from cryptography.x509 import Certificate

from .keys import KeyAndChain, certificates_pem, key_pem

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_PIPE = 60 * 1024
"""Maximum number of bytes that are written to a pipe before they are read; less than the usual 64 KiB buffer on Linux.
"""


def socket_context(
    identity: KeyAndChain | None, trusted: Sequence[Certificate], protocols: Sequence[str], verified: bool
) -> ssl.SSLContext:
    """Return an :class:`ssl.SSLContext` for a client's connections.

    :param identity: the key and certificate to send to servers that request them; None to send none.
    :param trusted: the trusted issuers of servers' certificates.
    :param protocols: the allowed protocols: ``TLSv1.2``, ``TLSv1.3`` or both.
    :param verified: whether the certificate of a server must contain the host to which the client connects.
    :raises ConfigError: OpenSSL refuses the certificate or the key, or these have too many bytes (about 60 KiB).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    versions = [_VERSIONS[name] for name in protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = verified
    context.hostname_checks_common_name = False
    context.load_verify_locations(cadata=certificates_pem(trusted).decode("ascii"))
    if identity is not None:
        _show(context, identity)
    return context


def _show(context: ssl.SSLContext, identity: KeyAndChain) -> None:
    """Load a key and its certificates into a context.

    :mod:`ssl` reads a key only from a path.  A decrypted key must not be written to disk, so it is passed through a
    pipe, which also has a path.
    """
    with ExitStack() as opened:
        paths = [_path_of(opened, identity, data) for data in (certificates_pem(identity.chain), key_pem(identity))]
        try:
            context.load_cert_chain(*paths)
        except ssl.SSLError as error:
            reason = f"OpenSSL refuses the certificate or its key: {error.reason}"
        else:
            return
    raise identity.files.refusal(reason)


def _path_of(opened: ExitStack, identity: KeyAndChain, data: bytes) -> str:
    """Return the path of a new pipe from which ``data`` can be read once.

    :raises ConfigError: the pipe's buffer is too small for the data.
    """
    if len(data) > _PIPE:
        raise identity.files.refusal(f"its certificates have more than {_PIPE} bytes")
    reading, writing = os.pipe()
    opened.callback(os.close, reading)
    try:
        os.set_blocking(writing, False)  # all bytes are written before any are read, so a write must not block
        written = os.write(writing, data)
    finally:
        os.close(writing)
    if written < len(data):  # Linux makes smaller pipes for a user with very many pipes
        raise identity.files.refusal(f"a pipe of this user takes only {written} of {len(data)} bytes")
    return f"/dev/fd/{reading}"
