"""``ledger``, ``activeledgers``, ``localconsistencycheck``: the ledgers stored by the bookie on this machine.

These commands only read, so the bookie may run.  They do not see entries that a running bookie has not yet written to
its entry logs: ``readjournal`` prints these from the journal.
"""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeferredTimeoutError

from ...errors import NoSuchLedgerMetadataError
from ...storage.entry_log.scan import ledger_sizes
from ...storage.index.rows import record_offsets, row_bytes
from ...storage.inspection import Inconsistency, StoredDirectory
from ...storage.interfaces import LedgerRow
from ...storage.ledger_dirs import current
from ..shell_command import FAILED, OK, REFUSED, Argument, Command, ShellContext, from_
from ..shell_text import line
from .stored_files import check_there, entry_log

_LENGTH = 4  # bytes of the length field in front of each record


@contextmanager
def stored(shell: ShellContext) -> Iterator[list[StoredDirectory]]:
    """Open the ledger directories of the local bookie of the ``shell`` until the ``with`` block ends.

    :returns: the directories, each with its index if it has one.
    :raises OperandError: a directory is missing.
    :raises OSError: a directory cannot be read.
    """
    config, store = shell.config, shell.world.store
    check_there(shell, [*config.ledger_directories, *config.index_directories])
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
            _print_meta(shell, directories, options.ledger_id)
        found = False
        for directory in directories:
            for row in directory.rows(options.ledger_id):
                found = True
                start = row.offset + _LENGTH
                for entry_id, offset in zip(range(row.first, row.last + 1), record_offsets(row), strict=False):
                    shell.out(f"entry {entry_id}\t:\t(log: {row.log_id}, pos: {start + offset})")
    if not found:
        shell.out(f"No entry of ledger {shell.format_id(options.ledger_id)} is stored here")
    return OK


def _print_meta(shell: ShellContext, directories: list[StoredDirectory], ledger_id: int) -> None:
    rows = [row for directory in directories for row in directory.rows(ledger_id)]
    found = [state for directory in directories if (state := directory.state(ledger_id)) is not None]
    state = found[0] if found else LedgerRow(ledger_id)
    title = f"===== LEDGER: {shell.format_id(ledger_id)} ====="
    shell.out(title)
    shell.out(f"master key  : {state.master_key.hex() or 'NULL'}")
    shell.out(f"size         : {sum(map(row_bytes, rows))}")
    shell.out(f"entries      : {sum(row.last - row.first + 1 for row in rows)}")
    shell.out(f"isFenced     : {str(state.fenced).lower() if found else 'unknown'}")
    shell.out(title)


# ---- activeledgers -----------------------------------------------------------------------------------


async def activeledgers(shell: ShellContext, options: Namespace) -> int:
    """Print the ledgers in an entry log that still exist in the metadata store."""
    if options.logId is None:
        shell.out("Must specify an entry log with -l")
        return FAILED
    directory, log_id = entry_log(shell, options.logId)
    ledger_ids = sorted(ledger_sizes(shell.world.store.disk, directory, log_id))
    looking = Deferred.fromCoroutine(_known(shell, ledger_ids))
    if options.timeout is not None:
        looking.addTimeout(options.timeout / 1000, shell.world.reactor)
    try:
        active = await looking
    except DeferredTimeoutError:
        shell.out("Read active ledgers id from metadata store timeout")
        return FAILED
    if active:
        shell.out(f"Active ledgers on entry log {log_id} as follow:")
    else:
        shell.out(f"No active ledgers on log file {log_id}")
    for ledger_id in active:
        shell.out(shell.format_id(ledger_id))
    return OK


async def _known(shell: ShellContext, ledger_ids: list[int]) -> list[int]:
    known = []
    async with await shell.admin() as admin:
        for ledger_id in ledger_ids:
            try:
                await admin.client.ledger_metadata(ledger_id)
            except NoSuchLedgerMetadataError:
                continue
            known.append(ledger_id)
    return known


# ---- localconsistencycheck ---------------------------------------------------------------------------


async def localconsistencycheck(shell: ShellContext, options: Namespace) -> int:
    """Read each entry at the location that the index has for it, and check that it is this entry."""
    shell.out("=== Performing local consistency check ===")
    n_found = 0
    with stored(shell) as directories:
        for directory in directories:
            with shell.world.progress(directory.path, directory.bytes_to_read()) as advance:
                for inconsistency in directory.inconsistencies(advance):
                    if not n_found:
                        shell.out("=== Check returned errors: ===")
                    n_found += 1
                    shell.out(_described(shell, inconsistency))
    if n_found:
        return REFUSED
    shell.out("=== Check passed ===")
    return OK


def _described(shell: ShellContext, found: Inconsistency) -> str:
    if found.ledger_id is None:
        return line("Inconsistency detected for entry log", error=found.reason)
    ledger_id = shell.format_id(found.ledger_id)
    return line(
        "Inconsistency detected for ledger entry", entryId=found.entry_id, ledgerId=ledger_id, error=found.reason
    )


COMMANDS = (
    Command(
        "ledger", "Print where each entry of a ledger lies", ledger,
        (
            Argument(("-m", "meta"), "print master key, size, number of entries and fence, too", bool),
            Argument(("ledger_id",), "ledger id", "ledger id"),
        ),
    ),
    Command(
        "activeledgers", "List the ledgers of an entry log that the metadata store knows", activeledgers,
        (
            Argument(("-l", "logId"), "id of an entry log, decimal, or its file name or path"),
            Argument(("-t", "timeout"), "milliseconds to wait for the metadata store", from_(0)),
        ),
    ),
    Command("localconsistencycheck", "Read and check every entry that is stored", localconsistencycheck),
)  # fmt: skip
