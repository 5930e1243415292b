"""Judges a history by the invariants S3, S9 and S12 to S18, as it happens and at its end.

It knows what was appended, acknowledged, stored, read, and every version of the metadata; it knows
nothing of how any of it came about.
"""

from collections.abc import Sequence

import attrs

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.model import Entry, LedgerMetadata, LedgerState


@attrs.frozen
class Violation:
    """:ivar invariant: its id."""

    invariant: str
    text: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.text}"


@attrs.define(eq=False)
class Ledger:
    """What is known of one ledger.

    :ivar payloads: what its writer appended, by entry id.
    :ivar acked: the highest acknowledged id.
    :ivar confirmed: the highest id that a writer or a reader got as confirmed.
    :ivar holders: bookies that acknowledged an entry.
    :ivar lacs: the LAC that an entry carries.
    :ivar added: the bytes of an entry as its writer sent it.
    :ivar closed: last entry and length, once it is closed.
    """

    ledger_id: int
    payloads: dict[int, bytes] = attrs.field(factory=dict)
    acked: int = -1
    confirmed: int = -1
    holders: dict[int, dict[str, None]] = attrs.field(factory=dict)
    lacs: dict[int, int] = attrs.field(factory=dict)
    added: dict[int, bytes] = attrs.field(factory=dict)
    metadata: LedgerMetadata | None = None
    closed: tuple[int, int] | None = None
    deleted: bool = False

    def length(self, last: int) -> int:
        """Bytes of the payloads up to an entry."""
        return sum(len(self.payloads.get(e, b"")) for e in range(last + 1))

    def write_set(self, entry_id: int) -> list[str]:
        """The bookies that keep an entry, as the metadata says."""
        assert self.metadata is not None
        ensemble = self.metadata.ensemble_at(entry_id)
        size = len(ensemble)
        return [ensemble[(entry_id + i) % size] for i in range(self.metadata.write_quorum_size)]

    def misplaced(self, entry_id: int) -> str:
        """Why an acknowledged entry is not where the metadata says; empty if it is."""
        metadata = self.metadata
        if metadata is None or self.deleted:
            return ""
        write_set = self.write_set(entry_id)
        held = self.holders.get(entry_id, {})
        found = [bookie for bookie in write_set if bookie in held]
        if len(found) >= metadata.ack_quorum_size:
            return ""
        return f"entry {entry_id} of ledger {self.ledger_id} is on {found} of {write_set} only (held by {list(held)})"


