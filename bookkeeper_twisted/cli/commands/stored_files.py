"""``lastmark``, ``listfilesondisc``, ``readlogmetadata``: commands that print facts about the bookie's files.

They read files of the bookie on this machine and change nothing, so the bookie may run.  The commands fail if a
directory of the configuration is missing, because the configuration is then probably that of another bookie.
"""

import posixpath
from argparse import Namespace
from collections.abc import Iterable, Sequence

import attrs

from ...arguments import hex_number, whole_number
from ...storage.entry_log.scan import ledger_sizes
from ...storage.file_listing import FileKind, files_of
from ...storage.inspection import logs_of_id
from ...storage.journal.log_mark import read_log_marks
from ...storage.ledger_dirs import ENTRY_LOG_SUFFIX, current, entry_log_name, journal_name
from ..shell_command import FAILED, OK, Argument, Command, OperandError, ShellContext
from ..shell_rows import Formats, ShellRow
from ..shell_text import line


@attrs.frozen
class JournalLogMark(ShellRow):
    """The position at which the replay of a journal would begin.

    :ivar directory: directory of the journal, as in the configuration.
    """

    directory: str
    journal_id: int
    position: int

    def text(self, formats: Formats) -> Iterable[str]:
        name = journal_name(self.journal_id)
        yield f"LastLogMark : Journal Id - {self.journal_id}({name}), Pos - {self.position}"


@attrs.frozen
class FoundFile(ShellRow):
    """A file of the bookie.

    :ivar kind: ``journal``, ``entryLog`` or ``index``.
    """

    kind: str
    path: str

    def text(self, formats: Formats) -> Iterable[str]:
        yield line("log entry", canonicalPath=self.path)


@attrs.frozen
class LoggedLedger(ShellRow):
    """A ledger in an entry log.

    :ivar size: total size in bytes of the ledger's entries in this entry log.
    """

    log_id: int
    ledger_id: int
    size: int

    def text(self, formats: Formats) -> Iterable[str]:
        yield line("Size of ledger's entries", ledgerId=formats.format_id(self.ledger_id), size=self.size)


def check_exists(shell: ShellContext, paths: Iterable[str]) -> None:
    """Check that directories of the configuration exist.

    :param paths: the directories, without the trailing ``current``.
    :raises OperandError: a directory is missing.
    """
    for path in map(current, paths):
        if not shell.world.store.disk.is_directory(path):
            raise OperandError(f"there is no directory {path}: is this the configuration of the bookie?")


async def lastmark(shell: ShellContext, options: Namespace) -> int:
    """Print the last log mark (``lastMark``) of each journal: the position at which its replay would begin."""
    config = shell.config
    check_exists(shell, config.ledger_directories)
    directories = [current(path) for path in config.ledger_directories]
    log_marks = read_log_marks(shell.world.store.disk, directories, len(config.journal_directories))
    for directory, log_mark in zip(config.journal_directories, log_marks, strict=True):
        shell.show(JournalLogMark(directory, log_mark.file_id, log_mark.offset))
    return OK


# ---- listfilesondisc ---------------------------------------------------------------------------------


async def listfilesondisc(shell: ShellContext, options: Namespace) -> int:
    """Print the paths of journals, entry logs and index files, or only of the chosen kinds."""
    config, everything = shell.config, not (options.journal or options.entrylog or options.index)
    if options.journal or everything:
        _list(shell, "Journal Files", "journal", FileKind.JOURNAL, config.journal_directories)
    if options.entrylog or everything:
        _list(shell, "EntryLog/Ledger Files", "entryLog", FileKind.ENTRY_LOG, config.ledger_directories)
    if options.index or everything:
        _list(shell, "Index Files", "index", FileKind.INDEX, config.index_directories)
    return OK


def _list(shell: ShellContext, title: str, name: str, kind: FileKind, directories: Sequence[str]) -> None:
    check_exists(shell, directories)
    shell.caption(f"--------- Printing the list of {title} ---------")
    for path in files_of(kind, shell.world.store.disk, directories):
        shell.show(FoundFile(name, path))
    shell.caption("")


# ---- entry logs --------------------------------------------------------------------------------------


def file_id(operand: str, suffix: str) -> tuple[str, int]:
    """Parse an operand that names an entry log or a journal file: a decimal id, a file name, or a path.

    :param operand: text of the operand.
    :param suffix: suffix of the names of such files.
    :returns: the directory (empty if the operand contains none) and the id of the file.
    :raises OperandError: the operand is none of these.
    """
    directory, name = posixpath.split(operand)
    try:
        number = hex_number(name.removesuffix(suffix)) if name.endswith(suffix) else whole_number(name)
        return directory, number
    except ValueError:
        raise OperandError(f"{operand} is neither an id nor the name of a {suffix} file") from None


def entry_log(shell: ShellContext, operand: str) -> tuple[str, int]:
    """Find the entry log that an ``operand`` names; return its directory and its id.

    :raises OperandError: no ledger directory has an entry log with this id, or several have.
    """
    directory, log_id = file_id(operand, ENTRY_LOG_SUFFIX)
    if not directory:
        check_exists(shell, shell.config.ledger_directories)
    searched = [directory] if directory else [current(path) for path in shell.config.ledger_directories]
    found = logs_of_id(shell.world.store.disk, searched, log_id)
    if len(found) == 1:
        return found[0], log_id
    name = entry_log_name(log_id)
    if not found:
        raise OperandError(f"no {name} in {', '.join(searched)}")
    raise OperandError(f"{name} is in {' and in '.join(found)}: give the path of one of them")


async def readlogmetadata(shell: ShellContext, options: Namespace) -> int:
    """Print the ledgers in an entry log, each with the number of bytes of its entries in this log."""
    if options.entry_log is None:
        shell.out("Must specify an entry log, by its id or its file name")
        return FAILED
    directory, log_id = entry_log(shell, options.entry_log)
    shell.caption(line("Print entryLogMetadata of entrylog", file=entry_log_name(log_id), logId=log_id))
    sizes = ledger_sizes(shell.world.store.disk, directory, log_id)
    shell.caption(line("EntryLog metadata", entryLogId=log_id, totalSize=sum(sizes.values())))
    for ledger_id, size in sorted(sizes.items()):
        shell.show(LoggedLedger(log_id, ledger_id, size))
    return OK


LOG_OPERAND = Argument(("entry_log",), "id of an entry log, decimal, or its file name or path")

COMMANDS = (
    Command("lastmark", "Print from where the journals are replayed", lastmark, row=JournalLogMark),
    Command(
        "listfilesondisc", "List the files in the directories of journals, ledgers and indexes", listfilesondisc,
        (
            Argument(("-txn", "journal"), "list journals", bool),
            Argument(("-log", "entrylog"), "list entry logs", bool),
            Argument(("-idx", "index"), "list indexes", bool),
        ),
        FoundFile,
    ),
    Command(
        "readlogmetadata", "Print the ledgers of an entry log and their sizes", readlogmetadata, (LOG_OPERAND,),
        LoggedLedger,
    ),
)  # fmt: skip
