"""Bookies and cookies in an embedded store."""

from collections.abc import Callable

from twisted.python.failure import Failure
from zope.interface import implementer

from ...codec.metadata_formats import decode_service_info, encode_service_info
from ...errors import CodecError, MetadataSerializationError
from ...model import BookieServiceInfo, check_bookie_id
from ..interfaces import IRegistration, Versioned
from .session import EmbeddedSession


@implementer(IRegistration)
class EmbeddedRegistration:
    """The bookies that are registered in an embedded store, and the cookies of all bookies."""

    def __init__(self, session: EmbeddedSession) -> None:
        self._session = session
        self._store = session.store

    async def instance_id(self) -> str:
        return await self._session.read(self._store.instance_id)

    async def register_bookie(self, bookie_id: str, read_only: bool, info: BookieServiceInfo) -> None:
        check_bookie_id(bookie_id)
        try:
            data = encode_service_info(info)
        except CodecError as error:
            raise MetadataSerializationError(f"bookie {bookie_id}: {error}") from error
        await self._session.write(self._store.register, bookie_id, read_only, data)

    async def unregister_bookie(self, bookie_id: str) -> None:
        await self._session.write(self._store.unregister, bookie_id)

    def on_registration_lost(self, listener: Callable[[Failure], None]) -> None:
        """Do nothing: an embedded store never ends the session of an open driver, so no registration is lost."""

    async def writable_bookies(self) -> frozenset[str]:
        return (await self._session.bookies())[0]

    async def read_only_bookies(self) -> frozenset[str]:
        return (await self._session.bookies())[1]

    async def all_bookies(self) -> frozenset[str]:
        return await self._session.read(self._store.cookie_ids)

    async def service_info(self, bookie_id: str) -> BookieServiceInfo:
        data = await self._session.read(self._store.service_info, bookie_id)
        try:
            return decode_service_info(data, bookie_id)
        except CodecError as error:
            raise MetadataSerializationError(f"bookie {bookie_id}: {error}") from error

    def watch_bookies(self, listener: Callable[[frozenset[str], frozenset[str]], None]) -> Callable[[], None]:
        return self._session.watches.watch_bookies(listener)

    async def read_cookie(self, bookie_id: str) -> Versioned[bytes]:
        return await self._session.read(self._store.read_cookie, bookie_id)

    async def write_cookie(self, bookie_id: str, cookie: bytes, version: int | None) -> int:
        check_bookie_id(bookie_id)
        return await self._session.write(self._store.write_cookie, bookie_id, cookie, version)

    async def remove_cookie(self, bookie_id: str, version: int) -> None:
        await self._session.write(self._store.remove_cookie, bookie_id, version)
