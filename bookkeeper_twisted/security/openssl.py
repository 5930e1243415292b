"""Makes the TLS contexts of OpenSSL: protocols, this side's certificate, and the check of the peer's certificate.

Both sides use only TLS 1.2 and 1.3, without compression (because of CRIME) and without renegotiation.  Sessions are not
resumed, so that every handshake verifies the peer, and no long-lived key for session tickets exists.  As in Java, each
certificate in the trust store is trusted, even the certificate of an intermediate issuer.
"""

import re
from collections.abc import Iterable, Sequence
from ipaddress import ip_address

from cryptography.x509 import Certificate
from OpenSSL import SSL
from OpenSSL.crypto import X509, X509StoreFlags
from service_identity import CertificateError, VerificationError
from service_identity.cryptography import verify_certificate_hostname, verify_certificate_ip_address

from ..errors import ConfigError
from .keys import KeyAndChain
from .records import RecordConnection

DEFAULT_CIPHERS = (
    "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305",
)  # fmt: skip
"""The cipher suites of TLS 1.2 in Mozilla's intermediate set that use an ephemeral key exchange (ECDHE)."""

DEFAULT_CIPHERS_OF_13 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""The cipher suites of TLS 1.3 that OpenSSL allows by default; the suite that needs the least computation is first."""

_CIPHERS_OF_13 = frozenset({*DEFAULT_CIPHERS_OF_13, "TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256"})
"""All cipher suites of TLS 1.3 that encrypt; others, such as TLS_SHA256_SHA256 (RFC 9150), only authenticate."""

_SUITE = re.compile("[A-Z0-9][A-Za-z0-9_-]*")
"""A pattern for one cipher suite name; OpenSSL's commands (``@``) and combinations (``+``, ``:``) do not match."""

_NEVER = ":!aNULL:!eNULL:!PSK:!SRP:!LOW:!EXPORT:!DES:!3DES:!RC4:!RC2:!IDEA:!SEED:!MD5"
"""Cipher suites that are never used: those without certificates, without encryption, or with a broken algorithm."""

_LONGEST_NAME = 200
"""Maximum number of characters of a certificate's subject that the text of an error contains."""

_VERSIONS = {"TLSv1.2": SSL.TLS1_2_VERSION, "TLSv1.3": SSL.TLS1_3_VERSION}

_REASONS = {
    2: "its issuer is neither sent nor in the trust store",
    7: "its signature is wrong",
    9: "it is not valid yet",
    10: "it has expired",
    18: "it has signed itself and is not in the trust store",
    19: "the root of its chain is not in the trust store",
    20: "its issuer is neither sent nor in the trust store",
    21: "its issuer is neither sent nor in the trust store",
    26: "it is not made for this side of a connection",
    66: "its key is too short",
    67: "its key is too short",
    68: "its signature is of a kind that is too weak",
    79: "it is not that of a certificate authority, and has issued another",
}
"""Texts for the error numbers that ``X509_STORE_CTX_get_error`` returns."""


class PeerCertificateError(SSL.Error):
    """The certificate of the peer was refused; the text contains the subject of the certificate and the reason.

    The error ends the handshake with an alert.  Twisted passes the error to ``connectionLost`` as the reason.
    """

    def __init__(self, reason: str) -> None:
        # Twisted expects the arguments of OpenSSL's errors in this format
        super().__init__([("bookkeeper-twisted", "certificate", reason)])
        self._reason = reason

    def __str__(self) -> str:
        return self._reason


def server_context(
    identity: KeyAndChain, trusted: Sequence[Certificate] | None, protocols: Sequence[str], ciphers: Sequence[str],
    required: bool = True,
) -> SSL.Context:  # fmt: skip
    """Return the TLS context of a bookie's connections.

    :param trusted: the trusted issuers of clients' certificates; None to request no certificates from clients.
    :param protocols: the allowed protocols: ``TLSv1.2``, ``TLSv1.3`` or both.
    :param ciphers: names of the allowed cipher suites; if empty, the default suites are allowed.
    :param required: whether clients must send a certificate.  If False, a client may send none; but a
        certificate that it sends must be valid.
    :raises ConfigError: OpenSSL refuses one of the arguments.
    """
    context = _context(protocols, ciphers)
    context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE)
    _show(context, identity)
    if trusted is not None:
        _trust(context, trusted)
        for certificate in trusted:
            context.add_client_ca(certificate)
        always = SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT
        context.set_verify(always if required else SSL.VERIFY_PEER, _verify_chain)
    return context


