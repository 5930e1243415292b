"""How many appends a block is worth waiting for: moving averages of what one connection is asked to append.

Half of what is outstanding on average, so that one half is on its way while the other gathers, but no more
than come in the time a block may wait.  The averages belong to the connection and end with it.
"""

MAX_APPENDS = 500
"""Appends that wait for no more."""

_FIRST_SIZE, _SIZE_KEEPS = 1024, 0.99
"""What the average size begins with, and the part that is left of it after an append."""

_FIRST_GAP, _FIRST_OUTSTANDING, _KEEPS = 0.01, 20.0, 0.999
"""The same of the seconds between appends and of the appends outstanding."""


class AppendTracker:
    """The averages, and what follows from them.  Appends of one turn are taken in at once, however many.

    :param linger: seconds that a block may wait.
    :param now: the time in seconds.
    """

    __slots__ = ("_linger", "_latest", "_root_size", "_gap", "_outstanding")

    def __init__(self, linger: float, now: float) -> None:
        self._linger = linger
        self._latest = now
        self._root_size: float = _FIRST_SIZE**0.5  # on the scale of roots a few large appends count less
        self._gap = min(_FIRST_GAP, linger)
        self._outstanding = _FIRST_OUTSTANDING

    def record(self, now: float, count: int, size: int, outstanding: int) -> None:
        """Appends were asked for since the last call.

        :param size: bytes of all of them.
        :param outstanding: bytes of all requests that wait for their replies, these included.
        """
        # After a pause longer than the linger, its length says no more than that nothing is to be expected, and a
        # long one must not outweigh thousands of appends.
        gap = min(now - self._latest, self._linger) / count
        self._latest = now
        root = self._root_size = _moved(self._root_size, (size / count) ** 0.5, _SIZE_KEEPS**count)
        keeps = _KEEPS**count
        self._gap = _moved(self._gap, gap, keeps)
        self._outstanding = _moved(self._outstanding, outstanding / (root * root), keeps)

    def block(self, queued: int, on_the_way: int) -> int:
        """The appends that a block should have before it leaves.

        :param queued: appends that it has.
        :param on_the_way: bytes of requests that were written and wait for their replies.
        :returns: 0 while no more than one request is outstanding, else from 1 to :data:`MAX_APPENDS`.
        """
        if queued <= 1 and on_the_way <= 0:
            return 0
        appends = min(self._outstanding / 2, float(MAX_APPENDS))
        if appends * self._gap > self._linger:
            appends = self._linger / self._gap
        return max(1, int(appends))


def _moved(average: float, sample: float, keeps: float) -> float:
    return sample + (average - sample) * keeps
