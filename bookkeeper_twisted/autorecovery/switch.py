"""A watch of the switch in the metadata store that turns autorecovery on and off."""

from collections.abc import Callable

from twisted.internet.defer import Deferred, succeed

from ..metadata.interfaces import IUnderreplication


class Switch:
    """The watched state of autorecovery's switch: off until the store has reported that it is on.

    :ivar is_on: the state that the store reported last.
    """

    def __init__(self, underreplication: IUnderreplication) -> None:
        self.is_on = False
        self._underreplication = underreplication
        self._waiting: list[Deferred[None]] = []
        self._end: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin to watch the switch in the metadata store.

        :raises bookkeeper_twisted.errors.MetadataError: the driver is closed.
        """
        self._end = self._underreplication.watch_enabled(self._changed)

    def stop(self) -> None:
        """Stop watching the switch; callers that still wait for it must cancel their Deferreds."""
        self._end()
        self.is_on = False

    def wait(self) -> "Deferred[None]":
        """Wait until autorecovery is switched on; the returned Deferred has fired already if it is on."""
        if self.is_on:
            return succeed(None)
        waiter: Deferred[None] = Deferred(self._waiting.remove)
        self._waiting.append(waiter)
        return waiter

    async def confirm(self) -> None:
        """Ask the store itself whether autorecovery is switched on, as a watch reports late; wait until it is.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed.
        """
        if await self._underreplication.is_enabled():
            return
        told: Deferred[None] = Deferred()
        # A watch of its own reports the present state first: the other one may never report a switch that was off.
        end = self._underreplication.watch_enabled(
            lambda is_on: told.callback(None) if is_on and not told.called else None
        )
        try:
            await told
        finally:
            end()

    def _changed(self, is_on: bool) -> None:
        self.is_on = is_on
        while self.is_on and self._waiting:
            self._waiting.pop(0).callback(None)
