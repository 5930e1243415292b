"""Commands that check or change all directories of the bookie on this machine.

``initbookie`` checks that they are ready for a new bookie, and ``bookieformat`` empties them.  The commands whose names
begin with ``convert-to`` write the indexes of Apache's bookie, so that Apache's bookie can use the directories again.
``regenerate-interleaved-storage-index-file`` writes new index files for Apache's interleaved storage.  All commands
lock the directories, so they fail while the bookie runs.
"""

import os
from argparse import Namespace
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...bookie.lifecycle.hand_back import HandBack
from ...bookie.lifecycle.settings import journal_settings, storage_settings, store_paths
from ...bookie.lifecycle.store import Store
from ...codec.digest import Digester
from ...errors import CookieNotFoundError, MetadataError
from ...metadata.undecoded import UndecodedLedgers, undecoded_text
from ...model import DigestType
from ...storage.apache.database import has_index
from ...storage.apache.exporting import WriteIndex, to_databases
from ...storage.apache.index_file_export import export_index_files, regenerate
from ...storage.cookies import DirectoryLocks, erase, read_cookies
from ...storage.interfaces import IFileSystem
from ...storage.ledger_dirs import current
from ..shell_command import FAILED, FORCE, OK, PROGRESS, REFUSED, Argument, Command, OperandError, ShellContext
from ..shell_text import line, on_one_line
from .stored_files import check_exists

_FORMAT = "Are you sure to format Bookie data..?"


@contextmanager
def _locked(shell: ShellContext) -> Iterator[list[str]]:
    """Lock all existing directories of the bookie until the ``with`` block ends.

    :returns: these directories, without the trailing ``current``.
    :raises bookkeeper_twisted.errors.DirectoryLockedError: a running bookie uses one of them.
    """
    disk = shell.world.store.writable_disk
    existing = [path for path in store_paths(shell.config).all() if disk.is_directory(current(path))]
    locks = DirectoryLocks(disk, existing)
    try:
        yield existing
    finally:
        locks.release()


async def initbookie(shell: ShellContext, options: Namespace) -> int:
    """Check that the directories are empty and the metadata store does not know the bookie."""
    with _locked(shell) as existing:
        files = read_cookies(shell.world.store.writable_disk, existing)
        used = [*files.found, *files.of_apache, *files.with_data]
    if used:
        shell.out(line("Directory is not empty, try formatting the bookie", directory=used[0]))
        return REFUSED
    bookie_id = shell.local_bookie()
    async with await shell.admin() as admin:
        if bookie_id in await admin.registered_bookies():
            shell.out(line("Bookie is still registered, try stopping it first", bookieId=bookie_id))
            return REFUSED
        if bookie_id in await admin.all_bookies():
            shell.out(line("Cookie still exists, try formatting the bookie with -deleteCookie", bookieId=bookie_id))
            return REFUSED
    shell.out(line("Directories and metadata store are ready for a new bookie", bookieId=bookie_id))
    return OK


async def bookieformat(shell: ShellContext, options: Namespace) -> int:
    """Ask the user, then delete all data in the directories of the bookie, and with ``-deleteCookie`` its cookie."""
    disk = shell.world.store.writable_disk
    with _locked(shell) as existing:
        files = read_cookies(disk, existing)
        if files.of_apache:
            shell.out(f"{next(iter(files.of_apache))} belongs to a bookie of Apache, whose own bookieformat empties it")
            return REFUSED
        if (files.found or files.with_data) and not _confirmed(shell, options):
            shell.out("Bookie format aborted!!")
            return REFUSED
        if options.deleteCookie:
            # If the bookie is registered, this raises an error, so it comes before erase().
            await _delete_cookie(shell)
        erase(disk, existing)
    shell.out("Bookie format completed successfully")
    if options.deleteCookie:
        await _count_ledgers(shell)  # last, because it reads the metadata of all ledgers and may be interrupted
    return OK


