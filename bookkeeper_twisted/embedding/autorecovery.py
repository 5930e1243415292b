"""Makes autorecovery and the objects that it needs: a client over TCP, a metadata driver, and an HTTP server."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger

from ..autorecovery.service import AutoRecovery, Identity
from ..bookie.lifecycle.condition import Condition
from ..bookie.lifecycle.endpoints import (
    describe_metrics,
    http_endpoint,
    listen,
    listen_for_metrics,
    opened,
    stop_listening,
)
from ..bookie.lifecycle.identity import bookie_id
from ..client import BookKeeper
from ..client.connections.metrics import ClientMetrics
from ..config.authentication import SYSTEM
from ..config.bookie import BookieConfig
from ..config.client import ClientConfig
from ..config.fields import LOG
from ..config.live import changed_parts, live_attributes
from ..errors import MetadataError
from ..instruments import Instruments
from ..limits.adaptive import ISpeedLimits
from ..logs.levels import LEVELS_OF_PROCESS
from ..metrics import new_registry, pieces
from .local_host import host_name, http_names, local_host, resolve_addresses
from .production import http_protection

if TYPE_CHECKING:
    from ..authorization.access import AccessControl
    from ..http.cluster_api import SharedClient

AttachLimits = Callable[[ISpeedLimits | None], None]


def make_autorecovery(reactor: Any, config: BookieConfig, client: ClientConfig) -> "AutorecoveryService":
    """Make autorecovery for a separate process, with the HTTP server or metrics port that the configuration asks for.

    :param config: configuration of a bookie on this machine; its id is the name in the auditor election.
    :param client: configuration of the client that autorecovery uses.
    :raises ConfigError: the address of this machine cannot be found.
    """
    config = resolve_addresses(config)
    name = bookie_id(config, local_host(config), config.bookie_port)
    return AutorecoveryService(reactor, config, client, lambda: name, Instruments(), True)


def _attached_nowhere(limits: ISpeedLimits | None) -> None:
    """Ignore the speed ``limits``: there is no HTTP server of a bookie in this process that could show them."""


def make_daemon(
    reactor: Any, config: BookieConfig, client: ClientConfig, name: Callable[[], str], instruments: Instruments,
    attach: AttachLimits,
) -> "AutorecoveryService":  # fmt: skip
    """Make autorecovery that runs inside the process of a bookie.

    Its start waits only for the first attempt to connect to the metadata store.  If this attempt fails, autorecovery
    retries while the bookie serves clients.

    :param name: a function that returns the id of the bookie; called after the bookie has started.
    :param instruments: metrics of the bookie, to which autorecovery adds its metrics.
    :param attach: a function that passes autorecovery's speed limits to the bookie's HTTP server.  It is called with
        the limits after autorecovery has started, and with None when it has stopped.
    """
    pause = config.bookie_death_watch_interval / 1000
    return AutorecoveryService(reactor, config, client, name, instruments, False, pause, attach)


class AutorecoveryService:
    """A service that runs autorecovery (the auditor and the replication worker) with a client of its own.

    :param serves_http: whether to start the HTTP server and the metrics port that ``config`` enables.
    :param retry_pause: seconds between attempts to connect to the metadata store.  If it is None, the start makes only
        one attempt, and fails if this attempt fails.
    :param attach: called with the speed limits after the start, and with None after the stop.
    :ivar bookie_id: the name of this process in the auditor election; empty before the start.
    :ivar port: always 0, because autorecovery serves no BookKeeper clients.
    :ivar config: the present configuration; :meth:`take` replaces it.
    """

    role = "autorecovery of"
    port = 0
    _log = Logger()

    def __init__(
        self, reactor: Any, config: BookieConfig, client: ClientConfig, name: Callable[[], str],
        instruments: Instruments, serves_http: bool, retry_pause: float | None = None,
        attach: AttachLimits = _attached_nowhere,
    ) -> None:  # fmt: skip
        self.bookie_id = ""
        self.http_port = 0
        self.autorecovery: AutoRecovery | None = None
        self._reactor = reactor
        self.config = config
        self._client_config = attrs.evolve(client, client_role=SYSTEM)
        self._name = name
        self._instruments = instruments
        self._serves_http = serves_http
        self._http_endpoint = http_endpoint(reactor, config) if serves_http and config.http_server_enabled else None
        self._protection = http_protection(reactor, config) if serves_http else None
        self._retry_pause = retry_pause
        self._attach = attach
        self._undo = AsyncExitStack()
        self._starting: Deferred[None] | None = None
        self._tried: Deferred[None] = Deferred()

    def start(self) -> "Deferred[None]":
        """Start the client, the auditor and the replication worker; the Deferred fires when they run.

        If ``retry_pause`` is set, the Deferred also fires if the first attempt to connect to the metadata store fails.
        """
        self.bookie_id = self._name()
        tried = self._tried = Deferred()
        self._starting = Deferred.fromCoroutine(self._start())
        if self._retry_pause is None:
            return self._starting
        self._starting.addErrback(self._log_failure).addCallback(self._has_tried)
        return tried

    def _has_tried(self, _: None = None) -> None:
        if not self._tried.called:
            self._tried.callback(None)

    async def _start(self) -> None:
        try:
            client = await self._connect()
            self._undo.push_async_callback(self._close, client)
            identity = Identity(self.bookie_id, host_name())
            self.autorecovery = AutoRecovery(
                self._reactor, client, self.config, identity, self._now_ms, self._instruments
            )
            self._undo.push_async_callback(self.autorecovery.stop)
            self.autorecovery.start()
            self._attach(self.autorecovery.limits)
            self._undo.callback(self._attach, None)
            await self._serve_http(self.autorecovery.limits)
            await self._serve_metrics()
        except BaseException:
            await self._undo.aclose()
            raise

    async def _connect(self) -> BookKeeper:
        metrics = ClientMetrics(self._instruments)
        while True:
            try:
                uri = self.config.metadata_service_uri
                return await BookKeeper.connect(self._reactor, uri, self._client_config, metrics=metrics)
            except MetadataError as error:
                if self._retry_pause is None:
                    raise
                self._log.warn("autorecovery waits for the metadata store: {error}", error=error)
                self._has_tried()
                await deferLater(self._reactor, self._retry_pause)

    async def _close(self, client: BookKeeper) -> None:
        """Close the ``client``; only log that the metadata store fails, which ends the session by itself."""
        try:
            await client.close()
        except MetadataError as error:
            self._log.warn("the end of autorecovery's session with the metadata store failed: {error}", error=error)

    async def _serve_http(self, limits: ISpeedLimits) -> None:
        if self._http_endpoint is None or self._protection is None:
            return
        from ..client.admin import BookKeeperAdmin
        from ..http.cluster_api import SharedClient
        from ..http.hosts import HostNames
        from ..http.limits_api import LogLevelsApi
        from ..http.site import make_autorecovery_site

        def connect() -> Deferred[BookKeeperAdmin]:
            return BookKeeperAdmin.connect(self._reactor, self.config.metadata_service_uri, self._client_config)

        registry = new_registry(self._instruments)
        shared = SharedClient(connect)
        self._undo.push_async_callback(shared.close)
        hosts = HostNames(http_names(self.config))
        access, guard = self._access(shared), self._protection.guard(self._instruments)
        site = self._protection.encrypted(
            make_autorecovery_site(
                lambda: pieces(registry), limits, shared, self._reactor, hosts, access, guard,
                LogLevelsApi(lambda: self.config.shown(), self._configure),
            )
        )  # fmt: skip
        listening = await listen(self._http_endpoint, site, "httpServerEndpoint")
        self._undo.push_async_callback(stop_listening, listening)
        self.http_port = getattr(listening.getHost(), "port", 0)
        self._log.info("{text}", text=opened(site, listening))

    def condition(self) -> Condition:
        """Return the state of autorecovery: whether it is starting, is the auditor, and how many ledgers it repairs."""
        if self.autorecovery is None:
            return Condition("starting")
        ledgers, elected = self.autorecovery.worker.status(), self.autorecovery.election.in_office
        return Condition(f"{'auditor, ' if elected else ''}{len(ledgers)} ledgers in repair")

    def take(self, config: BookieConfig) -> None:
        """Apply a new ``config`` while autorecovery runs.

        Only live keys (keys whose values can change without a restart) may differ from the present configuration.
        """
        before, self.config = self.config, config
        if self.autorecovery is not None:
            self.autorecovery.change(before, config)
        if LOG in changed_parts(before, config):
            LEVELS_OF_PROCESS.set(config.levels)

    def _configure(self, values: Mapping[str, str]) -> None:
        """Change the log levels of this process.

        :param values: new values as text, by key.
        :raises ConfigError: a key does not configure log levels, or a value is invalid.
        """
        self.take(self.config.changed(values, live_attributes(BookieConfig, LOG), "changed by an administrator"))

    def _access(self, shared: "SharedClient") -> "AccessControl | None":
        """Return the started access control of the HTTP server; None if everybody may use the server.

        :raises ConfigError: the authorization rules cannot be used, or the audit log cannot be opened.
        """
        from ..authorization.access import access_control

        async def custom_metadata(ledger_id: int) -> Mapping[str, bytes]:
            return (await (await shared()).client.ledger_metadata(ledger_id)).custom_metadata

        def submit(work: Callable[..., Any], *args: Any) -> "Deferred[Any]":
            return deferToThreadPool(self._reactor, self._reactor.getThreadPool(), work, *args)

        access = access_control(self.config, self._reactor, custom_metadata, self._instruments)
        if access is not None:
            access.start(submit)
            self._undo.push_async_callback(access.stop)
        return access

    async def _serve_metrics(self) -> None:
        if not (self._serves_http and self.config.serves_metrics_alone):
            return
        from ..http.site import make_metrics_site

        registry = new_registry(self._instruments)
        site = make_metrics_site(lambda: pieces(registry), self._reactor)
        listening = await listen_for_metrics(self._reactor, self.config, site)
        self._undo.push_async_callback(stop_listening, listening)
        self._log.info("{text}", text=describe_metrics(listening))

    def _now_ms(self) -> int:
        return int(self._reactor.seconds() * 1000)

    def stop(self) -> "Deferred[None]":
        """Stop all parts in the reverse order of their start; the Deferred fires when all have stopped."""
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        starting, self._starting = self._starting, None
        if starting is not None:
            ended: Deferred[None] = Deferred()
            starting.addErrback(self._log_failure).addBoth(lambda _: ended.callback(None))
            starting.cancel()
            await ended
        await self._undo.aclose()

    def _log_failure(self, failure: Any) -> None:
        if not failure.check(CancelledError):
            self._log.failure("autorecovery does not start", failure)
