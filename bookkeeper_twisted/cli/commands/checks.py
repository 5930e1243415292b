"""The commands ``simpletest`` and ``bookiesanity``: each writes to a new ledger, then deletes it."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

import attrs

from ...client.sanity import OneBookie, append_all, check_bookie, trial_ledger
from ..shell_command import FAILED, OK, PROGRESS, Argument, Command, ShellContext, from_
from ..shell_rows import Formats, ShellRow
from ..shell_text import line

_ENTRY_SIZE = 100

_MOST = (1 << 31) - 1
"""The greatest number of entries and the greatest quorum size that Apache's shell accepts."""


@attrs.frozen
class WrittenTrial(ShellRow):
    """The ledger that ``simpletest`` has written and deleted.

    :ivar entries: number of entries.
    """

    ledger_id: int
    entries: int
    last_entry_id: int

    def text(self, formats: Formats) -> Iterable[str]:
        name = formats.format_id(self.ledger_id)
        yield f"{self.entries} entries written to ledger {name} (lastEntryId {self.last_entry_id})"


@attrs.frozen
class SanityResult(ShellRow):
    """The result of writing a ledger to the local bookie and reading it back.

    :ivar entries: number of entries that were read.
    :ivar passed: whether they are the entries that were written.
    """

    ledger_id: int
    entries: int
    passed: bool

    def text(self, formats: Formats) -> Iterable[str]:
        yield line("Read entries from ledger", entries=self.entries, ledgerId=formats.format_id(self.ledger_id))
        if self.passed:
            yield "Bookie sanity test succeeded"
        else:
            yield "Bookie sanity test failed: other entries were read than written"


async def simpletest(shell: ShellContext, options: Namespace) -> int:
    """Write entries to a new ledger, then delete the ledger."""
    async with await shell.admin() as admin:
        quorums = options.ensemble, options.writeQuorum, options.ackQuorum
        async with trial_ledger(admin.client, *quorums) as writer:
            shell.caption(line("Ledger ID", ledgerId=shell.format_id(writer.ledger_id)))
            with shell.progress("writing", options.numEntries, "entries") as advance:
                last = await append_all(writer, _payloads(options.numEntries, advance))
    shell.show(WrittenTrial(writer.ledger_id, options.numEntries, last))
    return OK


def _payloads(count: int, advance: Callable[[int], object]) -> Iterator[bytes]:
    for payload in repeat(bytes(_ENTRY_SIZE), count):
        advance(1)
        yield payload


async def bookiesanity(shell: ShellContext, options: Namespace) -> int:
    """Write entries to a new ledger on the local bookie alone, read them back and delete the ledger."""
    seconds = float(options.timeout)
    config = attrs.evolve(shell.client_config, add_entry_timeout_sec=seconds, read_entry_timeout_sec=seconds)
    async with await shell.admin(config, OneBookie(shell.local_bookie())) as admin:
        report = await check_bookie(admin.client, options.entries)
    shell.show(SanityResult(report.ledger_id, report.n_read, report.passed))
    return OK if report.passed else FAILED


COMMANDS = (
    Command(
        "simpletest", "Create a ledger, write entries to it and delete it", simpletest,
        (
            Argument(("-e", "ensemble"), "ensemble size (default 3)", from_(1, _MOST), 3),
            Argument(("-w", "writeQuorum"), "write quorum size (default 2)", from_(1, _MOST), 2),
            Argument(("-a", "ackQuorum"), "ack quorum size (default 2)", from_(1, _MOST), 2),
            Argument(("-n", "numEntries"), "entries to write (default 1000)", from_(0, _MOST), 1000),
            PROGRESS,
        ),
        WrittenTrial,
    ),
    Command(
        "bookiesanity", "Write entries to the local bookie and read them back", bookiesanity,
        (
            Argument(("-e", "entries"), "entries to write (default 10)", from_(1, _MOST), 10),
            Argument(("-t", "timeout"), "seconds for an add or a read (default 1)", from_(1, _MOST), 1),
        ),
        SanityResult,
    ),
)  # fmt: skip
