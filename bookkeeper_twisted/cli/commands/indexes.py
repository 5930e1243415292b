"""``rebuild-db-ledger-locations-index``, ``rebuild-db-ledgers-index`` and ``check-db-ledgers-index``.

These commands rebuild or check the indexes of the bookie on this machine.  The rebuilds take the locks of all
directories, so they refuse while the bookie runs.  The check only reads.
"""

import posixpath
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable
from contextlib import closing

import attrs

from ...bookie.lifecycle.ledger_rebuild import directory_map_of_logs, journal_states, rebuild_ledgers
from ...bookie.lifecycle.settings import store_paths
from ...errors import BookKeeperError
from ...storage.cookies import APACHE_COOKIE_NAME, DirectoryLocks
from ...storage.index.rows import row_bytes
from ...storage.inspection import PAGE, StoredDirectory
from ...storage.interfaces import IRunIndex
from ...storage.ledger_dirs import current, journal_bytes, log_bytes
from ...storage.rebuild import Rebuilt, known_elsewhere, rebuild_index
from ..shell_command import FAILED, OK, PROGRESS, REFUSED, Argument, Command, ShellContext
from ..shell_rows import Formats, ShellRow
from ..shell_text import line
from .stored_files import check_exists
from .stored_ledgers import stored


@attrs.frozen
class ScannedLedger(ShellRow):
    """The state of a ledger in the index of a ledger directory."""

    directory: str
    ledger_id: int
    fenced: bool

    def text(self, formats: Formats) -> Iterable[str]:
        fields = {"fenced": str(self.fenced).lower(), "ledgerId": formats.format_id(self.ledger_id)}
        yield line("Scanned ledger", directory=self.directory, **fields)


async def rebuild_locations(shell: ShellContext, options: Namespace) -> int:
    """Rebuild the index of entry locations in each ledger directory from its entry logs."""
    config, store = shell.config, shell.world.store
    disk = store.writable_disk
    check_exists(shell, store_paths(config).all())
    if _is_apaches(shell):
        return REFUSED
    locks = DirectoryLocks(disk, store_paths(config).all())
    try:
        shell.out("=== Rebuilding DBStorage locations index ===")
        paths = list(map(current, config.ledger_directories))
        index_paths = list(map(current, config.index_directories))
        elsewhere = known_elsewhere(disk, index_paths, store.make_index)
        for path, index_path, others in zip(paths, index_paths, elsewhere, strict=True):
            with shell.progress(path, log_bytes(disk, path)) as advance:
                rebuilt = rebuild_index(disk, path, index_path, store.make_index, advance=advance, elsewhere=others)
            rebuilt.index.close()
            _report(shell, path, rebuilt)
        shell.out("-- Done rebuilding DBStorage locations index --")
    finally:
        locks.release()
    return OK


def _is_apaches(shell: ShellContext) -> bool:
    for directory in shell.config.ledger_directories:
        if shell.world.store.writable_disk.exists(posixpath.join(current(directory), APACHE_COOKIE_NAME)):
            shell.out(f"{directory} belongs to a bookie of Apache: start once with rebuildIndex=true to take it over")
            return True
    return False


async def rebuild_ledger_states(shell: ShellContext, options: Namespace) -> int:
    """Rebuild the states of ledgers in the index of each directory from entry logs and journals; fence all ledgers."""
    store, paths = shell.world.store, store_paths(shell.config)
    disk = store.writable_disk
    check_exists(shell, paths.all())
    if _is_apaches(shell):
        return REFUSED
    locks = DirectoryLocks(disk, paths.all())
    try:
        shell.out("=== Rebuilding DBStorage ledgers index ===")
        n_bytes = sum(journal_bytes(disk, current(path)) for path in paths.journals)
        with shell.progress("journals", n_bytes) as advance:
            states = journal_states(disk, paths, advance)
        directory_map = directory_map_of_logs(disk, paths)
        for number, path in enumerate(paths.ledgers):
            with shell.progress(path, log_bytes(disk, current(path))) as advance:
                rebuilt = rebuild_ledgers(disk, paths, number, states, directory_map, store.make_index, advance)
            with closing(rebuilt.index) as index:
                if options.verbose:
                    _print_found(shell, index, states)
        shell.out("-- Done rebuilding DBStorage ledgers index --")
    except (BookKeeperError, OSError):
        shell.out("-- Aborted rebuilding DBStorage ledgers index --")
        raise
    finally:
        locks.release()
    return OK


def _print_found(shell: ShellContext, index: IRunIndex, in_journals: Collection[int]) -> None:
    for row in index.ledgers():
        source = "journal" if row.ledger_id in in_journals else "entry log"
        shell.out(line(f"Found ledger in {source}", ledgerId=shell.format_id(row.ledger_id)))


def _report(shell: ShellContext, path: str, rebuilt: Rebuilt) -> None:
    fields = {"directory": path, "entries": rebuilt.entries, "logs": rebuilt.logs, "statesKept": rebuilt.kept_states}
    shell.out(line("Index rebuilt", **fields))
    for torn in rebuilt.torn:
        shell.out(line("Entry log ends in the middle of a record", at=torn))


async def check_ledgers(shell: ShellContext, options: Namespace) -> int:
    """Read all rows of all indexes; fail if a row is damaged."""
    if not options.verbose:
        shell.refuse_json("goes with -verbose")
    shell.caption("=== Checking DBStorage ledgers index by running a read scan ===")
    with stored(shell) as directories:
        for directory in directories:
            if directory.index is None:
                shell.out(f"{directory.path} has no complete index")
                return FAILED
            with shell.progress(directory.path, directory.bytes_to_read()) as advance:
                _scan(shell, directory, options.verbose, advance)
    shell.caption("-- Done checking DBStorage ledgers index --")
    return OK


def _scan(
    shell: ShellContext, directory: StoredDirectory, verbose: bool, advance: Callable[[int], object]
) -> None:  # fmt: skip
    """Read one index completely, to find damage: the states of ledgers, then the rows with the locations of entries.

    :param verbose: whether to print the state of each ledger.
    :param advance: moves the progress bar by the number of bytes that were read.
    """
    assert directory.index is not None
    for state in directory.index.ledgers():
        if verbose:
            shell.show(ScannedLedger(directory.path, state.ledger_id, state.fenced))
    after = (-1, -1)
    while page := directory.index.page(after, PAGE):
        advance(sum(map(row_bytes, page)))
        after = page[-1].ledger_id, page[-1].first


COMMANDS = (
    Command(
        "rebuild-db-ledger-locations-index",
        "Make the indexes anew from the entry logs; the bookie must not run.  A ledger that was deleted and created"
        " again with the same id gets back older entries that are still in entry logs",
        rebuild_locations, (PROGRESS,),
    ),
    Command(
        "rebuild-db-ledgers-index",
        "Make the states of ledgers anew from journals and entry logs, all of them fenced; the bookie must not run",
        rebuild_ledger_states, (Argument(("-v", "verbose"), "print the ledgers", bool), PROGRESS),
    ),
    Command(
        "check-db-ledgers-index", "Read the indexes from begin to end", check_ledgers,
        (Argument(("-v", "verbose"), "print the ledgers", bool), PROGRESS), ScannedLedger,
    ),
)  # fmt: skip
