"""The description of a command of the shell, and the context that commands run in."""

import math
from argparse import ArgumentTypeError, Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Protocol

import attrs

from ..arguments import decimal_number, whole_number
from ..client.admin import BookKeeperAdmin, cluster_admin
from ..config.bookie import BookieConfig
from ..config.client import ClientConfig
from ..metadata.interfaces import IClusterAdmin
from ..placement.interfaces import IPlacementPolicy
from ..storage.apache.interfaces import OpenKeyValues
from ..storage.inspection import OpenIndex
from ..storage.interfaces import IFileSystem, IndexFactory
from .shell_rows import ShellRow

OK = 0
REFUSED = 1
FAILED = 255
"""Exit status of a command that fails, as in Apache's shell (-1).  Some commands exit with :data:`REFUSED` instead."""
INTERRUPTED = 130
"""Exit status of a command that Ctrl-C or SIGTERM ended; the same as shells report after SIGINT."""
UNREAD = 141
"""Exit status of a command whose output has no reader; the same as shells report after SIGPIPE."""


class OperandError(Exception):
    """An argument of a command is invalid, or does not name exactly one object; the text gives the reason."""


class NotConfirmedError(Exception):
    """The user could not be asked to confirm a command, or gave no answer; the text says why."""

    def __str__(self) -> str:
        return f"{self.args[0]}; -force does not ask"


class Connect(Protocol):
    """A function that connects an administrative client to a cluster."""

    def __call__(
        self, uri: str, config: ClientConfig, placement: IPlacementPolicy | None = None
    ) -> "Awaitable[BookKeeperAdmin]": ...


class ShowProgress(Protocol):
    """A function that shows the progress of a long command to the user."""

    def __call__(
        self, title: str, total: int | None, unit: str, forced: bool
    ) -> AbstractContextManager[Callable[[int], object]]:
        """Show progress until the ``with`` block ends.

        :param title: name of the work.
        :param total: number of units to be done; None if it is not known.
        :param unit: ``B`` for bytes, else a plural noun for the units, such as ``ledgers``.
        :param forced: whether progress is shown without a terminal, too.
        :returns: a context manager, which returns a function.  Call this function with the number of units done since
            its last call.
        """


class Screen(Protocol):
    """A terminal as a context manager: in its ``with`` block it shows text on the whole screen and reads keys.

    :ivar on_key: called with each key that is pressed, and with an empty text when the terminal is closed.
    :ivar on_resize: called after the size has changed.
    """

    on_key: Callable[[str], None]
    on_resize: Callable[[], None]

    @property
    def has_colours(self) -> bool:
        """Whether lines may have colours."""

    def size(self) -> tuple[int, int]:
        """Return the columns and lines of the terminal."""

    def draw(self, lines: Sequence[str]) -> None:
        """Replace the shown text by ``lines``."""


class Http(Protocol):
    """A function that sends a request to an HTTP server."""

    def __call__(
        self, method: str, url: str, body: bytes, config: ClientConfig
    ) -> "Awaitable[tuple[int, bytes]]":
        """Send a request with the TLS settings and the token in ``config``; return status and body of the answer."""


class Files(Protocol):
    """Access to the files that commands of the shell read and write."""

    def read(self, name: str) -> bytes:
        """Return the bytes of the file ``name``.

        :raises OSError: the file cannot be read.
        """

    def write(self, name: str, data: bytes) -> None:
        """Write ``data`` to the file ``name``; replace an existing file.

        :raises OSError: the file cannot be written.
        """


@attrs.frozen
class StoreAccess:
    """Access to the directories of the bookie on this machine.

    A command must lock the directories before it uses the last three fields, which can change files, because a running
    bookie may use the directories.

    :ivar disk: opens files for reading only.
    :ivar open_index: opens an index for reading only.
    :ivar writable_disk: opens files for reading and writing.
    :ivar make_index: opens an index for writing, or creates one.
    :ivar open_key_values: opens a database of Apache's bookie for writing, or creates one.
    """

    disk: IFileSystem
    open_index: OpenIndex
    writable_disk: IFileSystem
    make_index: IndexFactory
    open_key_values: OpenKeyValues


