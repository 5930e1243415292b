"""GSSAPI (RFC 4752): both sides authenticate by Kerberos, as with Java's mechanism of the same name.

An exchange has these tokens:

1. client: its ticket for the bookie's service, in the format of RFC 4121.
2. bookie: a reply which proves that it has the key of the service.
3. client: an empty token.
4. bookie: the kinds of protection that it offers for the rest of the connection, signed.
5. client: the kind of protection that it chooses, and the user that it wants to act as, signed.

Java's client does not request token 2, so the bookie replies to its token 1 with token 4.  Our bookie offers, and our
client chooses, only the protection "none", because TLS protects the connection.  Java's bookie does not reply to token
5, so :class:`KerberosClientExchange` is an :class:`~bookkeeper_twisted.protocol.authentication.IUnansweredExchange`.
"""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, Protocol, TypeVar

from twisted.internet.defer import Deferred, DeferredLock, execute
from twisted.internet.interfaces import IReactorThreads
from twisted.internet.threads import deferToThreadPool
from zope.interface import implementer

from ...errors import UnauthorizedAccessError
from ...protocol.authentication import IAuthenticationExchange, IUnansweredExchange, Peer
from ...security.files import FromFiles
from ...security.principals import NOBODY, Principal
from .jaas import KerberosLogin

P = ParamSpec("P")
T = TypeVar("T")

NO_PROTECTION = 1
"""The bit for "no protection of the connection", in the tokens that offer and choose a kind of protection."""

_CHOICE = bytes([NO_PROTECTION, 0, 0, 0])
"""The content of the bookie's offer and of the client's choice (tokens 4 and 5): "no protection", maximum size 0."""


class SecurityContext(Protocol):
    """One side of a Kerberos security context.  Its methods may block, and may raise UnauthorizedAccessError.

    :ivar is_complete: whether both sides are authenticated.
    """

    is_complete: bool

    @property
    def peer(self) -> str:
        """The principal of the client, as ``name@REALM``; only for the bookie's side of a complete context."""

    def step(self, received: bytes | None) -> bytes:
        """Return the next token of the context, which may be empty.

        :param received: the token of the other side; None if the client is to make its first token.
        """

    def wrap(self, data: bytes) -> bytes:
        """Return ``data`` with a signature."""

    def unwrap(self, data: bytes) -> bytes:
        """Verify the signature of ``data`` from the other side, and return the data without the signature."""


class Kerberos(Protocol):
    """The functions of a Kerberos library that this package uses."""

    def acceptor(self, login: KerberosLogin) -> Callable[[], SecurityContext]:
        """Return a function that makes the bookie's side of a new security context at each call.

        :param login: the principal of the bookie, and its keytab file.
        :raises ConfigError: the keytab file cannot be used, or has no key of the principal.
        """

    def initiator(self, login: KerberosLogin, service: str) -> Callable[[str], SecurityContext]:
        """Return a function that makes the client's side of a security context; its argument is the host of the bookie.

        :param login: the principal of the client, and its keytab file or ticket cache.
        :param service: the first part of a bookie's principal, before the slash.
        :raises ConfigError: the keytab file cannot be used, or has no key of the principal.
        """


def from_key_tab(
    login: KerberosLogin, make: Callable[[], Callable[P, SecurityContext]], seconds: Callable[[], float]
) -> Callable[P, SecurityContext]:
    """Return a function that makes security contexts, and that reads the keytab file again when it has changed.

    If a changed file cannot be used, the previous keys stay in use, and the error is logged.

    :param login: names the keytab file.  If it names none, this function calls ``make`` once and returns its result.
    :param make: reads the keytab file, and returns a function that makes contexts; raises ConfigError.
    :param seconds: a function that returns the time in seconds.
    :raises ConfigError: the keytab file cannot be used at the time of this call.
    """
    if not login.key_tab:
        return make()
    made = FromFiles(f"the keys of {login.principal} in {login.key_tab}", (login.key_tab,), make, seconds)

    def context(*args: P.args, **kwargs: P.kwargs) -> SecurityContext:
        return made.get()(*args, **kwargs)

    return context