def client_context(
    identity: KeyAndChain | None, trusted: Sequence[Certificate], protocols: Sequence[str], ciphers: Sequence[str]
) -> SSL.Context:
    """Return the TLS context for a client's :class:`HostConnection` objects.

    :param identity: the key and certificate to send to bookies that request them; None to send none.
    :param trusted: the trusted issuers of bookies' certificates.
    :param protocols: the allowed protocols: ``TLSv1.2``, ``TLSv1.3`` or both.
    :param ciphers: names of the allowed cipher suites; if empty, the default suites are allowed.
    :raises ConfigError: OpenSSL refuses one of the arguments.
    """
    context = _context(protocols, ciphers)
    if identity is not None:
        _show(context, identity)
    _trust(context, trusted)
    context.set_verify(SSL.VERIFY_PEER, _verify_bookie)
    return context


class EncryptedConnection(RecordConnection):
    """A TLS connection in memory that forms no reference cycle when the peer closes it.

    At the end of the peer's bytes, pyOpenSSL raises an error that forms a reference cycle with a stack frame of
    Twisted.  Then only Python's garbage collector could free the connection.  So this class raises another error.
    """

    def recv(self, bufsiz: int, flags: int | None = None) -> bytes:
        """Return decrypted bytes that the peer has sent.

        :param bufsiz: maximum number of bytes to return.
        :param flags: flags of the socket module, passed to pyOpenSSL.
        """
        try:
            return super().recv(bufsiz, flags)
        except (SSL.WantReadError, SSL.ZeroReturnError):
            raise
        except SSL.Error as error:
            if not _is_end(error):
                raise
        # raised outside the except block: inside, the new error would refer to the first error and its stack frames
        raise SSL.ZeroReturnError


def _is_end(error: SSL.Error) -> bool:
    """Test whether an error means that the peer sends no more bytes; OpenSSL versions report this differently."""
    reason = error.args[-1] if error.args else []
    if isinstance(reason, list):
        reason = reason[-1][-1] if reason else "unexpected eof"
    return str(reason).casefold().startswith("unexpected eof")


class HostConnection(EncryptedConnection):
    """A TLS connection of a client, with the host to which it is connected.

    :param host: a host name or an IP address; a host name is also sent to the bookie (SNI).
    :param verified: whether the bookie's certificate must contain ``host``.
    """

    # The host is not stored as the connection's "app data", because Twisted stores an object of its own there.
    def __init__(self, context: SSL.Context, host: str, verified: bool) -> None:
        super().__init__(context, None)
        self.expected = host if verified else None
        if not _is_address(host):
            self.set_tlsext_host_name(host.encode("ascii"))


def _context(protocols: Sequence[str], ciphers: Sequence[str]) -> SSL.Context:
    context = SSL.Context(SSL.TLS_METHOD)
    versions = [_VERSIONS[name] for name in _spoken(protocols, ciphers)]
    context.set_min_proto_version(min(versions))
    context.set_max_proto_version(max(versions))
    context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION | SSL.OP_NO_TICKET)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    for name in ciphers:
        _require_suite(name)
    older = [name for name in ciphers if not _is_of_13(name)]
    newer = [name for name in ciphers if _is_of_13(name)]
    context.set_cipher_list(":".join(older or DEFAULT_CIPHERS).encode())
    context.set_tls13_ciphersuites(":".join(newer or DEFAULT_CIPHERS_OF_13).encode())
    return context


def _is_of_13(name: str) -> bool:
    """Test whether ``name`` is the name of a cipher suite of TLS 1.3."""
    return name.startswith("TLS_") and "_WITH_" not in name


def _spoken(protocols: Sequence[str], ciphers: Sequence[str]) -> Sequence[str]:
    """Return the ``protocols`` for which ``ciphers`` contains at least one cipher suite.

    TLS 1.2 and TLS 1.3 have different cipher suites, and ``ciphers`` may contain suites for only one of them.
    """
    if not ciphers:
        return protocols
    with_suites = {"TLSv1.3" if _is_of_13(name) else "TLSv1.2" for name in ciphers}
    spoken = [name for name in protocols if name in with_suites]
    if not spoken:
        raise ConfigError(f"tlsEnabledCipherSuites: none of the suites is one of {', '.join(protocols)}")
    return spoken