@attrs.frozen
class ShellWorld:
    """The files, network connections and terminal that commands of the shell may use.

    :ivar out: prints a line.
    :ivar complain: prints a line to the error output.
    :ivar ask: asks the user a question, and returns whether the answer is yes; raises NotConfirmedError if there is no
        terminal or no answer.
    :ivar addresses: looks up a host, and returns its address and its name.
    :ivar own_host: returns the host name or address that is part of the id of a bookie on this machine; raises
        ConfigError if there is none.
    :ivar open_screen: returns the terminal as a screen; None if there is no terminal.
    """

    reactor: Any
    environ: Mapping[str, str]
    out: Callable[[str], None]
    complain: Callable[[str], None]
    ask: Callable[[str], bool]
    files: Files
    connect: Connect
    addresses: Callable[[str], Awaitable[tuple[str, str]]]
    own_host: Callable[[BookieConfig], str]
    store: StoreAccess
    progress: ShowProgress
    http: Http
    open_screen: Callable[[], AbstractContextManager[Screen] | None]


@attrs.frozen
class ShellContext:
    """The context of a command: its configuration, the formats of its output, its files, network and terminal.

    :ivar config: configuration of the bookie on this machine, which also names the metadata store.
    :ivar local_bookie: a function that returns the id of the bookie on this machine.
    :ivar format_id: formats a ledger id, by option ``-ledgeridformat``.
    :ivar format_entry: formats the payload of an entry, by option ``-entryformat``.
    :ivar json: whether rows are printed as JSON, by option ``-json``.
    :ivar shows_progress: whether progress is shown without a terminal, too, by option ``-progress``.
    """

    world: ShellWorld
    config: BookieConfig
    client_config: ClientConfig
    local_bookie: Callable[[], str]
    format_id: Callable[[int], str]
    format_entry: Callable[[bytes], str]
    json: bool = False
    shows_progress: bool = False

    def chosen(self, options: Namespace) -> "ShellContext":
        """Return a copy of this context with ``json`` and ``shows_progress`` from the ``options`` of a command."""
        return attrs.evolve(self, json=options.json, shows_progress=getattr(options, "progress", False))

    def show(self, row: ShellRow) -> None:
        """Print a ``row`` as one line of JSON (with ``-json``), or as the lines that Apache's shell would print."""
        for text in [row.json_line()] if self.json else row.text(self):
            self.world.out(text)

    def caption(self, text: str) -> None:
        """Print ``text``, a line that Apache's shell prints before or after the rows; with ``-json``, print nothing."""
        if not self.json:
            self.world.out(text)

    def out(self, text: str) -> None:
        """Print ``text``, a message for the user; with ``-json``, print it to the error output."""
        (self.world.complain if self.json else self.world.out)(text)

    def confirmed(self, question: str, forced: bool) -> bool:
        """Ask the user to confirm the command; return whether the answer is yes.

        :param question: text of the question.
        :param forced: whether option ``-f`` confirms the command, so that the user is not asked.
        :raises NotConfirmedError: the user cannot be asked, or gave no answer.
        """
        return forced or self.world.ask(question)

    def progress(
        self, title: str, total: int | None = None, unit: str = "B"
    ) -> AbstractContextManager[Callable[[int], object]]:
        """Show the progress of the command until the ``with`` block ends.

        :param title: name of the work.
        :param total: number of units to be done; None if it is not known.
        :param unit: ``B`` for bytes, else a plural noun for the units, such as ``ledgers``.
        :returns: a context manager, which returns a function.  Call this function with the number of units done since
            its last call.
        """
        return self.world.progress(title, total, unit, self.shows_progress)

    def refuse_json(self, reason: str) -> None:
        """Refuse the option ``-json``; a command calls this if it shows no rows with its present options.

        :param reason: the text after ``-json`` in the error, such as "goes with -list".
        :raises OperandError: the user has given ``-json``.
        """
        if self.json:
            raise OperandError(f"-json {reason}")

    def cluster_admin(self, create: bool = False) -> AbstractAsyncContextManager[IClusterAdmin]:
        """Connect to the metadata of the cluster, also if the cluster does not exist, until the block ends.

        :param create: whether to make an embedded store that does not exist.
        """
        return cluster_admin(self.world.reactor, self.config.metadata_service_uri, self.config, create)

    async def admin(
        self, config: ClientConfig | None = None, placement: IPlacementPolicy | None = None
    ) -> BookKeeperAdmin:
        """Connect an administrative client to the cluster; the caller must close the client.

        :param config: configuration of the client; None for the client configuration of the shell.
        :param placement: placement policy; None for the policy that the configuration names.
        :raises bookkeeper_twisted.errors.MetadataError: the metadata store cannot be reached.
        """
        return await self.world.connect(self.config.metadata_service_uri, config or self.client_config, placement)


