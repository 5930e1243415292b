"""Contexts of the standard library's :mod:`ssl`, for connections that a library makes on threads of its own.

The rules are those of :mod:`.openssl`: TLS 1.2 and 1.3, no compression, no renegotiation, and only the certificates of
the trust store are trusted, not those that the system trusts.
"""

import os
import ssl
from collections.abc import Sequence
from contextlib import ExitStack

from cryptography.x509 import Certificate

from .keys import KeyAndChain, certificates_pem, key_pem

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_PIPE = 60 * 1024
"""Maximum number of bytes that are written to a pipe before they are read: less than a pipe of Linux's usual size can
store.
"""


def socket_context(
    identity: KeyAndChain | None, trusted: Sequence[Certificate], protocols: Sequence[str], verified: bool
) -> ssl.SSLContext:
    """Return the TLS context of a client's connections, for the standard library.

    :param identity: the key and certificate to show to servers that ask for them; None to show nothing.
    :param trusted: issuers of the certificates of servers.
    :param protocols: the allowed protocols: ``TLSv1.2``, ``TLSv1.3`` or both.
    :param verified: whether the certificate of a server must contain the host to which the client connects.
    :raises ConfigError: OpenSSL refuses the certificate or its key, or they are too long for a pipe.
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

    :mod:`ssl` reads a key only from a file.  A key that was encrypted on disk must not be written there in clear, so it
    is passed through a pipe, which has a path like a file.
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
    """Return the path of a new pipe, from which ``data`` can be read once.

    :raises ConfigError: the pipe has too little room for the data.
    """
    if len(data) > _PIPE:
        raise identity.files.refusal(f"its certificates have more than {_PIPE} bytes")
    reading, writing = os.pipe()
    opened.callback(os.close, reading)
    try:
        os.set_blocking(writing, False)  # all bytes are written before anybody reads them
        written = os.write(writing, data)
    finally:
        os.close(writing)
    if written < len(data):  # if a user has very many pipes, Linux makes new ones smaller
        raise identity.files.refusal(f"a pipe of this user takes only {written} of {len(data)} bytes")
    return f"/dev/fd/{reading}"