def _require_suite(name: str) -> None:
    """Raise an error unless ``name`` is the name of one cipher suite that authenticates the peer and encrypts.

    OpenSSL itself would also accept commands and names of groups of suites, and would ignore unknown names.
    """
    if _is_of_13(name):
        is_one = name in _CIPHERS_OF_13
    else:
        is_one = _SUITE.fullmatch(name) is not None and _is_one_suite(name)
    if not is_one:
        raise ConfigError(
            f"tlsEnabledCipherSuites: {name!r} is not the name of a suite that authenticates the peer and encrypts"
        )


def _is_one_suite(name: str) -> bool:
    """Test whether ``name`` is OpenSSL's or Java's (IANA's) name of one allowed cipher suite of TLS 1.2."""
    context = SSL.Context(SSL.TLS_METHOD)
    try:
        context.set_cipher_list(f"{name}{_NEVER}".encode())
    except SSL.Error:
        return False
    found = [each for each in SSL.Connection(context, None).get_cipher_list() if not _is_of_13(each)]
    return found == [name] or (len(found) == 1 and "_WITH_" in name)


def _show(context: SSL.Context, identity: KeyAndChain) -> None:
    first, *others = identity.chain
    try:
        context.use_certificate(first)
        context.use_privatekey(identity.key)
        for certificate in others:
            context.add_extra_chain_cert(certificate)
        context.check_privatekey()
    except SSL.Error as error:
        raise identity.files.refusal(f"OpenSSL refuses the certificate or its key: {_text(error)}") from None


def _text(error: SSL.Error) -> str:
    return "; ".join(reason for _, _, reason in error.args[0]) if error.args else "no reason is given"


def _trust(context: SSL.Context, certificates: Iterable[Certificate]) -> None:
    store = context.get_cert_store()
    assert store is not None
    store.set_flags(X509StoreFlags.PARTIAL_CHAIN)
    for certificate in certificates:
        store.add_cert(X509.from_cryptography(certificate))


# ---- verification, inside the handshake --------------------------------------------------------------


def _verify_chain(connection: SSL.Connection, certificate: X509, number: int, depth: int, valid: int) -> bool:
    """Refuse the chain of a peer's certificate if OpenSSL finds it invalid.

    OpenSSL calls this function for each certificate of the chain, from the root issuer to the peer (depth 0).
    """
    name = _subject(certificate) if depth == 0 or not valid else ""
    if not valid:
        reason = _REASONS.get(number, f"error {number} of OpenSSL's X509_V_ERR")
        raise PeerCertificateError(f"the certificate of {name or 'an unreadable subject'} is refused: {reason}")
    if name is None:
        raise PeerCertificateError("the certificate is refused: its subject cannot be read")
    return True


def _subject(certificate: X509) -> str | None:
    """Return the subject of a certificate as text that is safe for the log, because a peer can choose any subject.

    :returns: the subject without control characters, truncated if it is long; None if it cannot be decoded.
    """
    try:
        text = certificate.to_cryptography().subject.rfc4514_string()
    except ValueError:
        return None
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text[:_LONGEST_NAME])


def _verify_bookie(connection: SSL.Connection, certificate: X509, number: int, depth: int, valid: int) -> bool:
    """Refuse a bookie's certificate if its chain is invalid, or if it does not contain the host of the connection.

    If the host is wrong, the bookie receives the TLS alert "internal error" instead of "bad certificate".  OpenSSL
    derives the alert from its error number, which a callback cannot set through pyOpenSSL.
    """
    _verify_chain(connection, certificate, number, depth, valid)
    if not isinstance(connection, HostConnection):
        raise PeerCertificateError("the certificate is refused: the host is unknown")
    if depth == 0 and connection.expected is not None:
        _verify_host(certificate, connection.expected)
    return True


def _verify_host(certificate: X509, host: str) -> None:
    verify = verify_certificate_ip_address if _is_address(host) else verify_certificate_hostname
    try:
        verify(certificate.to_cryptography(), host)
    except (VerificationError, CertificateError, ValueError):
        pass
    else:
        return
    # Raised outside the except block: inside, the new error would refer to the first error and its stack frames.
    raise PeerCertificateError(f"the certificate of {_subject(certificate)} is refused: it is not one for {host}")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
