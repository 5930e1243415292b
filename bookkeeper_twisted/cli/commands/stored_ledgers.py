"""``ledger``, ``activeledgers``, ``localconsistencycheck``: the ledgers stored by the bookie on this machine.

These commands only read, so the bookie may run.  They do not see entries that a running bookie has not yet written to
its entry logs: ``readjournal`` prints these from the journal.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeferredTimeoutError

from ...masking import masked
from ...metadata.undecoded import UndecodedLedgers
from ...storage.entry_log.scan import ledger_sizes
from ...storage.index.rows import record_offsets, row_bytes
from ...storage.inspection import StoredDirectory
from ...storage.interfaces import LedgerRow
from ...storage.ledger_dirs import current
from ..shell_command import FAILED, OK, PROGRESS, REFUSED, Argument, Command, ShellContext, from_
from ..shell_rows import Formats, ShellRow
from ..shell_text import line
from .stored_files import check_exists, entry_log


@attrs.frozen
class LedgerFacts:
    """The facts about a ledger in the directories of the bookie.

    :ivar master_key: empty if it is unknown.
    :ivar size: total size of its stored entries in bytes.
    :ivar entries: number of its stored entries.
    :ivar fenced: None if it is unknown.
    """

    master_key: bytes = attrs.field(repr=masked)
    size: int
    entries: int
    fenced: bool | None


@attrs.frozen
class StoredEntry(ShellRow):
    """One row of the command ``ledger``: the facts about a ledger, or the location of one of its entries.

    The first row has ``facts``; its fields ``entry_id``, ``directory``, ``log_id`` and ``position`` are None.  Each
    other row has the location of an entry; its field ``facts`` is None.

    :ivar directory: ledger directory.
    :ivar position: offset of the entry in its entry log.
    """

    ledger_id: int
    entry_id: int | None = None
    directory: str | None = None
    log_id: int | None = None
    position: int | None = None
    facts: LedgerFacts | None = None

    def text(self, formats: Formats) -> Iterable[str]:
        if self.facts is None:
            yield f"entry {self.entry_id}\t:\t(log: {self.log_id}, pos: {self.position})"
            return
        title = f"===== LEDGER: {formats.format_id(self.ledger_id)} ====="
        yield title
        yield f"master key  : {self.facts.master_key.hex() or 'NULL'}"
        yield f"size         : {self.facts.size}"
        yield f"entries      : {self.facts.entries}"
        yield f"isFenced     : {'unknown' if self.facts.fenced is None else str(self.facts.fenced).lower()}"
        yield title


@attrs.frozen
class ActiveLedger(ShellRow):
    """A ledger that has entries in an entry log, and metadata in the metadata store."""

    log_id: int
    ledger_id: int

    def text(self, formats: Formats) -> Iterable[str]:
        yield formats.format_id(self.ledger_id)


@attrs.frozen
class FoundInconsistency(ShellRow):
    """A damaged entry, or an entry log that is damaged as a whole.

    :ivar ledger_id: None for an entry log.
    :ivar entry_id: None for an entry log.
    """

    ledger_id: int | None
    entry_id: int | None
    error: str

    def text(self, formats: Formats) -> Iterable[str]:
        if self.ledger_id is None:
            yield line("Inconsistency detected for entry log", error=self.error)
        else:
            fields = {"entryId": self.entry_id, "ledgerId": formats.format_id(self.ledger_id), "error": self.error}
            yield line("Inconsistency detected for ledger entry", **fields)


_LENGTH = 4  # bytes of the length field in front of each record


@contextmanager
def stored(shell: ShellContext) -> Iterator[list[StoredDirectory]]:
    """Open the ledger directories of the local bookie of the ``shell`` until the ``with`` block ends.

    :returns: the directories, each with its index if it has one.
    :raises OperandError: a directory is missing.
    :raises OSError: a directory cannot be read.
    """
    config, store = shell.config, shell.world.store
    check_exists(shell, [*config.ledger_directories, *config.index_directories])
    directories: list[StoredDirectory] = []
    try:
        for path, index_path in zip(config.ledger_directories, config.index_directories, strict=True):
            currents = current(path), current(index_path)
            directories.append(StoredDirectory.open(store.disk, *currents, store.open_index))
        yield directories
    finally:
        for directory in directories:
            directory.close()


# ---- ledger ------------------------------------------------------------------------------------------


async def ledger(shell: ShellContext, options: Namespace) -> int:
    """Print the entry log and the offset of each entry of a ledger."""
    if options.ledger_id is None:
        shell.out("Must specify a ledger id")
        return FAILED
    with stored(shell) as directories:
        if options.meta:
            shell.show(StoredEntry(options.ledger_id, facts=_facts(directories, options.ledger_id)))
        found = False
        for directory in directories:
            for row in directory.rows(options.ledger_id):
                found = True
                start = row.offset + _LENGTH
                for entry_id, offset in zip(range(row.first, row.last + 1), record_offsets(row), strict=False):
                    place = directory.path, row.log_id, start + offset
                    shell.show(StoredEntry(options.ledger_id, entry_id, *place))
    if not found:
        shell.caption(f"No entry of ledger {shell.format_id(options.ledger_id)} is stored here")
    return OK


def _facts(directories: list[StoredDirectory], ledger_id: int) -> LedgerFacts:
    rows = [row for directory in directories for row in directory.rows(ledger_id)]
    found = [state for directory in directories if (state := directory.state(ledger_id)) is not None]
    state = found[0] if found else LedgerRow(ledger_id)
    return LedgerFacts(
        state.master_key, sum(map(row_bytes, rows)), sum(row.last - row.first + 1 for row in rows),
        state.fenced if found else None,
    )  # fmt: skip


# ---- activeledgers -----------------------------------------------------------------------------------


async def activeledgers(shell: ShellContext, options: Namespace) -> int:
    """Print the ledgers that have entries in an entry log and still exist in the metadata store."""
    if options.logId is None:
        shell.out("Must specify an entry log with -l")
        return FAILED
    directory, log_id = entry_log(shell, options.logId)
    ledger_ids = sorted(ledger_sizes(shell.world.store.disk, directory, log_id))
    with shell.progress("looking up", len(ledger_ids), "ledgers") as advance:
        looking = Deferred.fromCoroutine(_known(shell, ledger_ids, advance))
        if options.timeout is not None:
            looking.addTimeout(options.timeout / 1000, shell.world.reactor)
        try:
            active = await looking
        except DeferredTimeoutError:
            shell.out("Read active ledgers id from metadata store timeout")
            return FAILED
    found = f"Active ledgers on entry log {log_id} as follow:"
    shell.caption(found if active else f"No active ledgers on log file {log_id}")
    for ledger_id in active:
        shell.show(ActiveLedger(log_id, ledger_id))
    return OK


async def _known(shell: ShellContext, ledger_ids: list[int], advance: Callable[[int], object]) -> list[int]:
    known, undecoded = [], UndecodedLedgers()
    async with await shell.admin() as admin:
        for ledger_id in ledger_ids:
            advance(1)
            metadata = await undecoded.read(admin.client.metadata.ledgers, ledger_id)
            if metadata is not None or ledger_id in undecoded.ids:
                known.append(ledger_id)
    return known


# ---- localconsistencycheck ---------------------------------------------------------------------------


async def localconsistencycheck(shell: ShellContext, options: Namespace) -> int:
    """Read all entries that the index of each ledger directory names, verify them, and print the damaged ones.

    In a directory without an index, read all entry logs.
    """
    shell.caption("=== Performing local consistency check ===")
    n_found = 0
    with stored(shell) as directories:
        for directory in directories:
            with shell.progress(directory.path, directory.bytes_to_read()) as advance:
                for found in directory.inconsistencies(advance):
                    if not n_found:
                        shell.caption("=== Check returned errors: ===")
                    n_found += 1
                    shell.show(FoundInconsistency(found.ledger_id, found.entry_id, found.reason))
    if n_found:
        return REFUSED
    shell.caption("=== Check passed ===")
    return OK


COMMANDS = (
    Command(
        "ledger", "Print where each entry of a ledger lies", ledger,
        (
            Argument(("-m", "meta"), "print master key, size, number of entries and fence, too", bool),
            Argument(("ledger_id",), "ledger id", "ledger id"),
        ),
        StoredEntry,
    ),
    Command(
        "activeledgers", "List the ledgers of an entry log that the metadata store knows", activeledgers,
        (
            Argument(("-l", "logId"), "id of an entry log, decimal, or its file name or path"),
            Argument(("-t", "timeout"), "milliseconds to wait for the metadata store", from_(0)),
            PROGRESS,
        ),
        ActiveLedger,
    ),
    Command(
        "localconsistencycheck", "Read and check every entry that is stored", localconsistencycheck, (PROGRESS,),
        FoundInconsistency,
    ),
)  # fmt: skip