def _confirmed(shell: ShellContext, options: Namespace) -> bool:
    return (options.force or not options.nonInteractive) and shell.confirmed(_FORMAT, options.force)


async def _delete_cookie(shell: ShellContext) -> None:
    async with await shell.admin() as admin:
        try:
            await admin.delete_cookie(shell.local_bookie())
        except CookieNotFoundError:
            pass  # an earlier command was interrupted after it had deleted the cookie


async def _count_ledgers(shell: ShellContext) -> None:
    """Print how many ledgers name the local bookie, whose entries are deleted, if any do."""
    bookie_id, undecoded, count = shell.local_bookie(), UndecodedLedgers(), 0
    try:
        async with await shell.admin() as admin:
            with shell.progress("looking for ledgers", unit="ledgers") as advance:
                async for _, metadata in admin.ledgers(undecoded=undecoded):
                    advance(1)
                    count += bookie_id in metadata.bookies
    except MetadataError as error:
        shell.out(f"It is not known whether ledgers still name this bookie: {error}")
        return
    if count:
        text = "Ledgers still name this bookie, which has none of their entries now: recover it before it starts"
        shell.out(line(text, bookieId=bookie_id, ledgers=count))
    if undecoded.ids:
        text = undecoded_text(undecoded.ids, "may name this bookie, too", shell.format_id)
        shell.out(line(text, bookieId=bookie_id, reason=on_one_line(undecoded.reason)))


async def convert_to_db_storage(shell: ShellContext, options: Namespace) -> int:
    """Convert the directories for Apache's bookie: write the indexes of its ``DbLedgerStorage``."""
    return _convert(shell, "DbLedgerStorage", to_databases(shell.world.store.open_key_values))


async def convert_to_interleaved_storage(shell: ShellContext, options: Namespace) -> int:
    """Convert the directories for Apache's bookie: write the index files of its ``InterleavedLedgerStorage``."""
    if len(shell.config.ledger_directories) > 1:
        shell.out(
            "InterleavedLedgerStorage wants ids of entry logs that differ in all ledger directories, and they do not: "
            "convert-to-db-storage converts them"
        )
        return REFUSED
    return _convert(shell, "InterleavedLedgerStorage", export_index_files)


def _convert(shell: ShellContext, name: str, write_index: WriteIndex) -> int:
    """Convert the directories for Apache's bookie.

    :param name: class name of the ledger storage that Apache's bookie will use.
    :param write_index: writes the index of this ledger storage for one directory.
    """
    access, paths = shell.world.store, store_paths(shell.config)
    disk = access.writable_disk
    check_exists(shell, paths.all())
    locks = DirectoryLocks(disk, paths.all())
    try:
        shell.out(f"=== Converting to {name} ===")
        work = HandBack(
            disk, paths, lambda: _open_store(shell), access.make_index, write_index, shell.progress
        )  # fmt: skip
        for exported in work.run():
            shell.out(line(
                "Converted ledgers", directory=exported.directory, convertedLedgers=exported.states,
                entries=exported.entries,
            ))  # fmt: skip
        shell.out("---- Done Converting ----")
    finally:
        locks.release()
    return OK


def _open_store(shell: ShellContext) -> Store:
    config, access = shell.config, shell.world.store
    return Store.open(
        access.writable_disk, store_paths(config), access.make_index, int(shell.world.reactor.seconds() * 1000) + 1,
        os.urandom(16), journal_settings(config), storage_settings(config),
    )  # fmt: skip


