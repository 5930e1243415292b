"""The connection to real ZooKeeper servers by kazoo, as a provider of :class:`~.interfaces.IZooKeeper`.

kazoo calls back on its own threads; each callback here only passes its arguments to the reactor thread.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import attrs
from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, KazooState, KeeperState
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE
from twisted.internet.defer import Deferred, fail
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ...security.contexts import SocketTls, TlsSettings
from ..interfaces import MetadataOptions
from .interfaces import (
    IZooKeeper,
    NewNode,
    NodeExistsError,
    NodeForbiddenError,
    NodeMissingError,
    NodeNotEmptyError,
    NodeVersionError,
    NotConnectedError,
    OutcomeUnknownError,
    SessionState,
    Stat,
    Watch,
    ZooKeeperError,
)

_ERRORS: dict[type[Exception], type[ZooKeeperError]] = {
    kazoo_errors.NoNodeError: NodeMissingError,
    kazoo_errors.NodeExistsError: NodeExistsError,
    kazoo_errors.BadVersionError: NodeVersionError,
    kazoo_errors.NotEmptyError: NodeNotEmptyError,
    kazoo_errors.NoAuthError: NodeForbiddenError,
    kazoo_errors.ConnectionLoss: OutcomeUnknownError,
    kazoo_errors.ConnectionClosedError: OutcomeUnknownError,
    kazoo_errors.SessionExpiredError: OutcomeUnknownError,
    kazoo_errors.SessionMovedError: OutcomeUnknownError,
    kazoo_errors.OperationTimeoutError: OutcomeUnknownError,
}
CLOSE_SECONDS = 3.0
"""Seconds for which the end of a session waits for an answer of ZooKeeper."""

_RECONNECT = {"max_tries": -1, "delay": 0.1, "backoff": 2, "max_delay": 2.0}
_WORDS = {
    KeeperState.EXPIRED_SESSION: SessionState.EXPIRED,
    KeeperState.CONNECTED: SessionState.CONNECTED,
    KeeperState.CONNECTED_RO: SessionState.CONNECTED,
}


@implementer(IZooKeeper)
class KazooZooKeeper:
    """A connection to ZooKeeper by one kazoo client.

    :param reactor: runs all callbacks.
    :param hosts: ``host:port``, separated by commas.
    """

    _log = Logger()

    def __init__(self, reactor: Any, hosts: str, options: MetadataOptions) -> None:
        self.session_id = 0
        self.trouble = ""
        self._reactor = reactor
        self._closing = False
        self._timeout = options.session_timeout
        self._under_way: dict[Deferred[Any], str] = {}
        self._acl = CREATOR_ALL_ACL if options.secure else OPEN_ACL_UNSAFE
        auth = [credential.partition(":")[::2] for credential in options.auth]
        self._kazoo: Any = KazooClient(
            hosts, timeout=options.session_timeout, connection_retry=dict(_RECONNECT), auth_data=auth,
            logger=kazoo_log(reactor, self._tell), handler=_handler(reactor, options.tls),
            use_ssl=options.tls is not None,
        )  # fmt: skip

    def connect(self, changed: Callable[[SessionState], None]) -> None:
        def arrived(connection: SessionState, session_id: int) -> None:
            if connection is SessionState.CONNECTED:
                self.trouble = ""
            self.session_id = session_id or self.session_id
            if connection is not SessionState.CONNECTED and not self._closing:
                self._lose_all()
            changed(connection)

        def listen(state: str) -> None:
            client_id = self._kazoo.client_id
            connection = _WORDS.get(self._kazoo.client_state, SessionState.CLOSED)
            if state == KazooState.SUSPENDED:
                connection = SessionState.SUSPENDED
            self._reactor.callFromThread(arrived, connection, client_id[0] if client_id else 0)

        self._kazoo.add_listener(listen)
        self._kazoo.start_async()

    def _tell(self, trouble: str) -> None:
        self.trouble = trouble

    def close(self) -> "Deferred[None]":
        """End the session and the connection; if ZooKeeper does not answer within :data:`CLOSE_SECONDS`, log this.

        kazoo waits longer, for ten seconds or the session timeout, so the call that stops kazoo runs on a thread of its
        own: the end of the process waits for the threads of the reactor's pool, but not for this one.
        """
        self._closing = True
        closed: Deferred[None] = Deferred()

        def ended(failure: Failure | None) -> None:
            if closed.called:
                return  # too late: this was logged
            if failure is not None:
                self._log.failure("kazoo does not stop", failure)
            closed.callback(None)

        def stop() -> None:
            failure = None
            try:
                self._kazoo.stop()
                self._kazoo.close()
            except Exception:
                failure = Failure()
            self._reactor.callFromThread(ended, failure)

        self._kazoo.handler.spawn(stop)
        closed.addTimeout(CLOSE_SECONDS, self._reactor, self._not_closed)
        return closed.addCallback(lambda _: self._lose_all())

    def _not_closed(self, *_: object) -> None:
        self._log.warn(
            "ZooKeeper does not answer the end of the session of this process: it ends the session by itself, with the "
            "registration and the locks of this process, after {seconds:g} s without contact", seconds=self._timeout,
        )  # fmt: skip

    # -- calls --

    def create(self, node: NewNode) -> "Deferred[str]":
        return self._call(
            node.path, self._kazoo.create_async, node.path, node.data, acl=self._acl_of(node),
            ephemeral=node.ephemeral, sequence=node.sequence,
        )  # fmt: skip

    def create_all(self, nodes: Sequence[NewNode]) -> "Deferred[None]":
        transaction = self._kazoo.transaction()
        for node in nodes:
            transaction.create(node.path, node.data, acl=self._acl_of(node), ephemeral=node.ephemeral)
        called: Deferred[list[object]] = self._call(nodes[0].path, transaction.commit_async)
        return called.addCallback(_check_all, nodes)

    def get(self, path: str, watch: Watch | None = None) -> "Deferred[tuple[bytes, Stat]]":
        called: Deferred[Any] = self._call(path, self._kazoo.get_async, path, watch=self._watch(watch))
        return called.addCallback(lambda found: (found[0] or b"", _stat(found[1])))

    def exists(self, path: str, watch: Watch | None = None) -> "Deferred[Stat | None]":
        called: Deferred[Any] = self._call(path, self._kazoo.exists_async, path, watch=self._watch(watch))
        return called.addCallback(lambda stat: None if stat is None else _stat(stat))

    def children(self, path: str, watch: Watch | None = None) -> "Deferred[tuple[list[str], Stat]]":
        called: Deferred[Any] = self._call(
            path, self._kazoo.get_children_async, path, watch=self._watch(watch), include_data=True
        )
        return called.addCallback(lambda found: (found[0], _stat(found[1])))

    def set(self, path: str, data: bytes, version: int) -> "Deferred[Stat]":
        called: Deferred[Any] = self._call(path, self._kazoo.set_async, path, data, version)
        return called.addCallback(_stat)

    def delete(self, path: str, version: int) -> "Deferred[None]":
        called: Deferred[Any] = self._call(path, self._kazoo.delete_async, path, version)
        return called.addCallback(lambda _: None)

    def sync(self, path: str) -> "Deferred[None]":
        called: Deferred[Any] = self._call(path, self._kazoo.sync_async, path)
        return called.addCallback(lambda _: None)

    # -- between the threads --

    def _call(self, path: str, method: Callable[..., Any], *args: object, **options: object) -> "Deferred[Any]":
        client_id = self._kazoo.client_id
        if client_id is not None and client_id[0] != self.session_id:
            # kazoo has already begun a new session: refuse a call that was meant for the old session
            return fail(NotConnectedError(f"{path}: another session has begun"))
        result: Deferred[Any] = Deferred()
        self._under_way[result] = path

        def arrived(value: object, error: Exception | None) -> None:
            # a reply may arrive after the caller has cancelled the call: this is no error
            self._under_way.pop(result, None)
            if result.called:
                return  # the caller has cancelled the call, or the connection was lost
            if error is None:
                result.callback(value)
            else:
                result.errback(translated(path, error))

        def done(answer: Any) -> None:
            self._reactor.callFromThread(arrived, answer.value, answer.exception)

        method(*args, **options).rawlink(done)
        return result

    def _lose_all(self) -> None:
        """Fail the calls in progress with OutcomeUnknownError.

        kazoo itself fails most calls when the connection breaks.  But it stores a call that is made at that moment, and
        sends the call over the next connection, however late.  The caller must not wait so long, so all calls fail now.
        """
        for result, path in list(self._under_way.items()):
            if not result.called:
                result.errback(OutcomeUnknownError(f"{path}: the connection was lost"))

    def _watch(self, watch: Watch | None) -> Callable[[Any], None] | None:
        return None if watch is None else _Relay(self._reactor, watch)

    def _acl_of(self, node: NewNode) -> Any:
        return OPEN_ACL_UNSAFE if node.open else self._acl


def _handler(reactor: Any, settings: TlsSettings | None) -> Any:
    """Return a kazoo handler for connections over TLS; return None without TLS, so that kazoo uses its own handler."""
    if settings is None:
        return None
    from .encryption import EncryptedHandler

    return EncryptedHandler(SocketTls(settings, reactor.seconds))


_KAZOO_LOG = Logger(namespace="kazoo")


_TROUBLE = ("Connection dropped: ", "Connection time-out: ")
"""Beginnings of kazoo's messages that have the reason for which there is no connection."""

