"""What was sent to ledgers, what of it was acknowledged, and when."""

from hashlib import sha256

import attrs


@attrs.define
class LedgerRecord:
    """One ledger, as its writer saw it.

    :ivar sent: SHA-256 of each payload, by entry id.
    :ivar acked: how many entries were acknowledged; acknowledgements are in id order (S13).
    """

    sent: list[bytes] = attrs.field(factory=list)
    acked: int = 0

    def send(self, payloads: list[bytes]) -> None:
        """Payloads get the next ids."""
        self.sent.extend([sha256(payload).digest() for payload in payloads])

    def ack(self, first: int, last: int) -> None:
        """A batch was acknowledged."""
        assert first == self.acked, f"entry {first} was acknowledged after {self.acked} entries (S13)"
        self.acked = last + 1


@attrs.define
class Rhythm:
    """How steadily one writer is acknowledged.

    :ivar longest: seconds between two acknowledgements, at most.
    """

    last: float
    longest: float = 0.0

    def beat(self, now: float) -> None:
        """An acknowledgement, or the end."""
        self.longest = max(self.longest, now - self.last)
        self.last = now


@attrs.define
class History:
    """Everything a run of the cluster promised.

    :ivar ledgers: by id.
    """

    ledgers: dict[int, LedgerRecord] = attrs.field(factory=dict)
    rhythms: list[Rhythm] = attrs.field(factory=list)

    @property
    def acked(self) -> int:
        """Entries that were acknowledged."""
        return sum(record.acked for record in self.ledgers.values())

    @property
    def longest_gap(self) -> float:
        """Seconds that any writer waited for an acknowledgement, at most."""
        return max(rhythm.longest for rhythm in self.rhythms)

    def compare(self, ledger_id: int, found: list[bytes]) -> list[str]:
        """What is wrong with a ledger of which entries with these digests were read."""
        record = self.ledgers[ledger_id]
        problems = []
        if len(found) < record.acked:
            problems.append(f"ledger {ledger_id} has {len(found)} entries, and {record.acked} were acknowledged")
        for entry_id, digest in enumerate(found):
            if record.sent[entry_id : entry_id + 1] != [digest]:
                problems.append(f"entry {entry_id} of ledger {ledger_id} is not what was sent")
                break
        return problems
