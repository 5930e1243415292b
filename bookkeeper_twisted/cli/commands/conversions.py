"""``convert-to-db-storage``: the way back to Apache's bookie.

The locks of all directories are held, so it refuses where the bookie runs.
"""

import os
from argparse import Namespace

from ...bookie.lifecycle.hand_back import HandBack
from ...bookie.lifecycle.settings import journal_settings, storage_settings, store_paths
from ...bookie.lifecycle.store import Store
from ...storage.cookies import DirectoryLocks
from ..shell_command import OK, Command, ShellContext
from ..shell_text import line
from .stored_files import check_there


async def convert_to_db_storage(shell: ShellContext, options: Namespace) -> int:
    """Writes the indexes of Apache's ``DbLedgerStorage``, and hands the directories back."""
    access, paths = shell.world.store, store_paths(shell.config)
    disk = access.writable_disk
    check_there(shell, paths.all())
    locks = DirectoryLocks(disk, paths.all())
    try:
        shell.out("=== Converting to DbLedgerStorage ===")
        work = HandBack(
            disk, paths, lambda: _open_store(shell), access.make_index, access.open_key_values, shell.world.progress
        )
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


COMMANDS = (
    Command(
        "convert-to-db-storage",
        "Convert the indexes to indexes of Apache's DbLedgerStorage and hand the directories back to it",
        convert_to_db_storage,
    ),
)