_STATES = ("Failed connecting to Zookeeper", "Transition to CONNECTING", "Session has expired")
"""Beginnings of kazoo's messages about states of the connection, which the session logs in lines of its own."""


class _ToTwisted(logging.Handler):
    """A log handler that passes kazoo's messages to the reactor thread, where they are logged at level info.

    A repeated message is logged only once.  Messages about the connection, which kazoo repeats at each attempt to
    connect, are logged at level debug: the session logs one line when the connection is lost and one when it is
    restored, and each call that is given up has an error.

    :param tell: called on the reactor thread with the reason for which there is no connection.
    """

    def __init__(self, reactor: Any, tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._reactor = reactor
        self._tell = tell
        self._last = ""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text.startswith(_TROUBLE):
            self._reactor.callFromThread(self._tell, text)
        if text != self._last:
            self._last = text
            is_known = text.startswith((*_TROUBLE, *_STATES))
            self._reactor.callFromThread(_KAZOO_LOG.debug if is_known else _KAZOO_LOG.info, "{text}", text=text)


def kazoo_log(reactor: Any, tell: Callable[[str], None]) -> logging.Logger:
    """Return a logger for one kazoo client; its warnings are written to Twisted's log on the thread of ``reactor``.

    :param tell: called on the reactor thread with the reason for which there is no connection.
    """
    # Made without logging.getLogger(), so that the application's configuration of logging does not affect it.
    log = logging.Logger("kazoo", logging.WARNING)
    log.addHandler(_ToTwisted(reactor, tell))
    return log


@attrs.frozen
class _Relay:
    """A watch for kazoo that calls the function ``watch`` on the reactor thread.

    Two objects with the same ``watch`` are equal, and kazoo stores equal watches only once.  So it calls ``watch``
    once.
    """

    reactor: Any
    watch: Watch

    def __call__(self, event: Any) -> None:
        self.reactor.callFromThread(self.watch, event.type != EventType.NONE)


def translated(path: str, error: Exception) -> Exception:
    """Convert an error of kazoo to an error of :mod:`.interfaces`.

    :param path: path of the node, for the text of the new error.
    :param error: the error; an error that kazoo does not define is returned unchanged.
    """
    if not isinstance(error, kazoo_errors.KazooException):
        return error
    text = f"{path}: {type(error).__name__} {error}".rstrip()
    for theirs, ours in _ERRORS.items():
        if isinstance(error, theirs):
            return ours(text)
    return ZooKeeperError(text)


def _check_all(results: list[object], nodes: Sequence[NewNode]) -> None:
    """Raise the first error in the results of a transaction; kazoo returns such errors without raising them."""
    for node, result in zip(nodes, results, strict=True):
        if isinstance(result, Exception) and not isinstance(result, kazoo_errors.RolledBackError):
            raise translated(node.path, result)


def _stat(stat: Any) -> Stat:
    return Stat(stat.czxid, stat.version, stat.cversion, stat.ephemeralOwner, stat.numChildren, stat.ctime)
