"""The description of a command of the shell, and the context that commands run in."""

import math
from argparse import ArgumentTypeError, Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import attrs

from ..arguments import decimal_number, whole_number
from ..client.admin import BookKeeperAdmin
from ..config.bookie import BookieConfig
from ..config.client import ClientConfig
from ..placement.interfaces import IPlacementPolicy
from ..storage.apache.interfaces import OpenKeyValues
from ..storage.inspection import OpenIndex
from ..storage.interfaces import IFileSystem, IndexFactory
from .shell_rows import ShellRow

OK = 0
REFUSED = 1
FAILED = 255
"""Exit status of Apache's shell if a command fails (-1); some commands exit with 1 if they refuse."""
INTERRUPTED = 130
"""Exit status of a command that Ctrl-C or SIGTERM ended: the one that shells report after SIGINT."""
UNREAD = 141
"""Exit status of a command whose output has no reader: the one that shells report after SIGPIPE."""


class OperandError(Exception):
    """An argument of a command is invalid, or names no object or several objects; the text gives the reason."""


class NotConfirmedError(Exception):
    """A question of a command has no answer; the text says why."""

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

        :param title: what is being done.
        :param total: number of units to be done; None if it is not known.
        :param unit: ``B`` for bytes, else the plural of what is counted.
        :param forced: whether progress is shown without a terminal, too.
        :returns: a context manager, which returns a function.  Call this function with the number of units done since
            its last call.
        """


class Screen(Protocol):
    """A terminal that shows frames of lines and takes keys, from ``__enter__`` to ``__exit__``.

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
        """Show ``lines`` in the place of the last ones."""


class Http(Protocol):
    """A function that sends a request to an HTTP server."""

    def __call__(
        self, method: str, url: str, body: bytes, config: ClientConfig
    ) -> "Awaitable[tuple[int, bytes]]":
        """Send a request with the TLS and the token of a client; return status and body of the answer."""


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

    The last three fields can change files.  Only commands that have locked the directories may use them, because the
    bookie may be running.

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
    :ivar addresses: returns address and name of a host.
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
    """The context that a command runs in: configuration, formats of the output, and access to the world.

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
        """Return this context with the output that the ``options`` of the command choose."""
        return attrs.evolve(self, json=options.json, shows_progress=getattr(options, "progress", False))

    def show(self, row: ShellRow) -> None:
        """Print the ``row`` of a result: a JSON object in a line, or the lines of Apache's text."""
        for text in [row.json_line()] if self.json else row.text(self):
            self.world.out(text)

    def caption(self, text: str) -> None:
        """Print ``text``, a line of Apache's output that stands around rows; JSON has no such lines."""
        if not self.json:
            self.world.out(text)

    def out(self, text: str) -> None:
        """Print the ``text`` of a message for the user; with JSON, to the error output."""
        (self.world.complain if self.json else self.world.out)(text)

    def confirmed(self, question: str, forced: bool) -> bool:
        """Return whether the user answers yes to a ``question``, or has forced the command, which is then not asked.

        :raises NotConfirmedError: the user cannot be asked, or gave no answer.
        """
        return forced or self.world.ask(question)

    def progress(
        self, title: str, total: int | None = None, unit: str = "B"
    ) -> AbstractContextManager[Callable[[int], object]]:
        """Show the progress of the command until the ``with`` block ends.

        :param title: what is being done.
        :param total: number of units to be done; None if it is not known.
        :param unit: ``B`` for bytes, else the plural of what is counted.
        :returns: see :class:`ShowProgress`.
        """
        return self.world.progress(title, total, unit, self.shows_progress)

    def refuse_json(self, reason: str) -> None:
        """Fail if the user wants JSON from a use of a command that shows no rows.

        :param reason: what to do instead, after ``-json``.
        :raises OperandError: the user wants JSON.
        """
        if self.json:
            raise OperandError(f"-json {reason}")

    async def admin(
        self, config: ClientConfig | None = None, placement: IPlacementPolicy | None = None
    ) -> BookKeeperAdmin:
        """Connect a client to the cluster; the caller must close it.

        :param config: configuration of the client; None for that of the shell.
        :param placement: placement policy; None for the one that the configuration names.
        :raises bookkeeper_twisted.errors.MetadataError: the metadata store cannot be reached.
        """
        return await self.world.connect(self.config.metadata_service_uri, config or self.client_config, placement)


def from_(low: int, high: float = math.inf) -> Callable[[str], int]:
    """Return a parser of whole numbers between two bounds, for an :class:`Argument`.

    :param low: least number, inclusive.
    :param high: greatest number, inclusive.
    """

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

    :param text: text of the argument.
    :raises ArgumentTypeError: the number is not above 0, or infinite.
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
    :ivar kind: the parser of the value.  With ``bool``, the option is a switch without a value.  With ``"ledger id"``,
        the value has the format that ``-ledgeridformat`` sets.  A text must not be empty, except with ``"any text"``;
        with ``"file"`` it is the name of a file.
    :ivar required: whether the command fails without this option.
    :ivar choices: the only values; empty if there are others.
    """

    names: tuple[str, ...]
    help: str
    kind: object = str
    default: object = None
    required: bool = False
    choices: tuple[str, ...] = ()

    @property
    def is_option(self) -> bool:
        """Whether this is an option and no operand."""
        return self.names[0].startswith("-")

    @property
    def spellings(self) -> list[str]:
        """All spellings of an option: each name with one dash, long names also with two."""
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

    :ivar run: runs the command.  Its arguments are the context and the parsed arguments.  The parsed arguments have an
        attribute for each :class:`Argument`.  Its name is the last name of the argument, without leading dashes and
        with underscores for other dashes.  The function prints results and returns :data:`OK`, :data:`REFUSED` or
        :data:`FAILED`.  The shell prints a BookKeeperError, OperandError, NotConfirmedError or OSError that the
        function raises.
    :ivar row: class of the rows that the command shows; None for a command that shows none, and refuses ``-json``.
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
