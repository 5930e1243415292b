"""Payloads that have an id and are not sent yet, in order."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

MAX_RUN_ENTRIES = 1024
"""Entries sealed at once: enough to make the cost of a run vanish, few enough to take turns with others."""


class AppendQueue:
    """A queue of byte strings that is left in runs.

    :ivar size: bytes of the records they will become, so that many empty entries count too.
    """

    __slots__ = ("_overhead", "_payloads", "_start", "size")

    def __init__(self, overhead: int) -> None:
        """:param overhead: bytes of a record that are not payload."""
        self._overhead = overhead
        self._payloads: list[bytes] = []
        self._start = 0
        self.size = 0

    def __len__(self) -> int:
        return len(self._payloads) - self._start

    def push(self, payloads: Sequence[bytes], size: int) -> None:
        """Adds payloads of ``size`` bytes together."""
        self._payloads.extend(payloads)
        self.size += size + len(payloads) * self._overhead

    def take(self, max_size: int) -> list[bytes]:
        """Removes payloads from the front: at least one, else so many as ``max_size`` bytes of records hold."""
        start = self._start
        taken = self._payloads[start : start + MAX_RUN_ENTRIES]
        count = len(taken)
        size = sum(map(len, taken)) + count * self._overhead
        if size > max_size:
            sizes = list(accumulate([len(payload) + self._overhead for payload in taken]))
            count = max(1, bisect_right(sizes, max_size))
            size = sizes[count - 1]
            del taken[count:]
        self.size -= size
        self._start = start + count
        if self._start * 2 > len(self._payloads):  # each payload is moved at most once on average
            del self._payloads[: self._start]
            self._start = 0
        return taken

    def clear(self) -> None:
        """Forgets everything."""
        self._payloads.clear()
        self._start = self.size = 0
