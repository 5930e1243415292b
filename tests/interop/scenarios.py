"""What one client writes on some bookies and the other reads, ends or removes: the columns of the matrix."""

from collections.abc import Awaitable, Callable

import attrs
from twisted.trial.unittest import SynchronousTestCase

from .actors import FENCED, GONE, UNAUTHORIZED, Actor, Dialect, Layout, Refused, Seen
from .entries import length

_check = SynchronousTestCase()
_FEW, _MANY, _BATCH = 50, 300, 100


@attrs.frozen
class Stage:
    """Who does what where.

    :ivar all_ours: whether all bookies are ours.
    :ivar batch_reads: how many batch reads our bookies have answered so far.
    """

    writer: Actor
    reader: Actor
    dialect: Dialect
    bookies: tuple[str, ...]
    all_ours: bool
    batch_reads: Callable[[], Awaitable[int]]

    async def ledger(self, write_quorum: int, count: int) -> int:
        """A ledger on all bookies with some entries, which its writer has not closed."""
        layout = Layout(self.bookies, len(self.bookies), write_quorum, 2)
        ledger_id = await self.writer.create(self.dialect, layout)
        last = await self.writer.append(ledger_id, count)
        _check.assertEqual(last, count - 1)
        return ledger_id

    async def verify_closed(self, ledger_id: int, count: int) -> None:
        """Both clients see the same metadata of a closed ledger."""
        found = await self.reader.metadata(ledger_id)
        _check.assertEqual(found, await self.writer.metadata(ledger_id))
        _check.assertEqual((found.state, found.last, found.length), ("CLOSED", count - 1, length(count)))
        _check.assertEqual((found.bookies, found.format), (",".join(self.bookies), 3))


async def write_and_read(stage: Stage) -> None:
    """A striped ledger is written and closed by one, and read by the other, who needs the password."""
    ledger_id = await stage.ledger(2, _FEW)
    await stage.writer.close(ledger_id)
    seen = await stage.reader.read(stage.dialect, ledger_id)
    _check.assertEqual(seen, Seen(_FEW - 1, length(_FEW), True, 0))
    await stage.verify_closed(ledger_id, _FEW)
    guess = attrs.evolve(stage.dialect, password="guess")
    await _refused(stage.reader.read(guess, ledger_id), UNAUTHORIZED)


async def read_batches(stage: Stage) -> None:
    """Batch reads give all entries, many at a time; where our bookies count them, no call is made of single reads."""
    ledger_id = await stage.ledger(len(stage.bookies), _MANY)
    await stage.writer.close(ledger_id)
    before = await stage.batch_reads()
    seen = await stage.reader.read(stage.dialect, ledger_id, batch=_BATCH)
    _check.assertEqual(seen, Seen(_MANY - 1, length(_MANY), True, 0))
    # one bookie need not have everything yet, and gives what it has; then another call asks for the rest
    _check.assertIn(seen.calls, range(_MANY // _BATCH, _MANY // _BATCH + len(stage.bookies)))
    if stage.all_ours:
        _check.assertGreaterEqual(await stage.batch_reads() - before, seen.calls)


async def tail(stage: Stage) -> None:
    """A reader that follows a ledger sees each entry, and the end."""
    ledger_id = await stage.ledger(len(stage.bookies), 5)
    await stage.reader.tail(stage.dialect, ledger_id)
    for last in (14, 24, 34):
        _check.assertEqual(await stage.writer.append(ledger_id, 10), last)
    await stage.writer.close(ledger_id)
    _check.assertEqual(await stage.reader.tailed(ledger_id), 34)


async def recover(stage: Stage) -> None:
    """A striped ledger whose writer died is closed after its last entry by who opens it."""
    ledger_id = await stage.ledger(2, _FEW)
    await stage.writer.forget(ledger_id)
    seen = await stage.reader.read(stage.dialect, ledger_id, recover=True)
    _check.assertEqual(seen, Seen(_FEW - 1, length(_FEW), True, 0))
    await stage.verify_closed(ledger_id, _FEW)


async def fence(stage: Stage) -> None:
    """A writer that lives is stopped by who recovers its ledger, and adds nothing to it afterwards."""
    ledger_id = await stage.ledger(len(stage.bookies), _FEW)
    await stage.reader.read(stage.dialect, ledger_id, recover=True)
    await _refused(stage.writer.append(ledger_id, 1), FENCED)
    await stage.writer.forget(ledger_id)
    await stage.verify_closed(ledger_id, _FEW)


async def delete(stage: Stage) -> None:
    """A ledger that one removes is gone for the other."""
    ledger_id = await stage.ledger(2, 3)
    await stage.writer.close(ledger_id)
    await stage.reader.delete(ledger_id)
    await _refused(stage.writer.read(stage.dialect, ledger_id), GONE)
    await _refused(stage.writer.metadata(ledger_id), GONE)


SCENARIOS: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "write, read": write_and_read,
    "batch read": read_batches,
    "tail": tail,
    "recover": recover,
    "fence": fence,
    "delete": delete,
}


async def _refused(request: Awaitable[object], reason: str) -> None:
    try:
        await request
    except Refused as refused:
        _check.assertEqual(refused.args, (reason,))
    else:
        raise AssertionError(f"was not refused: {reason}")
