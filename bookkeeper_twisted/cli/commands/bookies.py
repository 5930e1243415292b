"""The commands ``listbookies``, ``bookieinfo`` and ``endpointinfo``."""

from argparse import Namespace
from collections.abc import Iterable, Mapping

import attrs

from ...client.admin import BookKeeperAdmin, DiskSpace, readable
from ...errors import MetadataError
from ...model import BookieServiceInfo, Endpoint, check_bookie_id
from ..shell_command import FAILED, OK, REFUSED, Argument, Command, ShellContext
from ..shell_rows import Formats, ShellRow
from ..shell_text import bookie_text, line


@attrs.frozen
class _BookieRow(ShellRow):
    """The id, address, port and host name of a bookie; all but the id are None if the bookie is not registered."""

    bookie_id: str
    address: str | None
    port: int | None
    hostname: str | None

    @property
    def bookie(self) -> str:
        """The id, address, port and host name of the bookie, in the format of Apache's shell."""
        return bookie_text(self.bookie_id, self.address, self.port, self.hostname)


@attrs.frozen
class ListedBookie(_BookieRow):
    """A bookie in the list of bookies.

    :ivar state: ``writable``, ``readOnly`` or ``down``.
    """

    state: str

    def text(self, formats: Formats) -> Iterable[str]:
        yield line("bookie", bookieAddr=self.bookie)


@attrs.frozen
class BookieSpace(_BookieRow):
    """The free and total disk space of a bookie in bytes, or the error with which the bookie answered."""

    free: int | None = None
    total: int | None = None
    error: str | None = None

    def text(self, formats: Formats) -> Iterable[str]:
        if self.free is None or self.total is None:
            fields = {"error": self.error}
        else:
            fields = {"free": _size(self.free), "total": _size(self.total)}
        yield line("Free disk space info", bookie=self.bookie, **fields)


@attrs.frozen
class PublishedBookie(ShellRow):
    """The endpoints and properties that a bookie has registered."""

    bookie_id: str
    properties: Mapping[str, str]
    endpoints: tuple[Endpoint, ...]

    def text(self, formats: Formats) -> Iterable[str]:
        yield line("BookiedId", bookieId=self.bookie_id)
        if self.properties:
            yield "Properties"
        for key, value in self.properties.items():
            yield line("property", key=key, value=value)
        for endpoint in self.endpoints:
            yield line("Endpoint", id=endpoint.id)
            yield line("Protocol", protocol=endpoint.protocol)
            yield line("Address", host=endpoint.host, port=endpoint.port)
            yield line("Auth", auth=_list(endpoint.auth))
            yield line("Extensions", extensions=_list(endpoint.extensions))


async def listbookies(shell: ShellContext, options: Namespace) -> int:
    """Print the writable bookies, the read-only ones, or all bookies with a cookie."""
    if options.all + options.readwrite + options.readonly != 1:
        shell.out("One and only one of -readwrite, -readonly and -all must be specified")
        return REFUSED
    async with await shell.admin() as admin:
        if options.all:
            title, bookies = "All Bookies :", await admin.all_bookies()
        elif options.readonly:
            title, bookies = "Readonly Bookies :", await admin.read_only_bookies()
        else:
            title, bookies = "ReadWrite Bookies :", await admin.writable_bookies()
        states = {
            **dict.fromkeys(await admin.read_only_bookies(), "readOnly"),
            **dict.fromkeys(await admin.writable_bookies(), "writable"),
        }
        shell.caption(title if bookies else "No bookie exists!")
        for bookie_id in sorted(bookies):
            place = await _place(shell, admin, bookie_id)
            shell.show(ListedBookie(bookie_id, *place, states.get(bookie_id, "down")))
    return OK


async def bookieinfo(shell: ShellContext, options: Namespace) -> int:
    """Print free and total disk space of the writable bookies; fail if a bookie does not answer."""
    async with await shell.admin() as admin:
        spaces = await admin.disk_space()
        shell.caption("Free disk space info:")
        for bookie_id, space in spaces.items():
            place = await _place(shell, admin, bookie_id)
            if isinstance(space, DiskSpace):
                shell.show(BookieSpace(bookie_id, *place, space.free, space.total))
            else:
                shell.show(BookieSpace(bookie_id, *place, error=str(space)))
    known = [space for space in spaces.values() if isinstance(space, DiskSpace)]
    shell.caption(line("Total free disk space in the cluster", free=_size(sum(space.free for space in known))))
    shell.caption(line("Total disk capacity in the cluster", total=_size(sum(space.total for space in known))))
    return OK if len(known) == len(spaces) else FAILED


async def endpointinfo(shell: ShellContext, options: Namespace) -> int:
    """Print the endpoints and properties that a bookie has registered."""
    bookie_id = check_bookie_id(options.bookieid)
    async with await shell.admin() as admin:
        known = await admin.all_bookies() | await admin.registered_bookies()
        if bookie_id not in known:
            shell.out(line("Bookie does not exist, only", bookieId=bookie_id, allBookies=_list(sorted(known))))
            return REFUSED
        try:
            info = await admin.service_info(bookie_id)
        except MetadataError:
            info = BookieServiceInfo()  # the bookie has a cookie but is not registered
    shell.show(PublishedBookie(bookie_id, info.properties, info.endpoints))
    if not info.endpoints:
        shell.out("Bookie did not publish any endpoint info. Maybe it is down")
        return REFUSED
    return OK


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


def _size(size: int) -> str:
    return f"{size}{readable(size)}"


async def _place(
    shell: ShellContext, admin: BookKeeperAdmin, bookie_id: str
) -> tuple[str | None, int | None, str | None]:
    """Return address, port and host name of a bookie; all three are None if the bookie is not registered."""
    endpoint = await _endpoint(admin, bookie_id)
    if endpoint is None:
        return None, None, None
    address, hostname = await shell.world.addresses(endpoint.host)
    return address, endpoint.port, hostname


async def _endpoint(admin: BookKeeperAdmin, bookie_id: str) -> Endpoint | None:
    try:
        info = await admin.service_info(bookie_id)
    except MetadataError:
        return None  # the bookie is not registered, so its address is not known
    return next((endpoint for endpoint in info.endpoints if endpoint.protocol == "bookie-rpc"), None)


COMMANDS = (
    Command(
        "listbookies", "List the bookies that run in one mode, or all that have a cookie", listbookies,
        (
            Argument(("-rw", "readwrite"), "bookies that take new ledgers", bool),
            Argument(("-ro", "readonly"), "bookies that are read-only", bool),
            Argument(("-a", "all"), "all bookies, up or down", bool),
            Argument(("-h", "hostnames"), "accepted; names are always printed", bool),
        ),
        ListedBookie,
    ),
    Command(
        "endpointinfo", "Print the addresses that a bookie has published", endpointinfo,
        (Argument(("-b", "bookieid"), "id of the bookie", required=True),), PublishedBookie,
    ),
    Command("bookieinfo", "Print free and total disk space of the bookies", bookieinfo, row=BookieSpace),
)  # fmt: skip
