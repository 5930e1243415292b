"""Requests the metrics of all bookies of a cluster, and returns their load."""

import json
from collections.abc import Mapping

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeferredTimeoutError

from ...client.admin import BookKeeperAdmin, DiskSpace
from ...client.steps import for_each
from ...errors import BookKeeperError, ConfigError
from ..bookie_servers import server_url
from ..shell_command import OperandError, ShellContext
from .figures import MetricsSample
from .load import BookieLoad, load_of

_AT_ONCE = 32
_METRICS, _STATE = "/metrics", "/api/v1/bookie/state"
_NOT_ANSWERING = "its HTTP server does not answer as a bookie does"


@attrs.frozen
class _Observation:
    """The metrics that one bookie has returned.

    :ivar sample: the metrics; None if the bookie has not answered as expected.
    :ivar note: why the bookie is read-only, or why there is no sample; otherwise empty.
    """

    sample: MetricsSample | None
    note: str


class ClusterWatch:
    """Samples the metrics of all bookies; computes rates from the previous sample and the new one.

    :param shell: the context of the command.
    :param admin: an administrative client of the cluster.
    :param patience: seconds to wait for the answer of a bookie.
    """

    def __init__(self, shell: ShellContext, admin: BookKeeperAdmin, patience: float) -> None:
        self._shell = shell
        self._admin = admin
        self._patience = patience
        self._before: Mapping[str, MetricsSample] = {}

    async def loads(self) -> list[BookieLoad]:
        """Return the load, since the last call, of each bookie that is registered or has a cookie.

        :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed.
        """
        writable, read_only = await self._admin.writable_bookies(), await self._admin.read_only_bookies()
        registered = writable | read_only
        observed: dict[str, _Observation] = {}

        async def observe(bookie_id: str) -> None:
            observed[bookie_id] = await self._observed(bookie_id, bookie_id in read_only)

        await for_each(sorted(registered), observe, _AT_ONCE)
        silent = [bookie_id for bookie_id in writable if observed[bookie_id].sample is None]
        spaces = await self._spaces() if silent else {}
        for bookie_id in silent:
            if bookie_id in spaces:
                observed[bookie_id] = attrs.evolve(observed[bookie_id], sample=spaces[bookie_id])
        loads = []
        for bookie_id in sorted(registered | await self._admin.all_bookies()):
            found = observed.get(bookie_id, _Observation(None, "not registered"))
            state = "writable" if bookie_id in writable else "readOnly" if bookie_id in read_only else "down"
            loads.append(load_of(bookie_id, state, self._before.get(bookie_id), found.sample, found.note))
        self._before = {bookie_id: each.sample for bookie_id, each in observed.items() if each.sample is not None}
        return loads

    async def _spaces(self) -> Mapping[str, MetricsSample]:
        """Request the disk use of all writable bookies over the BookKeeper protocol, which needs no HTTP server."""
        clock = self._shell.world.reactor
        try:
            spaces = await Deferred.fromCoroutine(self._admin.disk_space()).addTimeout(self._patience, clock)
        except DeferredTimeoutError:
            return {}
        return {
            bookie_id: MetricsSample(clock.seconds(), disk_use=100 * (1 - space.free / space.total))
            for bookie_id, space in spaces.items()
            if isinstance(space, DiskSpace) and space.total
        }

    async def _observed(self, bookie_id: str, read_only: bool) -> _Observation:
        """Request the metrics of a bookie; if it does not answer in time or fails, return the reason as the note."""
        clock = self._shell.world.reactor
        try:
            return await Deferred.fromCoroutine(self._asked(bookie_id, read_only)).addTimeout(self._patience, clock)
        except DeferredTimeoutError:
            return _Observation(None, f"no answer in {self._patience:g} s")
        except (OperandError, ConfigError, BookKeeperError, OSError) as error:
            return _Observation(None, str(error).removeprefix(f"bookie {bookie_id} "))

    async def _asked(self, bookie_id: str, read_only: bool) -> _Observation:
        info = await self._admin.service_info(bookie_id)
        url = server_url(bookie_id, info, self._shell.local_bookie)
        page = await self._page(url + _METRICS)
        try:
            sample = MetricsSample.parse(page, self._shell.world.reactor.seconds())
        except ValueError:
            raise OperandError(_NOT_ANSWERING) from None
        return _Observation(sample, await self._reasons(url) if read_only or sample.writable is False else "")

    async def _reasons(self, url: str) -> str:
        """Request the reasons why a bookie is read-only; return "read-only" if it gives none."""
        try:
            found = json.loads(await self._page(url + _STATE))
            return "; ".join(map(str, found["reasons"])) or "read-only"
        except (OperandError, ValueError, KeyError, TypeError):
            return "read-only"

    async def _page(self, url: str) -> str:
        status, body = await self._shell.world.http("GET", url, b"", self._shell.client_config)
        if status != 200:
            raise OperandError(f"its HTTP server answered with status {status}")
        return body.decode("utf-8", "replace")
