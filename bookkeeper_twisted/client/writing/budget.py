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
    _waiting: "dict[BudgetShare, None]" = attrs.field(factory=dict)

    def share(self, resume: Callable[[], None]) -> "BudgetShare":
        """The part of one writer.

        :param resume: called when there is room again, if the writer found none.
        """
        return BudgetShare(self, resume)

    def room(self, share: "BudgetShare") -> int:
        """Return the bytes that are left, 0 or less if there is no room.

        :param share: its ``resume`` is called once, when there is room again, if there is none now.
        """
        left = self.limit - self.used
        if left <= 0:
            self._waiting[share] = None
        return left

    def changed(self, difference: int) -> None:
        """Count bytes that were sent, acknowledged or given up.

        :param difference: bytes; positive for bytes that were sent.
        """
        self.used += difference
        if difference < 0 and self.used < self.limit:
            waiting, self._waiting = self._waiting, {}
            for share in waiting:  # in the order in which they found no room
                share.resume()


@attrs.define(eq=False)
class BudgetShare:
    """The part of one writer in a budget."""

    _budget: ByteBudget
    resume: Callable[[], None]

    def room(self) -> int:
        """See :meth:`ByteBudget.room`."""
        return self._budget.room(self)
