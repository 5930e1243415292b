"""The parts of a command of the shell, and the context that it runs in."""

import math
from argparse import ArgumentTypeError, Namespace
from collections.abc import Awaitable, Callable, Mapping
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

OK = 0
REFUSED = 1
FAILED = 255
"""Exit status of Apache's shell where a command fails (-1); some say 1 where they refuse."""
INTERRUPTED = 130
"""Exit status of a command that was ended by Ctrl-C or SIGTERM, as shells report SIGINT."""
UNREAD = 141
"""Exit status of a command whose output is not read any more, as shells report SIGPIPE."""


class OperandError(Exception):
    """An operand of a command names no object, or several; the text says which."""


class NotConfirmedError(Exception):
    """The input ended before a question was answered."""

    def __str__(self) -> str:
        return "not confirmed: nothing was done"


class Connect(Protocol):
    """A function that makes a client of a cluster."""

    def __call__(
        self, uri: str, config: ClientConfig, placement: IPlacementPolicy | None = None
    ) -> "Awaitable[BookKeeperAdmin]": ...


class ShowProgress(Protocol):
    """A function that shows the progress of a long command to the user."""

    def __call__(self, title: str, total: int) -> AbstractContextManager[Callable[[int], object]]:
        """
        :param total: bytes to be read.
        :returns: gives the function to call with numbers of bytes that were read.
        """


class Http(Protocol):
    """A function that sends a request to an HTTP server."""

    def __call__(self, method: str, url: str, body: bytes) -> "Awaitable[tuple[int, bytes]]":
        """Send a request."""


class Files(Protocol):
    """The files that a command writes or reads."""

    def read(self, name: str) -> bytes:
        """Return the bytes of the file ``name``.

        :raises OSError: the file cannot be read.
        """

    def write(self, name: str, data: bytes) -> None:
        """Make or replace the file ``name``.

        :raises OSError: the file cannot be written.
        """


@attrs.frozen
class StoreAccess:
    """Access to the directories of the bookie on this machine, which may be running.

    :ivar disk: opens files for reading only.
    :ivar open_index: opens an index for look-ups.
    :ivar writable_disk: opens files for writing too; for commands that hold the locks of the directories.
    :ivar make_index: opens an index to commit to it, or begins a new one; likewise.
    :ivar open_key_values: opens a database of Apache's bookie, or makes one; likewise.
    """

    disk: IFileSystem
    open_index: OpenIndex
    writable_disk: IFileSystem
    make_index: IndexFactory
    open_key_values: OpenKeyValues


@attrs.frozen
class ShellWorld:
    """The files, network connections and terminal that a shell may use.

    :ivar out: prints a line.
    :ivar complain: prints a line where errors go.
    :ivar ask: asks a question, which is answered with Y or N; NotConfirmedError if it is not.
    :ivar addresses: host to its address and its name.
    :ivar own_host: the host name or address in the identity of a bookie of this machine; ConfigError if it has none.
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


@attrs.frozen
class ShellContext:
    """The context that a command runs in.

    :ivar config: of the bookie this shell stands beside; names the metadata store.
    :ivar local_bookie: returns the id of that bookie.
    :ivar format_id: ledger ids as ``-ledgeridformat`` wants them.
    :ivar format_entry: data of entries as ``-entryformat`` wants them.
    """

    world: ShellWorld
    config: BookieConfig
    client_config: ClientConfig
    local_bookie: Callable[[], str]
    format_id: Callable[[int], str]
    format_entry: Callable[[bytes], str]

    def out(self, text: str) -> None:
        """Print ``text`` as a line."""
        self.world.out(text)

    async def admin(
        self, config: ClientConfig | None = None, placement: IPlacementPolicy | None = None
    ) -> BookKeeperAdmin:
        """Connect a client to the cluster; the caller closes it.

        :param config: the configuration of the client; None for that of the shell.
        :param placement: None for the policy that the configuration names.
        :raises bookkeeper_twisted.errors.MetadataError: there is no connection to the metadata store.
        """
        return await self.world.connect(self.config.metadata_service_uri, config or self.client_config, placement)


def from_(low: int, high: float = math.inf) -> Callable[[str], int]:
    """Return a parser of whole numbers of at least ``low``, for an :class:`Argument`.

    :param low: the least of them.
    :param high: the greatest of them.
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
    """Parse a finite number above 0, as the argument of a command.

    :param text: of the operand.
    :raises ArgumentTypeError: the number is another one.
    """
    value = decimal_number(text)
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"{text} is no number above 0")
    return value


above_0.__name__ = "number"  # argparse shows this name in its error message


@attrs.frozen
class Argument:
    """An option or an operand of a command.

    :ivar names: ``-l`` and ``ledgerid``, which is accepted with one dash and with two; a single name
        without a dash is that of an operand, which may be left out.
    :ivar kind: of its value; ``bool`` makes a switch, ``"ledger id"`` obeys ``-ledgeridformat``, and text must not be
        empty unless the kind is ``"any text"``.
    :ivar required: of an option: whether the command needs it.
    """

    names: tuple[str, ...]
    help: str
    kind: object = str
    default: object = None
    required: bool = False


@attrs.frozen
class Command:
    """A command of the shell.

    :ivar run: runs the command: called with the context and the parsed arguments.  These have an attribute for each
        argument, named as the last of its names, without dashes in front and with underscores for others.  It prints
        what it finds, and returns :data:`OK`, :data:`REFUSED` or :data:`FAILED`; the shell prints a BookKeeperError,
        OperandError, NotConfirmedError or OSError that it raises.
    """

    name: str
    help: str
    run: "Callable[[ShellContext, Namespace], Awaitable[int]]"
    arguments: tuple[Argument, ...] = ()
