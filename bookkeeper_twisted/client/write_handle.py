"""The writer of a ledger: ids in call order."""

from collections.abc import Sequence

from twisted.internet.defer import Deferred, fail

from ..errors import IncorrectParameterError
from .sealing_writer import SealingWriter, as_bytes


class LedgerWriter(SealingWriter):
    """Appends to one ledger.

    ``append`` never blocks.  Await what it returns, every now and then, and it is never refused for want
    of memory.
    """

    def append(self, data: bytes) -> "Deferred[int]":
        """Appends one entry.

        :returns: its id, once an ack quorum has it on disk (with deferred sync: has it) and everything
            before it is acknowledged.
        """
        if type(data) is not bytes:
            data = as_bytes(data)
        refusal = self._refusal(len(data))
        if refusal is not None:
            return fail(refusal)
        waiter: Deferred[int] = Deferred()
        self._push(data, waiter, self.last_add_pushed + 1)
        return waiter

    def append_many(self, payloads: Sequence[bytes]) -> "Deferred[tuple[int, int]]":
        """Appends entries with consecutive ids, at least one; all of them or, if refused, none.

        :returns: first and last id, once all are acknowledged.
        """
        payloads = list(payloads)
        if not payloads:
            return fail(IncorrectParameterError("nothing to append"))
        if set(map(type, payloads)) != {bytes}:
            payloads = list(map(as_bytes, payloads))
        sizes = list(map(len, payloads))
        refusal = self._refusal(max(sizes))
        if refusal is not None:
            return fail(refusal)
        first = self.last_add_pushed + 1
        waiter: Deferred[tuple[int, int]] = Deferred()
        self._own.offer_many(payloads)
        self._pushed(len(payloads), sum(sizes), waiter, (first, first + len(payloads) - 1))
        return waiter
