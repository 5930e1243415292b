"""What happened in a run: the calls of clients, the promises of bookies, every version of the metadata.

The checker sees this record and nothing else.  It is kept as lines a person can read, too.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs
from zope.interface import implementer

from bookkeeper_twisted.codec.metadata_formats import decode_ledger_metadata
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import DamageError, InvalidCookieError
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import LedgerMetadata, LedgerState

from .checker import Checker
from .world import IWitness, World


@attrs.define(eq=False)
class Call:
    """One call of a client.

    :ivar alive: whether the client's process still is.
    """

    client: str
    kind: str
    ledger_id: int
    began: float
    alive: Callable[[], bool]
    ended: float | None = None
    error: BaseException | None = None


@implementer(IWitness)
class History:
    """The record of one run.

    :ivar lines: for people; only kept if asked for.
    :ivar counters: how often each rare path ran.
    :ivar shared: ledger and entry of what was sent in batches of many ledgers, and what stands for the client.
    :ivar announced: called with the metadata of a ledger whose recovery begins.
    """

    def __init__(self, world: World, checker: Checker, keep_lines: bool = False) -> None:
        self.lines: list[str] = []
        self.calls: list[Call] = []
        self.counters: dict[str, int] = {}
        self.shared: dict[tuple[int, int], object] = {}
        self.checker = checker
        self.announced: Callable[[LedgerMetadata], None] = lambda metadata: None
        self._world = world
        self._keep_lines = keep_lines
        world.metadata.observe(self._metadata_changed)

    def note(self, who: str, text: str, *args: object) -> None:
        """One line."""
        if self._keep_lines:
            self.lines.append(f"{self._world.sim.seconds() - 1_000_000:10.4f} {who:8} {text.format(*args)}")

    def count(self, path: str) -> None:
        """A rare path ran."""
        self.counters[path] = self.counters.get(path, 0) + 1

    # -- clients --

    def begin(self, client: str, kind: str, ledger_id: int, alive: Callable[[], bool]) -> Call:
        """A call begins."""
        call = Call(client, kind, ledger_id, self._world.sim.seconds(), alive)
        if kind == "recover":
            self._count_recoveries(call)
        self.calls.append(call)
        self.note(client, "{} {} ...", kind, ledger_id)
        return call

    def end(self, call: Call, error: BaseException | None = None, result: Any = "") -> None:
        """It has ended."""
        call.ended, call.error = self._world.sim.seconds(), error
        outcome = f"failed: {type(error).__name__} {error}" if error else result
        self.note(call.client, "{} {}: {}", call.kind, call.ledger_id, outcome)

    def _count_recoveries(self, call: Call) -> None:
        closed = self.checker.ledger(call.ledger_id).closed
        if closed is None and any(
            c.kind == "recover" and c.ledger_id == call.ledger_id and c.ended is None and c.alive() for c in self.calls
        ):
            self.count("concurrent recovery")

    def unended(self) -> list[Call]:
        """Calls of living clients that have not ended."""
        return [call for call in self.calls if call.ended is None and call.alive()]

    # -- bookies --

    def stored(self, bookie_id: str, run: EntryRun, recovery: bool, begun_after_fence: bool) -> None:
        """See :class:`IWitness`."""
        self.note(bookie_id, "stored {} {}..{} {}", run.ledger_id, run.first, run.last, "recovery" * recovery)
        self.checker.stored(bookie_id, run, recovery, begun_after_fence)

    def fenced(self, bookie_id: str, ledger_id: int) -> None:
        """See :class:`IWitness`."""
        self.count("fencing")
        self.note(bookie_id, "fenced {}", ledger_id)

    def unfenced(self, bookie_id: str, ledger_id: int) -> None:
        """See :class:`IWitness`."""
        self.checker.fail("S3", f"{bookie_id} has lost the fence of ledger {ledger_id}")

    def forgot(self, bookie_id: str, ledger_ids: Sequence[int]) -> None:
        """See :class:`IWitness`."""
        for ledger_id in ledger_ids:
            self.note(bookie_id, "forgot {}", ledger_id)
            if not self.checker.ledger(ledger_id).deleted:
                self.count("deletion of an over-replicated ledger")
            self.checker.forgot(bookie_id, ledger_id)

    def old_copy(self, bookie_id: str, ledger_id: int, entry_id: int) -> None:
        """See :class:`IWitness`."""
        self.checker.fail("S9", f"{bookie_id} gave an old copy of entry {entry_id} of ledger {ledger_id}")

    def read_only(self, bookie_id: str, reason: str) -> None:
        """See :class:`IWitness`."""
        self.note(bookie_id, "read-only: {}", reason)
        self.count("read-only")

    def exited(self, bookie_id: str, error: BaseException) -> None:
        """See :class:`IWitness`."""
        self.note(bookie_id, "exited: {} {}", type(error).__name__, error)
        if isinstance(error, DamageError | InvalidCookieError):
            self.checker.fail("S5", f"{bookie_id} does not start: {error}")
        if str(error).endswith("is closed"):
            self.checker.fail("S1", f"{bookie_id} wrote to a journal that a stop had closed: {error}")

    # -- metadata --

    def _metadata_changed(self, ledger_id: int, stored: Versioned[bytes] | None) -> None:
        if stored is None:
            self.note("metadata", "ledger {} removed", ledger_id)
            self.checker.ledger(ledger_id).deleted = True
            return
        metadata = decode_ledger_metadata(stored.value)
        segments = " ".join(f"{s.first_entry_id}:{','.join(b[:-5] for b in s.bookies)}" for s in metadata.segments)
        end = f"{metadata.last_entry_id}/{metadata.length}" if metadata.closed else ""
        self.note("metadata", "ledger {} v{} {} {} {}", ledger_id, stored.version, metadata.state.name, end, segments)
        self._count_changes(self.checker.ledger(ledger_id).metadata, metadata)
        self.checker.metadata_changed(ledger_id, metadata)

    def _count_changes(self, before: LedgerMetadata | None, after: LedgerMetadata) -> None:
        if before is not None:
            if after.state is LedgerState.IN_RECOVERY and before.state is LedgerState.OPEN:
                self.announced(after)
            if after.closed and before.state is LedgerState.IN_RECOVERY:
                self.count("recovery")
            if before.segments != after.segments and (before.closed or _starts(before) == _starts(after)):
                self.count("re-replication" if before.closed else "change in place")
            elif before.segments != after.segments:
                self.count("ensemble change" if not after.closed else "ensemble change in recovery")


def _starts(metadata: LedgerMetadata) -> list[int]:
    return [segment.first_entry_id for segment in metadata.segments]
