"""The principals of peers: the identities that peers have proven on their connections."""

import re
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_ROLES = "0"
"""The number before the roles in the organizational unit (OU) of a certificate: ``0:writer,reader;1:cluster``."""

_CODED = re.compile("([0-9]+):([^\n\r\x85\u2028\u2029]*)(?:\r\n|[\n\r\x85\u2028\u2029])?")
"""A code and what it stands for, as Java's ``^([0-9]+):(.*)$`` finds it: only at the end may a line end."""

_JAVA_SPACE = "".join(map(chr, range(33)))
"""The characters that Java's ``trim`` removes around the name of a role in a certificate.

Other white space, such as U+00A0, belongs to the name.
"""


@attrs.frozen
class Principal:
    """A principal: the identity that a peer has proven.

    :ivar kind: how the peer has proven its identity: one of :data:`KINDS`.
    :ivar name: the subject of the certificate in the form of RFC 4514, or the name of the user.
    :ivar roles: the roles in the peer's certificate or token.  Apache's ``BookieAuthZFactory`` uses only the first role
        of a certificate.
    :ivar uris: the URIs among the alternative names of the certificate, such as ``spiffe://domain/service``.
    """

    kind: Literal["certificate", "sasl", "token", "none"]
    name: str = ""
    roles: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()


KINDS = ("certificate", "sasl", "token", "none")
"""The values of :attr:`Principal.kind`."""

NOBODY = Principal("none")
"""The principal of a peer that is not authenticated."""


def principal_of(certificate: "Certificate") -> Principal:
    """Return the principal for a certificate that the TLS handshake has verified.

    :param certificate: the peer's own certificate: ``connection.get_peer_certificate(as_cryptography=True)``.
    """
    from cryptography.x509 import ExtensionNotFound, NameOID, SubjectAlternativeName, UniformResourceIdentifier

    # like Java, use only one organizational unit: the first in the certificate
    units = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)
    unit = units[0].value if units else ""
    try:
        names = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    except (ExtensionNotFound, ValueError):  # alternative names that are missing or cannot be parsed are ignored
        uris: list[str] = []
    else:
        uris = names.get_values_for_type(UniformResourceIdentifier)
    roles = roles_of(unit) if isinstance(unit, str) else ()
    return Principal("certificate", certificate.subject.rfc4514_string(), roles, tuple(uris))


def roles_of(unit: str) -> tuple[str, ...]:
    """Return the roles in the organizational unit (OU) of a certificate, as Java's ``CertUtils`` does.

    The roles are the comma-separated words after ``0:``; if there are several ``0:``, after the last of them.  White
    space and control characters of ASCII around a role are ignored.

    :param unit: a text of the form ``0:role,role;1:cluster``.
    """
    codes: dict[str, str] = {}
    for part in unit.split(";"):
        if match := _CODED.fullmatch(part):
            codes[match[1]] = match[2]
    roles = [role.strip(_JAVA_SPACE) for role in codes.get(_ROLES, "").split(",")]
    while roles and not roles[-1]:
        roles.pop()
    return tuple(roles)
