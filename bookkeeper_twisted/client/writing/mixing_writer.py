"""A writer whose entries may be part of mixed runs."""

from collections.abc import Sequence
from typing import cast

from twisted.internet.defer import Deferred

from .mixed_run import MixedRun
from .mixing import Mixing
from .open_ledger import OpenLedger
from .sealing_writer import SealingWriter


class MixingWriter(SealingWriter):
    """Its entry is part of a mixed run while it is the only one on its way; see :mod:`.mixed_run`."""

    __slots__ = ("_mixing",)

    def __init__(self, ledger: OpenLedger) -> None:
        """:param ledger: one that nobody else writes."""
        super().__init__(ledger)
        self._mixing: Mixing | None = None
        if self._sealer.shape.wire == 2:
            self._mixing = ledger.context.mixings.of(ledger.digester)

    def leave_mixed(self) -> None:
        """Makes the entry that is part of a mixed run, if there is one, the first one of this writer's own runs."""
        run = cast(MixedRun | None, self.quorum.mixed)
        if run is None:
            return
        place, payload = self._take_out(run)
        self._own.offer(payload)
        if run.sent:
            self._sealer.go_on(self.quorum.completed, self.quorum.length)
            pending = self._sealer.take(self._own, self._max_in_flight, self._lac)
            assert pending is not None
            self.quorum.resume(pending)
            self._share.update(self.quorum.in_flight)
            run.stands_alone(place, pending)

    def send_alone(self) -> None:
        """Sends the entry of a mixed run that was not sent."""
        self.leave_mixed()
        self._drain()

    def _take_out(self, run: MixedRun) -> tuple[int, bytes]:
        place, payload, waiter = run.take_out(self)
        self.quorum.mixed = None
        entry_id = self.quorum.completed + 1
        self._waiters.append((entry_id, waiter, entry_id))
        return place, payload

    def _leave_others(self) -> None:
        self._mixing = None  # who is told of the end may append again, and is to be refused
        if self.quorum.mixed is not None:
            self._take_out(cast(MixedRun, self.quorum.mixed))

    def _drop_held(self, error: Exception) -> None:
        self._mixing = None

    @staticmethod
    def complete_mixed(
        writers: "Sequence[MixingWriter]", entry_ids: Sequence[int], lengths: Sequence[int],
        waiters: "list[Deferred[int]]",
    ) -> None:  # fmt: skip
        """The entries that are parts of mixed runs have their ack quorums; then those who wait are told, in order.

        :param lengths: of the ledgers, with these entries.
        :param waiters: emptied, so that each is gone before the next is told.
        """
        closing = list[MixingWriter]()
        for writer, entry_id, length in zip(writers, entry_ids, lengths, strict=True):
            quorum, explicit = writer.quorum, writer._explicit_lac
            if explicit is not None:
                explicit.piggybacked = writer._lac
            quorum.mixed = None
            quorum.completed = writer._lac = entry_id
            quorum.length = writer._confirmed_length = length
            if explicit is not None:
                explicit.moved()
            if writer._drained is not None:
                closing.append(writer)
        waiters.reverse()
        for entry_id in entry_ids:
            waiters.pop().callback(entry_id)
        for writer in closing:  # it had nothing else on its way
            writer._notify_drained()
