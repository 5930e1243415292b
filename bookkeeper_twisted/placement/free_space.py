"""Asks bookies regularly for their free space; placement policies prefer bookies with more of it."""

from collections.abc import Callable, Collection

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..config.client import ClientConfig
from ..errors import BookKeeperError


@attrs.define
class FreeSpace:
    """Asks bookies for their free space, and stores the last answer of each bookie.

    A bookie is asked when it appears, and then regularly.  If it does not answer, it is asked again after a shorter
    time.

    :ivar free_bytes: free bytes of each bookie that has answered, by bookie id.
    """

    _log = Logger()

    _clock: IReactorTime
    _ask: Callable[[str], "Deferred[tuple[int, int]]"]
    _config: ClientConfig
    free_bytes: dict[str, int] = attrs.field(factory=dict)
    _loops: dict[str, Deferred[None]] = attrs.field(factory=dict)

    def bookies_changed(self, writable: Collection[str]) -> None:
        """Begin to ask new bookies for their free space; forget bookies that are not writable any more.

        :param writable: ids of all bookies that are writable now.
        """
        for bookie_id in self._loops.keys() - set(writable):
            self._forget(bookie_id)
        for bookie_id in sorted(set(writable) - self._loops.keys()):
            loop = Deferred.fromCoroutine(self._keep_asking(bookie_id))
            self._loops[bookie_id] = loop
            loop.addErrback(self._ended, bookie_id)

    def stop(self) -> None:
        """Stop asking bookies for their free space."""
        for bookie_id in list(self._loops):
            self._forget(bookie_id)

    def _forget(self, bookie_id: str) -> None:
        self._loops.pop(bookie_id).cancel()
        self.free_bytes.pop(bookie_id, None)

    async def _keep_asking(self, bookie_id: str) -> None:
        while True:
            pause = self._config.get_bookie_info_interval_seconds
            try:
                _, self.free_bytes[bookie_id] = await self._ask(bookie_id)
            except BookKeeperError as error:
                pause = self._config.get_bookie_info_retry_interval_seconds
                self._log.info("the space of {bookie_id} is not known: {error}", bookie_id=bookie_id, error=error)
            await deferLater(self._clock, pause)

    def _ended(self, failure: Failure, bookie_id: str) -> None:
        if not failure.check(CancelledError):
            self._log.failure("bookie {bookie_id} is not asked for its space any more", failure, bookie_id=bookie_id)