async def regenerate_index_files(shell: ShellContext, options: Namespace) -> int:
    """Write new index files for ledgers in directories of Apache's ``InterleavedLedgerStorage``."""
    password = _password(options)
    if password is None:
        shell.out("The password must be specified to regenerate the index file: -password, or -b64password")
        return FAILED
    disk, config = shell.world.store.writable_disk, shell.config
    check_exists(shell, store_paths(config).all())
    with _locked(shell) as existing:
        indexes = [current(path) for path in config.index_directories]
        if refused := _not_interleaved(disk, existing, indexes):
            shell.out(refused)
            return REFUSED
        shell.out(line("Rebuilding index file", ledgerIds=options.ledgerIds))
        work = regenerate(
            disk, [current(path) for path in config.ledger_directories], indexes, options.ledgerIds,
            Digester(DigestType.CRC32, password).master_key, options.dryRun,
        )  # fmt: skip
        for number, found in work:
            ledger_id = shell.format_id(number)
            if found is None:
                shell.out(line("- No entries found", ledgerId=ledger_id))
                continue
            ends = {"firstEntry": found.first, "lastEntry": found.last}
            shell.out(line("Found entries", ledgerId=ledger_id, numEntries=found.entries, **ends))
    shell.out(line("Done rebuilding index file", ledgerIds=options.ledgerIds))
    return OK


def _password(options: Namespace) -> bytes | None:
    """Return the password that the options contain, or None.

    :raises OperandError: the value of ``-b64password`` is not base64.
    """
    if options.password is not None:
        return bytes(options.password.encode())
    if options.b64password is None:
        return None
    try:
        return b64decode(options.b64password, validate=True)
    except ValueError:
        raise OperandError(f"-b64password {options.b64password} is no base64") from None


def _not_interleaved(disk: IFileSystem, directories: Sequence[str], indexes: Sequence[str]) -> str:
    """Check that Apache's ``InterleavedLedgerStorage`` has written the directories: only this storage has index files.

    :param directories: the directories of the bookie.
    :param indexes: the ``current`` directories of the bookie's indexes.
    :returns: an empty text if it has; otherwise a message that tells the user which command to use instead.
    """
    if not read_cookies(disk, directories).of_apache:
        return (
            "The directories are no directories of Apache's InterleavedLedgerStorage: the index of ours is made anew "
            "by rebuild-db-ledger-locations-index, and convert-to-interleaved-storage writes index files"
        )
    if any(has_index(disk, path) for path in indexes):
        return (
            "The directories are of Apache's DbLedgerStorage, which has no index files: its own "
            "rebuild-db-ledger-locations-index makes its index anew"
        )
    return ""


def _ledger_ids(text: str) -> list[int]:
    """Parse ledger ids, separated by commas."""
    return [int(part) for part in text.split(",")]


_ledger_ids.__name__ = "list of ledger ids"  # argparse shows this name in its error message


COMMANDS = (
    Command(
        "initbookie", "Look whether directories and metadata store are ready for a new bookie", initbookie
    ),
    Command(
        "bookieformat", "Remove what the bookie, which must not run, keeps in its directories", bookieformat,
        (
            Argument(("-n", "nonInteractive"), "do not ask: refuse if there is anything, unless forced", bool),
            FORCE,
            Argument(("-d", "deleteCookie"), "remove the cookie of the bookie from the metadata store, too", bool),
            PROGRESS,
        ),
    ),
    Command(
        "convert-to-db-storage",
        "Convert the indexes to indexes of Apache's DbLedgerStorage and hand the directories back to it",
        convert_to_db_storage, (PROGRESS,),
    ),
    Command(
        "convert-to-interleaved-storage",
        "Convert the index to index files of Apache's InterleavedLedgerStorage and hand the directories back to it",
        convert_to_interleaved_storage, (PROGRESS,),
    ),
    Command(
        "regenerate-interleaved-storage-index-file",
        "Make index files of Apache's InterleavedLedgerStorage anew from its entry logs; its bookie must not run",
        regenerate_index_files,
        (
            Argument(("-l", "ledgerIds"), "ledger ids, separated by commas", _ledger_ids, required=True),
            Argument(("-dryRun",), "say what the entry logs hold, and write nothing", bool),
            Argument(("-password",), "password of the ledgers, which gives their master key"),
            Argument(("-b64password",), "the same in base64"),
        ),
    ),
)  # fmt: skip
