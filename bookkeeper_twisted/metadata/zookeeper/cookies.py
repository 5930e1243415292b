"""The cookies of bookies on ZooKeeper."""

from ...errors import (
    CookieExistsError,
    CookieNotFoundError,
    MetadataVersionError,
    NotInitializedError,
)
from ...model import check_bookie_id
from ..interfaces import Versioned
from .interfaces import NewNode, NodeExistsError, NodeMissingError, NodeVersionError
from .znodes import Znodes

COOKIES = "cookies"


class ZooKeeperCookies:
    """The cookies of one cluster."""

    def __init__(self, znodes: Znodes) -> None:
        self._znodes = znodes

    async def ids(self) -> frozenset[str]:
        """Return the ids of the bookies that have a cookie."""
        try:
            return frozenset(await self._znodes.fresh_children(self._znodes.path(COOKIES)))
        except NodeMissingError:
            if await self._znodes.exists(self._znodes.root) is None:
                raise NotInitializedError(f"{self._znodes.root} does not exist") from None
            return frozenset()

    async def read(self, bookie_id: str) -> Versioned[bytes]:
        """Return the encoded cookie of the bookie ``bookie_id``; raise CookieNotFoundError if none is stored."""
        try:
            data, stat = await self._znodes.get(self._path(bookie_id))
        except NodeMissingError as error:
            raise _not_found(bookie_id) from error
        return Versioned(data, stat.version)

    async def write(self, bookie_id: str, cookie: bytes, version: int | None) -> int:
        """Store ``cookie`` as the cookie of the bookie ``bookie_id``: create it (``version`` None) or replace it.

        The result and the errors are those of
        :meth:`~bookkeeper_twisted.metadata.interfaces.IRegistration.write_cookie`.
        """
        path = self._path(bookie_id)
        try:
            if version is not None:
                return await self._znodes.set(path, cookie, version)
            stat = await self._znodes.create_below(NewNode(path, cookie), lambda data, stat: data == cookie)
            return 0 if stat is None else stat.version
        except NodeExistsError as error:
            raise CookieExistsError(f"bookie {bookie_id} has a cookie") from error
        except NodeVersionError as error:
            raise _changed(bookie_id, version) from error
        except NodeMissingError as error:
            raise _not_found(bookie_id) from error

    async def remove(self, bookie_id: str, version: int) -> None:
        """Remove the cookie of the bookie ``bookie_id`` if the cookie still has the version ``version``.

        The errors are those of :meth:`~bookkeeper_twisted.metadata.interfaces.IRegistration.remove_cookie`.
        """
        try:
            await self._znodes.delete(self._path(bookie_id), version)
        except NodeVersionError as error:
            raise _changed(bookie_id, version) from error
        except NodeMissingError as error:
            raise _not_found(bookie_id) from error

    def _path(self, bookie_id: str) -> str:
        return self._znodes.path(COOKIES, check_bookie_id(bookie_id))


def _not_found(bookie_id: str) -> CookieNotFoundError:
    return CookieNotFoundError(f"no cookie of bookie {bookie_id}")


def _changed(bookie_id: str, version: int | None) -> MetadataVersionError:
    return MetadataVersionError(f"cookie of {bookie_id} has not version {version}")
