"""The registrations of running bookies: ephemeral nodes, which are created again in every new session."""

from collections.abc import Callable

from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ...codec.metadata_formats import decode_service_info, encode_service_info
from ...errors import CodecError, MetadataError, MetadataSerializationError
from ...model import BookieServiceInfo, check_bookie_id
from ..interfaces import IRegistration, Versioned
from .claims import Claims
from .cluster import read_instance_id
from .cookies import ZooKeeperCookies
from .interfaces import NodeMissingError, NotConnectedError, OutcomeUnknownError
from .session import HELD
from .watches.bookie_sets import AVAILABLE, READ_ONLY, BookieSet, BookieSets
from .znodes import Znodes

RENEWAL_SECONDS = 1.0
"""Seconds between two attempts to register a bookie in a new session, if ZooKeeper fails."""


@implementer(IRegistration)
class ZooKeeperRegistration:
    """The registrations and cookies of bookies on ZooKeeper."""

    _log = Logger()

    def __init__(self, znodes: Znodes) -> None:
        self._znodes = znodes
        self._session = znodes.session
        self._claims = Claims(znodes)
        self._cookies = ZooKeeperCookies(znodes)
        self._sets = BookieSets(znodes)
        self._lock = DeferredLock()
        self._registered: dict[str, tuple[bool, bytes]] = {}
        self._listeners: list[Callable[[Failure], None]] = []
        self._renewing: Deferred[None] | None = None
        self._session.on_renewal(self._renew_soon)
        self._session.held = self._held

    def stop(self) -> None:
        """End all watches, and stop registering bookies in new sessions."""
        self._sets.stop()
        self._registered.clear()
        if self._renewing is not None:
            self._renewing.cancel()

    async def instance_id(self) -> str:
        return await read_instance_id(self._znodes)

    # -- registrations --

    async def register_bookie(self, bookie_id: str, read_only: bool, info: BookieServiceInfo) -> None:
        check_bookie_id(bookie_id)
        try:
            data = encode_service_info(info)
        except CodecError as error:
            raise MetadataSerializationError(f"bookie {bookie_id}: {error}") from error
        await self._locked(self._register, bookie_id, read_only, data)

    async def unregister_bookie(self, bookie_id: str) -> None:
        await self._locked(self._unregister, check_bookie_id(bookie_id))

    async def _register(self, bookie_id: str, read_only: bool, data: bytes) -> None:
        """Register a bookie in the current session; if a new session begins meanwhile, register the bookie again."""
        session_id = None
        while session_id != self._session.zookeeper.session_id:
            session_id = self._session.zookeeper.session_id
            await self._claims.register(bookie_id, read_only, data)
        self._registered[bookie_id] = read_only, data

    async def _unregister(self, bookie_id: str) -> None:
        self._registered.pop(bookie_id, None)
        await self._claims.withdraw(bookie_id)

    async def _locked(self, change: Callable[..., object], *args: object) -> None:
        """Wait for earlier changes of this driver's registrations; then run the coroutine function ``change``."""
        self._session.check_open()
        await self._lock.acquire()
        try:
            await change(*args)  # type: ignore[misc]
        finally:
            self._lock.release()

    # -- renewal --

    def _held(self) -> str:
        """Return what the end of the session means for this process, for the log."""
        if not self._registered:
            return HELD
        bookies = " and ".join(f"bookie {bookie_id}" for bookie_id in self._registered)
        is_not, it = ("is not", "it") if len(self._registered) == 1 else ("are not", "them")
        return f"{bookies} {is_not} registered until the next session, so that clients do not use {it}, and {HELD}"

    def on_registration_lost(self, listener: Callable[[Failure], None]) -> None:
        self._listeners.append(listener)

    def _renew_soon(self) -> None:
        if self._registered:
            self._renewing = Deferred.fromCoroutine(self._locked(self._renew_all))
            self._renewing.addErrback(self._renewal_ended)

    async def _renew_all(self) -> None:
        for bookie_id in list(self._registered):
            await self._renew(bookie_id)

    async def _renew(self, bookie_id: str) -> None:
        while bookie_id in self._registered:
            try:
                await self._register(bookie_id, *self._registered[bookie_id])
            except (NotConnectedError, OutcomeUnknownError) as error:
                self._log.warn("bookie {bookie_id} is not registered yet: {error}", bookie_id=bookie_id, error=error)
                await self._session.pause(RENEWAL_SECONDS)
            except MetadataError:
                if self._session.is_open:
                    self._lost(bookie_id, Failure())
            else:
                self._log.info("bookie {bookie_id} is registered in a new session", bookie_id=bookie_id)
                return

    def _lost(self, bookie_id: str, failure: Failure) -> None:
        self._registered.pop(bookie_id, None)
        for listener in self._listeners:
            listener(failure)

    def _renewal_ended(self, failure: Failure) -> None:
        if self._session.is_open and not failure.check(CancelledError):
            self._log.failure("registrations were not renewed", failure)

    # -- bookies that are alive --

    async def writable_bookies(self) -> frozenset[str]:
        return await BookieSet(self._znodes, False).read()

    async def read_only_bookies(self) -> frozenset[str]:
        return await BookieSet(self._znodes, True).read()

    async def all_bookies(self) -> frozenset[str]:
        return await self._cookies.ids()

    async def service_info(self, bookie_id: str) -> BookieServiceInfo:
        check_bookie_id(bookie_id)
        try:
            try:
                data, _ = await self._znodes.get(self._znodes.path(AVAILABLE, bookie_id))
            except NodeMissingError:
                data, _ = await self._znodes.get(self._znodes.path(AVAILABLE, READ_ONLY, bookie_id))
            return decode_service_info(data, bookie_id)
        except NodeMissingError as error:
            raise MetadataError(f"bookie {bookie_id} is not registered") from error
        except CodecError as error:
            raise MetadataSerializationError(f"bookie {bookie_id}: {error}") from error

    def watch_bookies(self, listener: Callable[[frozenset[str], frozenset[str]], None]) -> Callable[[], None]:
        return self._sets.watch(listener)

    # -- cookies --

    async def read_cookie(self, bookie_id: str) -> Versioned[bytes]:
        return await self._cookies.read(bookie_id)

    async def write_cookie(self, bookie_id: str, cookie: bytes, version: int | None) -> int:
        return await self._cookies.write(bookie_id, cookie, version)

    async def remove_cookie(self, bookie_id: str, version: int) -> None:
        await self._cookies.remove(bookie_id, version)