def from_(low: int, high: float = math.inf) -> Callable[[str], int]:
    """Return a parser of whole numbers from ``low`` to ``high``, both inclusive, for an :class:`Argument`."""

    def number(text: str) -> int:
        value = whole_number(text)
        if value < low:
            raise ArgumentTypeError(f"{text} is below {low}")
        if value > high:
            raise ArgumentTypeError(f"{text} is above {high}")
        return value

    return number


def above_0(text: str) -> float:
    """Parse a finite number above 0, for an :class:`Argument`.

    :raises ArgumentTypeError: the number is not above 0, or is infinite.
    """
    value = decimal_number(text)
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"{text} is no number above 0")
    return value


above_0.__name__ = "number"  # argparse shows this name in its error message


@attrs.frozen
class Argument:
    """An option or an operand of a command.

    :ivar names: for an option, short and long name such as ``-l`` and ``ledgerid``; the user may write the long name
        with one dash or two.  For an operand, one name without a dash; the user may leave an operand out.
    :ivar kind: the type of the value: a function that parses the value; ``bool`` for a switch without a value; ``str``
        for a text that must not be empty; ``"any text"`` for a text that may be empty; ``"file"`` for a file name;
        ``"ledger id"`` for a ledger id in the format that ``-ledgeridformat`` sets.
    :ivar required: whether the command fails without this option.
    :ivar choices: all valid values; empty if ``kind`` alone decides which values are valid.
    """

    names: tuple[str, ...]
    help: str
    kind: object = str
    default: object = None
    required: bool = False
    choices: tuple[str, ...] = ()

    @property
    def is_option(self) -> bool:
        """Whether this is an option, not an operand."""
        return self.names[0].startswith("-")

    @property
    def spellings(self) -> list[str]:
        """All spellings of an option: each name with one dash, and each name of several letters with two dashes."""
        names = [name.lstrip("-") for name in self.names]
        return [f"-{name}" for name in names] + [f"--{name}" for name in names if len(name) > 1]


JSON = Argument(("-json",), "print a JSON object a line", bool)
"""The option of all commands that show rows."""


FORCE = Argument(("-f", "force"), "do not ask", bool)
"""The option of all commands that ask before they destroy data."""


PROGRESS = Argument(("-progress",), "show progress on the error output without a terminal, too", bool)
"""The option of all commands that show progress."""


@attrs.frozen
class Command:
    """A command of the shell: its name, its arguments, and the function that runs it.

    :ivar run: the function that runs the command.  It gets the context and the parsed arguments, prints results, and
        returns :data:`OK`, :data:`REFUSED` or :data:`FAILED`.  The parsed arguments have an attribute for each
        :class:`Argument`, named like the last of its ``names``: ``cookie_file`` for ``--cookie-file``.  If the function
        raises BookKeeperError, OperandError, NotConfirmedError or OSError, the shell prints the error.
    :ivar row: class of the rows that the command shows.  None for a command without rows, which refuses ``-json``.
    """

    name: str
    help: str
    run: "Callable[[ShellContext, Namespace], Awaitable[int]]"
    arguments: tuple[Argument, ...] = ()
    row: type[ShellRow] | None = None

    @property
    def all_arguments(self) -> tuple[Argument, ...]:
        """The arguments of the command, and ``-json`` if it shows rows."""
        return (*self.arguments, JSON) if self.row else self.arguments