class Checker:
    """The verdict of one run.

    :ivar violations: what was found, in order.
    """

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self.ledgers: dict[int, Ledger] = {}

    def ledger(self, ledger_id: int) -> Ledger:
        """What is known of a ledger."""
        found = self.ledgers.get(ledger_id)
        if found is None:
            found = self.ledgers[ledger_id] = Ledger(ledger_id)
        return found

    def fail(self, invariant: str, text: str) -> None:
        """Something is not as it must be."""
        self.violations.append(Violation(invariant, text))

    # -- writers --

    def appended(self, ledger_id: int, entry_id: int, payload: bytes) -> None:
        """An entry was given an id."""
        ledger = self.ledger(ledger_id)
        if entry_id in ledger.payloads:
            self.fail("S14", f"entry id {entry_id} of ledger {ledger_id} was given twice")
        ledger.payloads[entry_id] = payload

    def acked(self, ledger_id: int, entry_id: int) -> None:
        """An append succeeded."""
        ledger = self.ledger(ledger_id)
        if entry_id != ledger.acked + 1:
            self.fail("S13", f"entry {entry_id} of ledger {ledger_id} was acknowledged after {ledger.acked}")
        ledger.acked = max(ledger.acked, entry_id)
        self._confirm(ledger, entry_id, "it was acknowledged")

    def _confirm(self, ledger: Ledger, entry_id: int, when: str) -> None:
        if ledger.closed is not None and entry_id > ledger.closed[0]:
            name = f"ledger {ledger.ledger_id}"
            self.fail("S14", f"entry {entry_id} of {name} is beyond its end {ledger.closed} when {when}")
        for confirmed in range(ledger.confirmed + 1, entry_id + 1):
            misplaced = ledger.misplaced(confirmed)
            if misplaced:
                self.fail("S16", f"{misplaced} when {when}")
        ledger.confirmed = max(ledger.confirmed, entry_id)

    def writer_closed(self, ledger_id: int, last_add_confirmed: int) -> None:
        """A writer's close succeeded: everything that was appended is there."""
        ledger = self.ledger(ledger_id)
        pushed = len(ledger.payloads) - 1
        if not ledger.deleted and (ledger.closed is None or not ledger.closed[0] == pushed == last_add_confirmed):
            self.fail("S14", f"the close of ledger {ledger_id} after entry {pushed} succeeded: {ledger.closed}")

    # -- readers --

    def expected_lac(self, ledger_id: int) -> tuple[int, int]:
        """What somebody has to be told who asks now, until it is certain that he was not told more.

        :returns: where the newest ensemble begins, and the LAC that the last acknowledged entry carries if
            it is kept by that ensemble.
        """
        ledger = self.ledger(ledger_id)
        if ledger.metadata is None or ledger.metadata.state is not LedgerState.OPEN:
            return -1, -1
        start = ledger.metadata.segments[-1].first_entry_id
        return start, ledger.lacs[ledger.acked] if ledger.acked >= start else -1

    def asked_lac(self, ledger_id: int, expected: tuple[int, int], seen: LedgerMetadata, lac: int) -> None:
        """Bookies were asked for the LAC until the answers covered every write set.

        :param seen: the metadata of who asked; he can have seen an old version.
        """
        stored = self.ledger(ledger_id).metadata
        asked_all = stored is not None and stored.segments == seen.segments
        if asked_all and self.expected_lac(ledger_id)[0] == expected[0] and lac < expected[1]:
            self.fail("S13", f"the bookies of ledger {ledger_id} told the LAC {lac}; {expected[1]} was to be known")

    def opened(self, ledger_id: int, closed: bool, last: int, length: int) -> None:
        """A ledger was opened; ``closed`` if its end is final."""
        ledger = self.ledger(ledger_id)
        if closed:
            if last < ledger.confirmed:
                self.fail("S12", f"ledger {ledger_id} ends at {last}; {ledger.confirmed} was confirmed")
            if ledger.closed is not None and (last, length) != ledger.closed:
                self.fail("S14", f"an open of ledger {ledger_id} gave {last}/{length}; it is closed at {ledger.closed}")
        else:
            self.heard_lac(ledger_id, -1, last)

    def heard_lac(self, ledger_id: int, before: int, lac: int) -> None:
        """A reader's last add confirmed."""
        ledger = self.ledger(ledger_id)
        if lac < before:
            self.fail("S13", f"the LAC of a reader of ledger {ledger_id} fell from {before} to {lac}")
        if lac >= len(ledger.payloads):
            self.fail("S13", f"a reader of ledger {ledger_id} has the LAC {lac}, which was never appended")
        elif not ledger.deleted:
            self._confirm(ledger, lac, "it was a reader's LAC")

    def read(self, ledger_id: int, first: int, entries: Sequence[Entry]) -> None:
        """Entries were read."""
        ledger = self.ledger(ledger_id)
        for entry_id, entry in enumerate(entries, first):
            payload = ledger.payloads.get(entry_id)
            if (entry.ledger_id, entry.entry_id, entry.data) != (ledger_id, entry_id, payload):
                self.fail("S18", f"{entry} was read as entry {entry_id} of ledger {ledger_id}, appended: {payload!r}")
            elif entry.length != ledger.length(entry_id):
                self.fail("S14", f"entry {entry_id} of ledger {ledger_id} says the length is {entry.length}")

    # -- bookies --

    def stored(self, bookie_id: str, run: EntryRun, recovery: bool, begun_after_fence: bool) -> None:
        """A bookie acknowledged a run."""
        if begun_after_fence and not recovery:
            self.fail("S3", f"{bookie_id} took entry {run.first} of ledger {run.ledger_id} after it was fenced")
        ledger = self.ledger(run.ledger_id)
        for entry_id, stored in enumerate(run.entries(), run.first):
            payload = ledger.payloads.get(entry_id)
            if payload is None or not stored.endswith(payload):
                self.fail("S14", f"{bookie_id} stored {stored!r} as entry {entry_id} of ledger {run.ledger_id}")
            if not recovery and ledger.added.setdefault(entry_id, stored) != stored:
                self.fail("S14", f"{bookie_id} stored entry {entry_id} of ledger {run.ledger_id} as no other bookie")
            ledger.holders.setdefault(entry_id, {})[bookie_id] = None
            ledger.lacs.setdefault(entry_id, int.from_bytes(stored[16:24], "big", signed=True))

    # -- metadata --

    def metadata_changed(self, ledger_id: int, metadata: LedgerMetadata) -> None:
        """A new version is stored."""
        ledger = self.ledger(ledger_id)
        before, ledger.metadata = ledger.metadata, metadata
        if before is not None:
            self._check_forward(ledger, before, metadata)
        starts = [s.first_entry_id for s in metadata.segments]
        if starts != sorted(set(starts)) or starts[0] != 0:
            self.fail("S15", f"the segments of ledger {ledger_id} begin at {starts}")
        if before is not None and before.segments != metadata.segments:
            for entry_id in range(metadata.segments[-1].first_entry_id, ledger.confirmed + 1):
                misplaced = ledger.misplaced(entry_id)
                if misplaced:
                    self.fail("S16", f"{misplaced} after an ensemble change")
                    break
        if metadata.closed and ledger.closed is None:
            self._closed(ledger, metadata)

    def _check_forward(self, ledger: Ledger, before: LedgerMetadata, after: LedgerMetadata) -> None:
        name = f"ledger {ledger.ledger_id}"
        if before.closed and attrs.evolve(after, segments=before.segments) != before:
            self.fail("S14", f"{name} was closed and changed from {before} to {after}")
        n_old = len(before.segments) - 1
        if before.state is after.state is LedgerState.IN_RECOVERY and after.segments[n_old:] != before.segments[n_old:]:
            self.fail("S15", f"the newest segment of {name} changed while it is recovered")
        if after.state < before.state:
            self.fail("S15", f"{name} went from {before.state.name} to {after.state.name}")
        n_kept = n_old + before.closed
        if [s.first_entry_id for s in after.segments[:n_kept]] != [s.first_entry_id for s in before.segments[:n_kept]]:
            self.fail("S15", f"an old segment of {name} moved: {before.segments} to {after.segments}")
            return
        for number in range(n_kept):
            self._check_moves(ledger, before, after, number)
        if before.closed:
            return
        if len(after.segments) <= n_kept:
            self.fail("S15", f"{name} lost its newest segment: {before.segments} to {after.segments}")
            return
        last, new = before.segments[-1], after.segments[n_kept]
        if new != last:
            if new.first_entry_id != last.first_entry_id:
                self.fail("S15", f"the newest segment of {name} moved: {before.segments} to {after.segments}")
            elif after.state is LedgerState.OPEN and ledger.confirmed >= last.first_entry_id:
                self.fail("S15", f"a segment of {name} with entry {ledger.confirmed}, which is confirmed, was replaced")

    def forgot(self, bookie_id: str, ledger_id: int) -> None:
        """A bookie has deleted a ledger: it holds none of its entries any more."""
        for holders in self.ledger(ledger_id).holders.values():
            holders.pop(bookie_id, None)

    def _check_moves(self, ledger: Ledger, before: LedgerMetadata, after: LedgerMetadata, number: int) -> None:
        """Only re-replication changes an old segment, once new bookies have acknowledged all they are to keep (S19)."""
        old, new = before.segments[number].bookies, after.segments[number].bookies
        starts = [segment.first_entry_id for segment in before.segments[1:]]
        last = (*starts, before.last_entry_id + 1)[number] - 1
        for entry_id in range(before.segments[number].first_entry_id, last + 1 if old != new else 0):
            for i in range(before.write_quorum_size):
                position = (entry_id + i) % len(old)
                target = new[position]
                if target != old[position] and target not in ledger.holders.get(entry_id, {}):
                    text = f"{target} is to keep entry {entry_id} of ledger {ledger.ledger_id} and was not given it"
                    self.fail("S19", f"{text}: {old} to {new}")
                    return

    def _closed(self, ledger: Ledger, metadata: LedgerMetadata) -> None:
        last, length = ledger.closed = (metadata.last_entry_id, metadata.length)
        misplaced = next(filter(None, map(ledger.misplaced, range(last + 1))), "")
        if misplaced:
            self.fail("S17", f"{misplaced} when it was closed")
        if last < ledger.confirmed:
            self.fail("S12", f"ledger {ledger.ledger_id} was closed at {last}; {ledger.confirmed} was confirmed")
        if last >= len(ledger.payloads):
            self.fail("S14", f"ledger {ledger.ledger_id} was closed at {last}, which was never appended")
        elif length != ledger.length(last):
            self.fail("S14", f"ledger {ledger.ledger_id} was closed with length {length}, not {ledger.length(last)}")