class WorkTurns:
    """Runs the blocking work of several exchanges in the reactor's thread pool, one piece of work at a time."""

    def __init__(self) -> None:
        self._lock = DeferredLock()

    def run(self, reactor: object, work: Callable[[], T]) -> "Deferred[T]":
        """Call ``work`` in the thread pool after all earlier work; return a Deferred for its result.

        If the Deferred is cancelled before the work begins, the work is not run.  Work that has begun is not stopped.

        :param reactor: the reactor of the connection; if it has no thread pool, ``work`` is called immediately.
        """
        if not IReactorThreads.providedBy(reactor):
            return execute(work)
        wanted: Deferred[T] = Deferred()

        def in_turn() -> object:
            if wanted.called:
                return None
            return deferToThreadPool(reactor, reactor.getThreadPool(), work).addBoth(wanted.callback)

        self._lock.run(in_turn)
        return wanted


class _Exchange:
    """The base class of both sides of an exchange: it runs the steps of the exchange in the reactor's thread pool."""

    complete = False

    def __init__(self, peer: Peer, turns: WorkTurns) -> None:
        self._reactor = peer.reactor
        self._turns = turns
        self._step: Callable[[bytes], bytes] = self._begin

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        """Return the next token of this side; a pool thread makes the token, because the Kerberos library may block."""
        step, self._step = self._step, self._ended
        return self._turns.run(self._reactor, partial(step, received or b""))

    def _begin(self, received: bytes) -> bytes:
        raise NotImplementedError

    def _ended(self, received: bytes) -> bytes:
        raise UnauthorizedAccessError(detail="the exchange has ended")


@implementer(IAuthenticationExchange)
class KerberosBookieExchange(_Exchange):
    """The bookie's side of a GSSAPI (Kerberos) exchange with a client.

    :param new_context: makes the bookie's side of a Kerberos security context.
    :param admit: called with the principal of the client, and with the user that the client wants to act as (None if
        the client names no user).  It raises UnauthorizedAccessError to refuse the client.
    """

    def __init__(
        self, new_context: Callable[[], SecurityContext], admit: Callable[[str, str | None], None], turns: WorkTurns,
        peer: Peer,
    ) -> None:  # fmt: skip
        super().__init__(peer, turns)
        self.principal = NOBODY
        self._new_context = new_context
        self._admit = admit

    def _begin(self, received: bytes) -> bytes:
        self._context = self._new_context()
        return self._establish(received)

    def _establish(self, received: bytes) -> bytes:
        token = self._context.step(received)
        if not self._context.is_complete:
            self._step = self._establish
        elif token:
            self._step = self._offer
        else:
            return self._offer(b"")
        return token

    def _offer(self, received: bytes) -> bytes:
        if received:
            raise UnauthorizedAccessError(detail="the client has sent a token where GSSAPI has none")
        self._step = self._verify
        return self._context.wrap(_CHOICE)

    def _verify(self, received: bytes) -> bytes:
        chosen = self._context.unwrap(received)
        if len(chosen) < len(_CHOICE) or chosen[0] != NO_PROTECTION:
            raise UnauthorizedAccessError(detail="the client has chosen a protection that was not offered")
        try:
            authorization = chosen[len(_CHOICE) :].decode()
        except UnicodeDecodeError:
            raise UnauthorizedAccessError(detail="the user is not UTF-8") from None
        name = self._context.peer
        self._admit(name, authorization or None)
        self.principal = Principal("sasl", name)
        self.complete = True
        return b""


@implementer(IUnansweredExchange)
class KerberosClientExchange(_Exchange):
    """The client's side of a GSSAPI (Kerberos) exchange with a bookie.

    The exchange is complete when the bookie has proven that it has the key of its service.

    :ivar principal: the principal of the bookie's TLS certificate.
    :param new_context: makes the client's side of a Kerberos security context; its argument is the host of the bookie.
    """

    def __init__(self, new_context: Callable[[str], SecurityContext], turns: WorkTurns, peer: Peer) -> None:
        super().__init__(peer, turns)
        self.principal = peer.certified
        self._new_context = new_context
        self._host = peer.host or peer.address.rpartition(":")[0].strip("[]")

    def _begin(self, received: bytes) -> bytes:
        self._context = self._new_context(self._host)
        return self._proceed(None)

    def _establish(self, received: bytes) -> bytes:
        return self._proceed(received)

    def _proceed(self, received: bytes | None) -> bytes:
        token = self._context.step(received)
        self._step = self._choose if self._context.is_complete else self._establish
        return token

    def _choose(self, received: bytes) -> bytes:
        offered = self._context.unwrap(received)
        if len(offered) != len(_CHOICE) or not offered[0] & NO_PROTECTION:
            raise UnauthorizedAccessError(detail="the bookie does not offer authentication alone, as bookies do")
        token = self._context.wrap(_CHOICE)
        self.complete = True
        self._step = self._answered
        return token

    def _answered(self, received: bytes) -> bytes:
        return b""
