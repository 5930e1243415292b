"""What the entries of the matrix hold: it follows from their ids, here and in ``tests/java/Interop.java``."""

from collections.abc import Iterable

from bookkeeper_twisted.model import Entry

_LARGEST = 1500


def payload(entry_id: int) -> bytes:
    """Of an entry; that of entry 0 is empty."""
    return bytes((entry_id * 31 + i) & 0xFF for i in range(entry_id * 97 % _LARGEST))


def length(count: int) -> int:
    """Bytes of the first entries."""
    return sum(entry_id * 97 % _LARGEST for entry_id in range(count))


def verify(entries: Iterable[Entry], first: int) -> int:
    """Checks that entries are what was written, in order; returns the id that follows."""
    for entry in entries:
        if entry.entry_id != first or entry.data != payload(first):
            raise AssertionError(f"entry {entry.entry_id} is not entry {first} as it was written")
        first += 1
    return first
