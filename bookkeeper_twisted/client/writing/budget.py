"""Bytes in flight of all writers of a client: one limit that they share."""

from collections.abc import Callable

import attrs


@attrs.define
class ByteBudget:
    """The bytes that all writers together may have on their way to bookies.

    :ivar limit: bytes; each writer that has nothing on its way may pass it by one entry, so that none starves.
    :ivar used: bytes that are on their way.
    """

    limit: int
    used: int = 0
    _waiting: dict[Callable[[], None], None] = attrs.field(factory=dict)

    def room(self, resume: Callable[[], None]) -> int:
        """Return the bytes that are left, 0 or less if there is no room.

        :param resume: called once, when there is room again, if there is none now; equal ones are one.
        """
        left = self.limit - self.used
        if left <= 0:
            self._waiting[resume] = None
        return left

    def take(self, size: int) -> None:
        """Count ``size`` bytes that are to be sent, whether or not there is room for them."""
        self.used += size

    def give_back(self, size: int) -> None:
        """Count ``size`` bytes that were acknowledged or given up."""
        self.used -= size
        if size and self._waiting and self.used < self.limit:
            waiting, self._waiting = self._waiting, {}
            for resume in waiting:  # in the order in which they found no room
                resume()
