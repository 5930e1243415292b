"""The service of a bookie: starts its parts in order, from directories to connections, and stops them in reverse."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from typing import Any

import attrs
from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IListeningPort
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.randbytes import secureRandom

from ...config.bookie import BookieConfig
from ...errors import (
    ConfigError,
    InvalidCookieError,
    MetadataError,
    NoWritableDirectoryError,
    StorageFailedError,
)
from ...instruments import Instruments
from ...masking import without_credentials
from ...metadata.interfaces import IMetadataDriver, IRegistration
from ...metrics import DiskMetrics, StorageMetrics, directory_labels
from ...shared_result import end_of
from ...storage.apache.interfaces import OpenKeyValues
from ...storage.apache.regrouping import Pairs
from ...storage.apache.rocksdb import RocksKeyValues
from ...storage.apache.take_over import discard_index_files, discard_left_over, is_apaches, take_over
from ...storage.cookies import DirectoryLocks
from ...storage.index.run_index import SqliteRunIndex
from ...storage.interfaces import IFileSystem, IndexFactory
from ...storage.ledger_dirs import current, journal_name, without_current
from ..admin import IBookieAdmin, Phase
from ..engine import FAILED, NO_SPACE, Engine, checkpoint_reasons
from ..executor import ThreadExecutor
from ..interfaces import IStorageExecutor
from ..maintenance.ledger_collector import Cluster
from ..maintenance.maintenance import Maintenance
from .admin import BookieAdmin, ServedDirectories, ServingParts
from .condition import Condition, condition_of
from .disk_monitor import DiskMonitor, DiskState
from .endpoints import (
    Gate,
    bookie_endpoint,
    describe_metrics,
    http_endpoint,
    listen,
    listen_for_metrics,
    loopback_of,
    opened,
    stop_listening,
)
from .identity import CookieCheck, bookie_id, expected_cookie, service_info
from .registration import BookieRegistration
from .remembered_status import RememberedStatus
from .replay import ReplayProgress
from .settings import (
    disk_thresholds,
    engine_options,
    journal_settings,
    maintenance_options,
    storage_settings,
    store_paths,
)
from .storages import ledger_storage_factory
from .store import Store

MakeSite = Callable[[IBookieAdmin], Any]
"""Makes the factory of HTTP connections from the administration of a bookie."""


class BookieService(Service):
    """The service of one bookie; a process may have several bookies.

    :param metadata: the metadata driver; the start opens it, the stop closes it.
    :param local_host: the name or address of this machine, used if the configuration names none.
    :param make_site: makes the site of the HTTP server (:func:`bookkeeper_twisted.http.site.make_site`).
    :param make_metrics_site: makes the site of the port that has ``/metrics`` alone.
    :param executor: runs blocking work in threads; by default a
        :class:`~bookkeeper_twisted.bookie.executor.ThreadExecutor`.
    :param on_failure: called once if the bookie ends by itself, after everything is stopped.  A bookie ends by itself
        if its start fails, if it loses its registration, if a journal fails, or if it had to become read-only but
        ``readOnlyModeEnabled`` forbids this.
    :ivar admin: the administration of the bookie; it can be used before the start and after the stop, too.
    :ivar role: the name of the service in the log of its process.
    :ivar bookie_id, port, http_port: the bookie id and the ports, set by :meth:`start`; a port is 0 if there is none.
        Clients connect to ``port``.  If ``listenEndpoint`` is set, the bookie itself may listen on another port.
    """

    role = "bookie"
    _log = Logger()

    def __init__(
        self, reactor: Any, config: BookieConfig, metadata: IMetadataDriver, filesystem: IFileSystem, *,
        local_host: str = "127.0.0.1", make_site: MakeSite | None = None, make_metrics_site: MakeSite | None = None,
        on_failure: Callable[[Failure], None] = lambda failure: None,
        make_index: IndexFactory = SqliteRunIndex.open_to_serve, open_key_values: OpenKeyValues = RocksKeyValues.open,
        executor: IStorageExecutor | None = None,
    ) -> None:  # fmt: skip
        self.bookie_id = ""
        self.port = 0
        self.http_port = 0
        self._http_host = ""
        self.instruments = Instruments()
        self.admin = BookieAdmin(config, self.instruments, seconds=reactor.seconds)
        self.engine: Engine | None = None
        self.maintenance: Maintenance | None = None
        self._reactor = reactor
        self._options = engine_options(config, reactor, metadata, self.instruments)
        self._storages = ledger_storage_factory(config)
        self._metadata = metadata
        self._fs = filesystem
        self._paths = store_paths(config)
        self._local_host = local_host
        self._make_site = make_site
        self._make_metrics_site = make_metrics_site
        self._endpoint = bookie_endpoint(reactor, config)
        self._http_endpoint = http_endpoint(reactor, config)
        self._report = on_failure
        self._make_index = make_index
        self._open_key_values = open_key_values
        self._executor = executor or ThreadExecutor(reactor, max(1, config.num_read_worker_threads))
        self._undo = AsyncExitStack()
        self._starting: Deferred[None] | None = None
        self._abandoned = False
        self._stopping: Deferred[None] | None = None
        self._gate = Gate()
        self._listening: IListeningPort | None = None
        self._flush_failure = ""
        self._replay = ReplayProgress()
        self._registration: BookieRegistration | None = None

    def __repr__(self) -> str:
        state = "stopped" if self._stopping is not None else "starting" if self._starting is not None else "not started"
        if self._stopping is None and self._registration is not None:
            state = f"serves as {self.bookie_id}"
        return f"<BookieService {state}>"

    @property
    def config(self) -> BookieConfig:
        """The present configuration: some of its values can change while the bookie runs."""
        return self.admin.config

    def take(self, config: BookieConfig) -> None:
        """Apply the changed values of ``config`` to the running bookie; only values that need no restart may differ."""
        self.admin.take(config)

    def condition(self) -> Condition:
        """Return the status that the bookie reports to the service manager of its process."""
        blocked = 0.0 if self.engine is None else self.engine.blocked_seconds()
        return condition_of(self.admin.state(), self._replay, blocked)

    # -- as a Service --

    def startService(self) -> None:
        super().startService()
        self.start().addErrback(self._start_failed)

    def stopService(self) -> "Deferred[None]":
        super().stopService()
        return self.stop()

    def _start_failed(self, failure: Failure) -> None:
        self._log.failure("the bookie did not start", failure)
        self._report(failure)

    # -- start and stop --

    def start(self) -> "Deferred[None]":
        """Start the bookie; the result fires when the bookie serves.

        If a step of the start fails, the steps before it are undone, and then the result fails.  A cancelled start ends
        after its present step, which may be shortened; :meth:`stop` waits for this end.
        """

        def ended(outcome: Any) -> None:
            if not result.called:
                result.callback(outcome)

        result: Deferred[None] = Deferred(lambda _: self._abandon())
        self._starting = Deferred.fromCoroutine(self._start()).addBoth(ended)
        return result

    def _abandon(self) -> None:
        self._abandoned = True
        if self._registration is not None:
            self._registration.abandon()

    async def _start(self) -> None:
        try:
            for step in (
                self._open_metadata, self._lock, self._listen_early, self._check_cookies, self._open_store,
                self._start_engine, self._listen, self._serve_http, self._register, self._maintain,
                self._log_summary,
            ):  # fmt: skip
                if self._abandoned:
                    raise CancelledError
                await step()
        except BaseException as error:
            if not isinstance(error, CancelledError):
                self.admin.fail(str(error))
            await self._undo.aclose()
            raise
        self.admin.enter(Phase.SERVING)

    async def _log_summary(self) -> None:
        """Log the id, address, directories and number of replayed entries of the serving bookie."""
        paths, sizes = self._paths, zip(self._paths.ledgers, await self._disks.usage(), strict=True)
        ledgers = [f"{path} ({free:,} of {total:,} bytes free)" for path, (total, free) in sizes]
        self._log.info(
            "bookie {bookie_id} serves on {place}: metadata {uri}, journals {journals}, entry logs {ledgers}, "
            "indexes {indexes}, {n_ledgers} ledgers, {n_replayed} entries replayed",
            bookie_id=self.bookie_id, place=self.config.listen_endpoint or f"port {self.port}",
            uri=without_credentials(self.config.metadata_service_uri),
            journals=", ".join(paths.journals), ledgers=", ".join(ledgers), indexes=", ".join(paths.indexes),
            n_ledgers=self._store.storage.ledger_count(), n_replayed=self._store.n_replayed, is_change=True,
        )  # fmt: skip

    def stop(self) -> "Deferred[None]":
        """Stop listening, finish the requests in progress, run the last checkpoint and close all files."""
        self._abandon()
        if self._stopping is None:
            self._stopping = Deferred.fromCoroutine(self._stop())
        return end_of(self._stopping)

    async def _stop(self) -> None:
        if self._starting is not None:
            await end_of(self._starting)
        self.admin.enter(Phase.STOPPING)
        await self._undo.aclose()
        self.admin.enter(Phase.STOPPED)

    def _fail(self, failure: Failure) -> None:
        """Drop the connections and stop the bookie, because a journal failed or the registration was lost."""
        self.admin.fail(failure.getErrorMessage())
        if self.engine is not None:
            self.engine.factory.abort_all()
        self.stop().addCallback(lambda _: self._report(failure))

    # -- the steps of the start; each registers the step that undoes it --

    def _then_undo(self, undo: Callable[[], Awaitable[object]], name: str = "a step of the stop") -> None:
        """Register a function that undoes a step of the start; the stop calls it, and only logs its errors."""

        async def logged() -> None:
            try:
                await undo()
            # no traceback: the cause, for example an unreachable metadata store, is not in this program
            except MetadataError as error:
                self._log.warn("{name} failed: {error}", name=name, error=error)
            except Exception:
                self._log.failure("a step of the stop failed")

        self._undo.push_async_callback(logged)

    def _in_flush_thread(self, work: Callable[..., Any], *args: Any) -> "Deferred[Any]":
        return self._executor.submit("flush", work, *args)

    async def _open_metadata(self) -> None:
        self._then_undo(self._executor.stop)
        await self._metadata.open()
        self._then_undo(self._metadata.close, "the end of the session with the metadata store")

    async def _lock(self) -> None:
        if self._is_named and await self._in_flush_thread(without_current, self._fs, self._paths.all()):
            # Check the cookies first: no file may be made in a wrong directory (a mistyped path, a disk that is not
            # mounted).
            check = await self._cookie_check()
            await check.must_stamp(self._registrations, self._in_flush_thread)
        await self._in_flush_thread(self._paths.make, self._fs)
        locks = await self._in_flush_thread(DirectoryLocks, self._fs, self._paths.all())
        self._then_undo(lambda: self._in_flush_thread(locks.release))
        await self._in_flush_thread(self._paths.check_space, self._fs, journal_settings(self.config).preallocate)

    async def _listen_early(self) -> None:
        """Bind the port as the first step if the system chooses the port number, because the bookie id contains it."""
        if not self._is_named:
            await self._bind()

    @property
    def _registrations(self) -> IRegistration:
        return self._metadata.registration

    @property
    def _is_named(self) -> bool:
        """Test whether the configuration determines the bookie id; otherwise, the bound port is a part of the id."""
        return bool(self.config.bookie_port or self.config.bookie_id)

    async def _cookie_check(self) -> CookieCheck:
        self.bookie_id = bookie_id(self.config, self._local_host, self.port or self.config.bookie_port)
        self.admin.bookie_id = self.bookie_id
        self._instance_id = await self._registrations.instance_id()
        expected = expected_cookie(self.config, self.bookie_id, self._instance_id)
        return CookieCheck(
            self._fs, self._paths, expected, self.config.allow_storage_expansion, self.config.rebuild_index
        )

    async def _check_cookies(self) -> None:
        check, registration = await self._cookie_check(), self._registrations
        self._rebuild = self.config.rebuild_index
        if await check.must_stamp(registration, self._in_flush_thread):
            await self._bind()  # if the port is in use, the start must fail here, before it changes any file
            taken = await self._in_flush_thread(is_apaches, self._fs, self._pairs())
            if taken:
                await self._take_over()
            await check.stamp(registration, self._in_flush_thread)
            if taken:
                await self._in_flush_thread(discard_index_files, self._fs, self._pairs())

    def _pairs(self) -> Pairs:
        return Pairs(_currents(self._paths.ledgers), _currents(self._paths.indexes))

    async def _take_over(self) -> None:
        """Import the indexes of directories of Apache's bookie; a later step of the start replaces the cookies."""
        work = (take_over, self._fs, self._pairs(), self._make_index, self._open_key_values)
        imported = await self._in_flush_thread(*work)
        self._rebuild = False
        self._log.info(
            "took over from Apache's bookie: {i.states} states of ledgers, {i.entries} entries, {i.dangling} of them"
            " not where its index says, {i.unknown} ledgers without a state, fenced now", i=imported,
        )  # fmt: skip

    async def _open_store(self) -> None:
        settings = attrs.evolve(storage_settings(self.config), rebuild_index=self._rebuild)
        self._store = await self._in_flush_thread(
            Store.open, self._fs, self._paths, self._make_index, int(self._reactor.seconds() * 1000) + 1,
            secureRandom(16), journal_settings(self.config), settings, self._storages,
        )  # fmt: skip
        self._then_undo(self._close_store)
        # After a take-over, our indexes are complete now, so the index databases of Apache's bookie can be removed.
        await self._in_flush_thread(discard_left_over, self._fs, self._pairs())
        await self._in_flush_thread(self._store.recover, self._replay)
        self._labels = directory_labels(*map(_currents, (self._paths.ledgers, self._paths.indexes)))
        StorageMetrics(self.instruments, self._store.storage, self._labels, settings.write_cache_bytes)
        if self._store.no_space:
            text = "a ledger disk has no space for them, so they stay in memory and in the journals: {reason}"
            self._log.warn(text, reason=self._store.no_space)

    async def _close_store(self) -> None:
        """Wait until no thread has work any more, because even cancelled work may use files; then close the files."""
        await self._executor.join()
        await self._in_flush_thread(self._store.close)

    async def _start_engine(self) -> None:
        config = self.config
        directories = _currents(self._paths.ledgers)
        self._disks = DiskMonitor(
            self._fs, directories, self._executor, self._reactor, disk_thresholds(config), self._disks_seen,
            _currents(self._paths.journals), unwritten=self._store.unwritten, indexes=_currents(self._paths.index_only),
        )  # fmt: skip
        DiskMetrics(
            self.instruments, self._paths.ledgers, self._paths.journals,
            lambda path: self._disks.used(current(path)), lambda: self._disks.n_writable,
        )  # fmt: skip
        engine = self.engine = Engine(
            self._store.storage, self._store.journals, self._executor, self._reactor, self._disks.space,
            self._fail, self._checkpointed, self._options, self.instruments, self._labels,
        )  # fmt: skip
        mode = engine.bookie.mode
        self._registration = BookieRegistration(mode, self._registrations, self.bookie_id, self._reactor)
        self._registration.set_read_only("forceReadOnlyBookie is set", config.force_read_only_bookie)
        if self._store.shortage is not None:
            engine.disk_is_full(self._store.shortage)
        if config.persist_bookie_status_enabled:
            status = RememberedStatus(self._fs, directories, self._in_flush_thread, self._reactor.seconds)
            await status.restore(self.admin, self._registration)
        engine.start(config.flush_interval / 1000)
        self._then_undo(self._registration.end_withdrawal, "the withdrawal of the registration of the bookie")
        self._then_undo(self._stop_engine)
        self._then_undo(self._disks.stop)
        self.admin.attach(self._registration, self._disks, engine.access, engine.context.slow, engine.journal_groups)

    async def _stop_engine(self) -> None:
        assert self.engine is not None
        last = await self.engine.stop()
        if last is not None:
            self._log.info(
                "bookie {bookie_id}: last checkpoint up to {log_marks}, {last.entries} entries and {last.n_bytes} "
                "bytes flushed in {ms:.0f} ms", bookie_id=self.bookie_id, last=last, ms=last.seconds * 1000,
                log_marks=", ".join(f"{journal_name(each.file_id)}:{each.offset}" for each in last.log_marks),
            )  # fmt: skip

    async def _listen(self) -> None:
        await self._bind()
        assert self.engine is not None
        self._gate.inner = self.engine.factory
        # The stop calls the newest undo function first.  If the port was bound before the engine was started, it would
        # be closed after the engine.  So register its closing again: now the port is closed before the engine.
        self._then_undo(self._stop_listening)

    async def _bind(self) -> None:
        """Bind the port, unless an earlier step has bound it."""
        if self._listening is not None:
            return
        listening = self._listening = await listen(self._endpoint, self._gate, "listenEndpoint")
        self._then_undo(self._stop_listening)
        given, bound = self.config.bookie_port, getattr(listening.getHost(), "port", 0)
        self.port = given or bound
        if self.config.listen_endpoint and not self.port:
            raise ConfigError(
                f"bookiePort = 0, {self.config.origin('bookie_port')}: listenEndpoint = "
                f"{self.config.listen_endpoint!r} has no port: set bookiePort to the port that clients connect to"
            )
        if bound not in (0, self.port):
            self._log.warn(
                "listens on port {bound} (listenEndpoint), clients are given port {given} (bookiePort)",
                bound=bound, given=given,
            )  # fmt: skip

    async def _stop_listening(self) -> None:
        """Close the port, unless it is closed already."""
        listening, self._listening = self._listening, None
        if listening is not None:
            await stop_listening(listening)

    async def _serve_http(self) -> None:
        if self._make_metrics_site is not None and self.config.serves_metrics_alone:
            metrics = await listen_for_metrics(self._reactor, self.config, self._make_metrics_site(self.admin))
            self._then_undo(lambda: stop_listening(metrics))
            self._log.info("{text}", text=describe_metrics(metrics))
        if self._make_site is None or not self.config.http_server_enabled:
            return
        site = self._make_site(self.admin)
        listening = await listen(self._http_endpoint, site, "httpServerEndpoint")
        self.http_port = getattr(listening.getHost(), "port", 0)  # a UNIX socket has no port
        self._http_host = loopback_of(listening)
        self._log.info("{text}", text=opened(site, listening))
        self._then_undo(lambda: stop_listening(listening))

    async def _register(self) -> None:
        assert self._registration is not None
        info = service_info(self.config, self._local_host, self.port, self.http_port or None, self._http_host)
        self.admin.address = f"{info.endpoints[0].host}:{info.endpoints[0].port}"
        await self._disks.check()
        self._registrations.on_registration_lost(self._fail)
        await self._registration.register(info)
        self._then_undo(self._registration.withdraw)
        self._disks.start(self.config.disk_check_interval / 1000)

    async def _maintain(self) -> None:
        assert self.engine is not None
        ledgers = self._metadata.ledgers
        locks = self._metadata.underreplication
        cluster = Cluster(self.bookie_id, ledgers, locks, self._registrations.instance_id, self._instance_id)
        self.maintenance = Maintenance(
            self._fs, self._store.storage, self.engine, self._executor, self._reactor, cluster,
            maintenance_options(self.config), self.instruments, self._labels,
        )  # fmt: skip
        self.maintenance.start()
        self._then_undo(self.maintenance.stop)
        directories = ServedDirectories(self._fs, self._paths, self._executor, self._confirm_cookies)
        self.admin.serve(ServingParts.of(directories, self.maintenance, self._reactor, self.engine))

    async def _confirm_cookies(self) -> None:
        expected = expected_cookie(self.config, self.bookie_id, self._instance_id)
        check = CookieCheck(self._fs, self._paths, expected, False)
        if await check.must_stamp(self._registrations, self._in_flush_thread):
            raise InvalidCookieError(f"{', '.join(self._paths.all())}: there is no cookie any more")

    # -- reactions to the state of the disks --

    def _disks_seen(self, disks: DiskState) -> None:
        assert self._registration is not None
        accepted = disks.has_reserve and not self._flush_failure
        self._registration.set_high_priority(accepted, self._flush_failure or disks.shortage)
        self._registration.mode.refusing = disks.refusing(self._paths)
        if disks.lost_journals:  # stop, because records acknowledged from now on would be lost
            self._fail(Failure(StorageFailedError(f"a journal directory is lost: {disks.lost_journals[0]}")))
            return
        if self.maintenance is not None:
            self.maintenance.collector.disk_changed(disks.almost_full, disks.full, disks.text)
        for reason, holds in disks.reasons(self._paths):
            self._set_read_only(reason, holds)

    def _checkpointed(self, reason: str) -> None:
        """Update the reasons to be read-only after a checkpoint; if it failed, refuse adds of high priority, too.

        If it lacked only space, the check of the disks, which follows immediately, decides about these adds.
        """
        self._flush_failure = "" if reason.startswith(NO_SPACE) else reason
        if self._flush_failure and self._registration is not None:
            self._registration.set_high_priority(False, reason)
        for each in checkpoint_reasons(self.admin.state().reasons, reason):
            self._set_read_only(each, reason == each)
        self._disks.look()

    def _set_read_only(self, reason: str, holds: bool) -> None:
        if self._registration is None:
            return
        if holds and not self.config.read_only_mode_enabled:
            self._fail(Failure(NoWritableDirectoryError(f"{reason}, and readOnlyModeEnabled is false")))
            return
        self._registration.set_read_only(reason, holds, kind=FAILED)


def _currents(paths: Iterable[str]) -> list[str]:
    return [current(path) for path in paths]
