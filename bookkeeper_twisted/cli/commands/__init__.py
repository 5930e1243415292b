"""The commands of ``bookkeeper-twisted shell``, each implemented by one function.

A command gets the :class:`~bookkeeper_twisted.cli.shell_command.ShellContext` and its parsed options.  It prints
through the context and returns an exit status.  Names, flags and texts are the same as in Apache's shell.  A command
does not catch its errors: the shell prints each in one line.
"""

from ..top import command as top
from . import (
    autorecovery,
    bookies,
    checks,
    clusters,
    cookies,
    decommission,
    directories,
    indexes,
    ledgers,
    limits,
    recovery,
    renaming,
    stored_files,
    stored_ledgers,
    stored_records,
)

COMMANDS = {
    command.name: command
    for module in (
        clusters, bookies, cookies, ledgers, checks, recovery, limits, renaming, autorecovery, decommission,
        stored_files, stored_records, stored_ledgers, indexes, directories, top,
    )
    for command in module.COMMANDS
}  # fmt: skip
"""Maps the name of each command to the command."""

__all__ = ["COMMANDS"]
