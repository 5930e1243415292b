"""``simpletest`` and ``bookiesanity``: a ledger is written, and deleted afterwards."""

from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence

import attrs
from zope.interface import implementer

from ...client import BookKeeper, LedgerWriter
from ...client.interfaces import IPlacementPolicy
from ...errors import NotEnoughBookiesError
from ...ledger.placement import Adherence, Candidates
from ..shell_command import FAILED, OK, Argument, Command, ShellContext
from ..shell_text import line

_ENTRY_SIZE = 100
_AT_ONCE = 100


async def simpletest(shell: ShellContext, options: Namespace) -> int:
    """Writes entries to a new ledger."""
    async with await shell.admin() as admin:
        writer = await admin.client.create_ledger(options.ensemble, options.writeQuorum, options.ackQuorum)
        shell.out(line("Ledger ID", ledgerId=shell.format_id(writer.ledger_id)))
        try:
            last = await _written(writer, [bytes(_ENTRY_SIZE)] * options.numEntries)
        finally:
            await _delete(admin.client, writer)
    name = shell.format_id(writer.ledger_id)
    shell.out(f"{options.numEntries} entries written to ledger {name} (lastEntryId {last})")
    return OK


async def bookiesanity(shell: ShellContext, options: Namespace) -> int:
    """Writes entries to the bookie of this configuration, and reads them back."""
    seconds = float(options.timeout)
    config = attrs.evolve(shell.client_config, add_entry_timeout_sec=seconds, read_entry_timeout_sec=seconds)
    payloads = [b"entry-%d" % n for n in range(options.entries)]
    async with await shell.admin(config, _OneBookie(shell.local_bookie())) as admin:
        writer = await admin.client.create_ledger(1, 1, 1)
        try:
            last = await _written(writer, payloads)
            reader = await admin.client.open_ledger(writer.ledger_id)
            found = [entry.data async for entry in reader.entries()]
        finally:
            await _delete(admin.client, writer)
    shell.out(line("Read entries from ledger", entries=len(found), ledgerId=shell.format_id(writer.ledger_id)))
    if found != payloads or last != len(payloads) - 1:
        shell.out("Bookie sanity test failed: other entries were read than written")
        return FAILED
    shell.out("Bookie sanity test succeeded")
    return OK


async def _written(writer: LedgerWriter, payloads: Sequence[bytes]) -> int:
    """Appends and closes.

    :returns: the last id, -1 if there is none.
    """
    last = -1
    for start in range(0, len(payloads), _AT_ONCE):
        _, last = await writer.append_many(payloads[start : start + _AT_ONCE])
    await writer.close()
    return last


async def _delete(client: BookKeeper, writer: LedgerWriter) -> None:
    await writer.close().addErrback(lambda failure: None)  # the writer has reported why
    await client.delete_ledger(writer.ledger_id)


@implementer(IPlacementPolicy)
@attrs.frozen
class _OneBookie:
    """Every ledger goes to one bookie."""

    bookie_id: str

    async def prepare(self, bookies: Collection[str]) -> None:
        """Nothing."""

    def new_ensemble(
        self, size: int, write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> Sequence[str]:  # fmt: skip
        if size != 1 or self.bookie_id not in candidates.writable:
            raise NotEnoughBookiesError(f"bookie {self.bookie_id} is not writable")
        return (self.bookie_id,)

    def replace_bookie(
        self, position: int, ensemble: Sequence[str], write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> str:  # fmt: skip
        raise NotEnoughBookiesError(f"no bookie but {self.bookie_id} is wanted")

    def adherence(self, ensemble: Sequence[str], write_quorum: int) -> Adherence:
        return Adherence.STRICT


COMMANDS = (
    Command(
        "simpletest", "Create a ledger, write entries to it and delete it", simpletest,
        (
            Argument(("-e", "ensemble"), "ensemble size (default 3)", int, 3),
            Argument(("-w", "writeQuorum"), "write quorum size (default 2)", int, 2),
            Argument(("-a", "ackQuorum"), "ack quorum size (default 2)", int, 2),
            Argument(("-n", "numEntries"), "entries to write (default 1000)", int, 1000),
        ),
    ),
    Command(
        "bookiesanity", "Write entries to the local bookie and read them back", bookiesanity,
        (
            Argument(("-e", "entries"), "entries to write (default 10)", int, 10),
            Argument(("-t", "timeout"), "seconds for an add or a read (default 1)", int, 1),
        ),
    ),
)  # fmt: skip
