"""Looks up the racks of bookies by their hosts, in a table or by a program, and caches them.

A rack is a path such as ``/room-2/rack-7``; paths are compared as a whole.  A host without a known rack is in
:data:`DEFAULT_RACK`.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import Attribute, Interface, implementer

from ..errors import BookieHandleNotAvailableError, ConfigError
from ..shared_result import SharedResult

DEFAULT_RACK = "/default-rack"

RETRY = 60.0
"""Seconds after a failed lookup of racks in which no other lookup begins."""

MAX_ARGUMENTS = 100
"""Maximum number of hosts that one call of the rack program gets as arguments."""


class IRackResolver(Interface):
    """An object that looks up the racks of hosts of bookies; plugins may provide further resolvers."""

    version: int = Attribute("Grows when racks that were returned before may have changed.")

    async def racks(hosts: Sequence[str]) -> Mapping[str, str]:
        """Return the racks of ``hosts`` by host; leave out hosts that are unknown.

        Hosts are names or addresses; racks are paths such as ``/room/rack``.
        """


@implementer(IRackResolver)
class MappingResolver:
    """A rack resolver that reads a table: each line is ``host rack``, and ``#`` begins a comment.

    :param read: a function that returns the text of the table; it is called again if a host is not in the table,
        because the host may have been added since.
    """

    version = 0

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._table: Mapping[str, str] = {}

    async def racks(self, hosts: Sequence[str]) -> Mapping[str, str]:
        """Return the racks of ``hosts`` from the table; read the table again if it lacks one of the hosts.

        :raises bookkeeper_twisted.errors.ConfigError: a line of the table is malformed.
        """
        if not self._table.keys() >= set(hosts):
            self._table = parse_table(self._read())
        return {host: self._table[host] for host in hosts if host in self._table}


def parse_table(text: str) -> dict[str, str]:
    """Parse a table of racks; return the racks by host.

    :param text: one line for each host: its name or address, and its rack.
    :raises bookkeeper_twisted.errors.ConfigError: a line is not a host and a path.
    """
    table = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or not words[1].startswith("/"):
            raise ConfigError(f"rack table, line {number}: expected a host and a path, not {line.strip()!r}")
        table[words[0]] = words[1]
    return table


@implementer(IRackResolver)
class ScriptResolver:
    """A rack resolver that runs a program: its arguments are hosts, and it prints the path of a rack for each.

    :param run: a function that runs the program with arguments and returns its output; it fails if the program fails.
    """

    version = 0

    def __init__(self, run: Callable[[Sequence[str]], Awaitable[bytes]]) -> None:
        self._run = run

    async def racks(self, hosts: Sequence[str]) -> Mapping[str, str]:
        """Return the racks of ``hosts`` that the program prints, by host.

        :raises bookkeeper_twisted.errors.ConfigError: the program printed more or fewer paths than it got hosts.
        """
        found: dict[str, str] = {}
        for start in range(0, len(hosts), MAX_ARGUMENTS):
            part = hosts[start : start + MAX_ARGUMENTS]
            paths = (await self._run(part)).decode("utf-8", "replace").split()
            if len(paths) != len(part):
                raise ConfigError(f"the rack script printed {len(paths)} paths for {len(part)} hosts")
            found.update(zip(part, paths, strict=True))
        return found


@implementer(IRackResolver)
class NoRacks:
    """A rack resolver that finds no rack for any host, so that every bookie is in the default rack."""

    version = 0

    async def racks(self, hosts: Sequence[str]) -> Mapping[str, str]:
        """Return no rack for any of ``hosts``."""
        return {}


@attrs.define
class BookieRacks:
    """The racks of bookies that a rack resolver has found.

    The rack of a bookie is looked up once, and again when the resolver has a new version of its racks.

    :ivar host_of: a function that returns the host of a bookie by its id.
    :ivar local_host: host name of this machine; empty if placement must not prefer this machine's rack.
    """

    _log = Logger()

    clock: IReactorTime
    resolver: IRackResolver
    host_of: Callable[[str], Awaitable[str]]
    local_host: str = ""
    _known: dict[str, str] = attrs.field(factory=dict)
    _looked_up: set[str] = attrs.field(factory=set)
    _local: str | None = None
    _retry_at: float = 0.0
    _version: int = 0
    _running: SharedResult[None] | None = None

    def rack_of(self, bookie_id: str) -> str:
        """Return the rack of the bookie ``bookie_id``; the default rack if it is unknown."""
        return self._known.get(bookie_id, DEFAULT_RACK)

    def is_known(self, bookie_id: str) -> bool:
        """Test whether the rack of ``bookie_id`` was looked up before, even if no rack was found."""
        return bookie_id in self._looked_up

    @property
    def local_rack(self) -> str | None:
        """The rack of this machine; None if it is unknown or if placement must not prefer it."""
        return self._local

    async def learn(self, bookies: Collection[str]) -> None:
        """Look up and cache the racks of those ``bookies`` whose racks were not looked up before.

        If the resolver fails, the error is logged, and no rack is looked up in the next :data:`RETRY` seconds.
        """
        if self._version != self.resolver.version:
            self._version, self._retry_at = self.resolver.version, 0.0
            self._looked_up.clear()  # rack_of() returns the old racks from _known until the lookup has ended
        while not self._looked_up.issuperset(bookies) and self.clock.seconds() >= self._retry_at:
            running = self._running
            if running is None:
                running = self._running = SharedResult()
                running.run(self._look_up(sorted(set(bookies) - self._looked_up)))
            await running.wait()  # only one call of the resolver runs at a time

    async def _look_up(self, bookies: Sequence[str]) -> None:
        try:
            hosts = {bookie_id: await self._host(bookie_id) for bookie_id in bookies}
            wanted = {*bookies, *hosts.values(), *([self.local_host] if self.local_host else [])}
            racks = await self.resolver.racks(sorted(wanted))
        except Exception:
            self._retry_at = self.clock.seconds() + RETRY
            self._log.failure("the racks of {bookies} cannot be found", bookies=", ".join(bookies))
            return
        finally:
            self._running = None
        for bookie_id, host in hosts.items():
            self._known[bookie_id] = racks.get(bookie_id) or racks.get(host) or DEFAULT_RACK
        self._looked_up.update(bookies)
        local = racks.get(self.local_host)
        self._local = None if local == DEFAULT_RACK else local

    async def _host(self, bookie_id: str) -> str:
        try:
            return await self.host_of(bookie_id)
        except BookieHandleNotAvailableError:
            return bookie_id  # the host is unknown, so look up the rack by the bookie id only
