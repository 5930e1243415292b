"""Kerberos without a KDC: tickets and signatures are texts that anybody can make."""

from collections.abc import Callable

import attrs

from bookkeeper_twisted.authentication.sasl.jaas import KerberosLogin
from bookkeeper_twisted.errors import ConfigError, UnauthorizedAccessError

REALM = "EXAMPLE.TEST"


def signed(data: bytes) -> bytes:
    """Data that either side takes."""
    return b"signed:" + data


class _Context:
    peer = ""

    def __init__(self) -> None:
        self.is_complete = False

    def wrap(self, data: bytes) -> bytes:
        return signed(data)

    def unwrap(self, data: bytes) -> bytes:
        if not data.startswith(b"signed:"):
            raise UnauthorizedAccessError(detail="Kerberos: not signed")
        return data.removeprefix(b"signed:")


@attrs.define(eq=False)
class Acceptor(_Context):
    """The bookie's side: a ticket is ``ticket NAME SERVICE``, with ``!`` behind it if the bookie has to prove itself.

    :ivar service: of the bookie.
    """

    service: str
    is_complete: bool = False
    peer: str = ""

    def step(self, received: bytes | None) -> bytes:
        kind, name, service, *proof = (received or b"").decode().split(" ")
        if kind != "ticket" or service != self.service:
            raise UnauthorizedAccessError(detail="Kerberos: no ticket for this service")
        self.peer, self.is_complete = name, True
        return b"proof" if proof else b""


@attrs.define(eq=False)
class Initiator(_Context):
    """The client's side.

    :ivar name: of the client.
    :ivar service: of the bookie that it wants.
    """

    name: str
    service: str
    is_complete: bool = False

    def step(self, received: bytes | None) -> bytes:
        if received is None:
            return f"ticket {self.name} {self.service} !".encode()
        if received != b"proof":
            raise UnauthorizedAccessError(detail="Kerberos: no proof")
        self.is_complete = True
        return b""


class FakeKerberos:
    """See :class:`~bookkeeper_twisted.authentication.sasl.kerberos.Kerberos`.

    :ivar logins: those that were used.
    :ivar unusable: why files of keys cannot be used now; empty if they can.
    """

    def __init__(self) -> None:
        self.logins: list[KerberosLogin] = []
        self.unusable = ""

    def acceptor(self, login: KerberosLogin) -> Callable[[], Acceptor]:
        """The bookie's sides."""
        self._use(login)
        return lambda: Acceptor(login.principal)

    def initiator(self, login: KerberosLogin, service: str) -> Callable[[str], Initiator]:
        """The client's sides."""
        self._use(login)
        return lambda host: Initiator(login.principal, f"{service}/{host}@{REALM}")

    def _use(self, login: KerberosLogin) -> None:
        if self.unusable:
            raise ConfigError(self.unusable)
        self.logins.append(login)
