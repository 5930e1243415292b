"""The commands ``listbookies``, ``bookieinfo`` and ``endpointinfo``."""

from argparse import Namespace
from collections.abc import Iterable

from ...client.admin import BookKeeperAdmin, DiskSpace, readable
from ...errors import MetadataError
from ...model import BookieServiceInfo, Endpoint, check_bookie_id
from ..shell_command import FAILED, OK, REFUSED, Argument, Command, ShellContext
from ..shell_text import bookie_text, line


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
        shell.out(title if bookies else "No bookie exists!")
        for bookie_id in sorted(bookies):
            shell.out(line("bookie", bookieAddr=await _described(shell, admin, bookie_id)))
    return OK


async def bookieinfo(shell: ShellContext, options: Namespace) -> int:
    """Print free and total disk space of the writable bookies; fail if a bookie does not answer."""
    async with await shell.admin() as admin:
        spaces = await admin.disk_space()
        shell.out("Free disk space info:")
        for bookie_id, space in spaces.items():
            bookie = await _described(shell, admin, bookie_id)
            if isinstance(space, DiskSpace):
                fields = {"free": _size(space.free), "total": _size(space.total)}
            else:
                fields = {"error": str(space)}
            shell.out(line("Free disk space info", bookie=bookie, **fields))
    known = [space for space in spaces.values() if isinstance(space, DiskSpace)]
    shell.out(line("Total free disk space in the cluster", free=_size(sum(space.free for space in known))))
    shell.out(line("Total disk capacity in the cluster", total=_size(sum(space.total for space in known))))
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
    shell.out(line("BookiedId", bookieId=bookie_id))
    if info.properties:
        shell.out("Properties")
    for key, value in info.properties.items():
        shell.out(line("property", key=key, value=value))
    for endpoint in info.endpoints:
        shell.out(line("Endpoint", id=endpoint.id))
        shell.out(line("Protocol", protocol=endpoint.protocol))
        shell.out(line("Address", host=endpoint.host, port=endpoint.port))
        shell.out(line("Auth", auth=_list(endpoint.auth)))
        shell.out(line("Extensions", extensions=_list(endpoint.extensions)))
    if not info.endpoints:
        shell.out("Bookie did not publish any endpoint info. Maybe it is down")
        return REFUSED
    return OK


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


def _size(size: int) -> str:
    return f"{size}{readable(size)}"


async def _described(shell: ShellContext, admin: BookKeeperAdmin, bookie_id: str) -> str:
    endpoint = await _endpoint(admin, bookie_id)
    address, name = ("", "") if endpoint is None else await shell.world.addresses(endpoint.host)
    return bookie_text(bookie_id, endpoint, address, name)


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
    ),
    Command(
        "endpointinfo", "Print the addresses that a bookie has published", endpointinfo,
        (Argument(("-b", "bookieid"), "id of the bookie", required=True),),
    ),
    Command("bookieinfo", "Print free and total disk space of the bookies", bookieinfo),
)  # fmt: skip
