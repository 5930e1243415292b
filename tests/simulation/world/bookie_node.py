"""A bookie that can be killed: the real store, engine, cookie check and registration on a simulated machine."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_twisted.bookie.engine import FAILED, NO_SPACE, Engine, EngineOptions, checkpoint_reasons
from bookkeeper_twisted.bookie.interfaces import IStorageExecutor
from bookkeeper_twisted.bookie.lifecycle.identity import CookieCheck
from bookkeeper_twisted.bookie.lifecycle.registration import BookieRegistration
from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.bookie.maintenance.ledger_collector import Cluster
from bookkeeper_twisted.bookie.maintenance.maintenance import Maintenance, MaintenanceOptions
from bookkeeper_twisted.codec.metadata_formats.cookie import Cookie
from bookkeeper_twisted.errors import BookKeeperError
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint
from bookkeeper_twisted.storage.cookies import DirectoryLocks
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_storage import StorageSettings
from bookkeeper_twisted.testing.streams import Random

from ...simulated_disk.sim_disk import Operation, SimDisk
from ...simulated_disk.sim_index import SimIndex
from .clock import Life, NodeClock
from .copies import StoredCopies
from .executor import DiskSpeed, SimExecutor
from .metadata import SimDriver
from .witness import IWitness, WitnessedBookie
from .world import World

PORT = 3181
_RESTART = 1.0
_RESIDENT = 0.5
_JOURNAL = JournalSettings(
    max_size=16384, alignment=512, block=512, max_backups=0, preallocate=2048, fill_step=2048, max_spares=1
)
_STORAGE = StorageSettings(log_size_limit=20000, write_cache_bytes=1 << 20, read_cache_bytes=1 << 16)


@attrs.frozen
class BookieSettings:
    """What a bookie is configured with; small, so that everything rotates within seconds.

    :ivar session_timeout: seconds until the metadata store notices that the process is gone.
    :ivar engine: plants replace it by one with a defect.
    :ivar maintenance: of garbage collection and compaction; None: none.
    """

    journal: JournalSettings = _JOURNAL
    storage: StorageSettings = _STORAGE
    options: EngineOptions = attrs.field(factory=EngineOptions)
    flush_interval: float = 5.0
    session_timeout: float = 3.0
    n_journals: int = 1
    n_ledger_dirs: int = 1
    engine: type[Engine] = Engine
    maintenance: MaintenanceOptions | None = None

    @property
    def paths(self) -> StorePaths:
        """Where everything lies."""
        ledgers = tuple(f"/ledgers{i}" for i in range(self.n_ledger_dirs))
        return StorePaths(tuple(f"/journal{i}" for i in range(self.n_journals)), ledgers, ledgers)


class PowerCutError(BaseException):
    """Ends the work in whose middle the power went."""


class BookieProcess:
    """One life of a bookie, started by :meth:`run`."""

    def __init__(self, node: "BookieNode", life: Life) -> None:
        world = node.world
        self._node = node
        self._life = life
        self._settings = node.settings
        self.clock = NodeClock(world.sim, life)
        self.executor: IStorageExecutor = SimExecutor(world.sim, life, node.chance, node.speed)
        self.driver: SimDriver = world.metadata.driver(self.clock)
        self.store: Store | None = None
        self.engine: Engine | None = None
        self.maintenance: Maintenance | None = None
        self.serves = False
        self._registration: BookieRegistration | None = None

    def _in_thread(self, work: Callable[..., Any], *args: Any) -> "Deferred[Any]":
        return self.executor.submit("flush", work, *args)

    async def run(self) -> None:
        """Starts; returns once the bookie serves and is registered."""
        disk, paths, settings = self._node.disk, self._settings.paths, self._settings
        await self.driver.open()
        await self._in_thread(paths.make, disk)
        await self._in_thread(DirectoryLocks, disk, paths.all())
        instance = await self.driver.registration.instance_id()
        expected = Cookie(self._node.bookie_id, ",".join(paths.journals), paths.ledgers, None, instance)
        check = CookieCheck(disk, paths, expected, False)
        if await check.must_stamp(self.driver.registration, self._in_thread):
            await check.stamp(self.driver.registration, self._in_thread)
        first_journal_id = int(self.clock.seconds() * 1000) + 1
        salt = self._node.chance.randbytes(16)
        store = self.store = await self._in_thread(
            Store.open, disk, paths, SimIndex.open, first_journal_id, salt, settings.journal, settings.storage
        )
        await self._in_thread(store.recover)
        self._check_fences(store)
        self._serve(store)
        await self._register()
        self._maintain(store, instance)
        self.serves = True

    def _check_fences(self, store: Store) -> None:
        """What was acknowledged as fenced is so in every later life (S3)."""
        for ledger_id in self._node.fenced:
            row = store.storage.ledger(ledger_id)
            if not store.storage.was_fenced(ledger_id) and (row is None or not row.fenced):
                self._node.witness.unfenced(self._node.bookie_id, ledger_id)

    def _serve(self, store: Store) -> None:
        node = self._node
        engine = self.engine = self._settings.engine(
            store.storage, store.journals, self.executor, self.clock, _usage, self._journal_failed, self._unwritten,
            options=self._settings.options,
        )  # fmt: skip
        self._registration = BookieRegistration(
            engine.bookie.mode, self.driver.registration, node.bookie_id, self.clock
        )  # fmt: skip
        if store.shortage is not None:
            engine.disk_is_full(store.shortage)
        engine.context.bookie = WitnessedBookie(
            engine.context.bookie, node.bookie_id, node.witness, node.fenced, node.damages, node.copies
        )
        forget = engine.bookie.forget

        def forgetting(ledger_ids: Sequence[int], now: int, is_elsewhere: bool = False) -> Sequence[int]:
            forgotten = forget(ledger_ids, now, is_elsewhere)
            for ledger_id in forgotten:
                node.copies.forget(ledger_id)
            node.witness.forgot(node.bookie_id, forgotten)
            return forgotten

        engine.bookie.forget = forgetting  # type: ignore[method-assign]
        engine.start(self._settings.flush_interval)
        node.world.network.listen(self._life, PORT, engine.factory)

    def _unwritten(self, reason: str) -> None:
        """Read-only while checkpoints fail; recovery adds are taken as long as the disk is only full."""
        assert self.engine is not None and self._registration is not None
        self.engine.bookie.mode.high_priority = not reason or reason.startswith(NO_SPACE)
        for each in checkpoint_reasons(self._registration.reasons, reason):
            self._registration.set_read_only(each, reason == each, kind=FAILED)
        if reason:
            self._node.witness.read_only(self._node.bookie_id, reason)

    async def _register(self) -> None:
        assert self._registration is not None
        await self._registration.register(BookieServiceInfo((Endpoint("bookie", self._node.name, PORT, "bookie-rpc"),)))

    def _maintain(self, store: Store, instance: str) -> None:
        options = self._settings.maintenance
        if options is not None:
            assert self.engine is not None
            driver = self.driver
            cluster = Cluster(
                self._node.bookie_id, driver.ledgers, driver.underreplication, driver.registration.instance_id, instance
            )
            self.maintenance = Maintenance(
                self._node.disk, store.storage, self.engine, self.executor, self.clock, cluster, options
            )
            self.maintenance.start()

    async def stop(self) -> None:
        """Stop in order, as a bookie does at SIGTERM, while its port takes connections until the end.

        A step that fails does not keep the others from running.
        """
        assert self.engine is not None and self._registration is not None and self.store is not None
        self.serves = False
        steps: list[Callable[[], Awaitable[object]]] = [
            self._registration.withdraw, self.engine.stop, self.executor.join,
            partial(self._in_thread, self.store.close), self._registration.end_withdrawal,
        ]  # fmt: skip
        if self.maintenance is not None:
            steps.insert(0, self.maintenance.stop)
        for step in steps:
            try:
                await step()
            except (BookKeeperError, OSError):
                pass  # a disk fails: what was acknowledged is in the journals

    def _journal_failed(self, failure: Failure) -> None:
        """A dead journal never leaves a live process (S10)."""
        self._node.exited(failure)


def _usage() -> "Deferred[tuple[int, int]]":
    return succeed((1 << 30, 1 << 29))


class BookieNode:
    """A machine with a bookie on it.

    :ivar name: of the machine, which is also its host.
    :ivar disk: what survives.
    :ivar fenced: ledgers whose fence was acknowledged, in any life.
    :ivar copies: of entries that it was given, in any life.
    :ivar wanted: whether the bookie is started again when it ends by itself.
    :ivar gone: it is lost for good, with its disk.
    :ivar starts: how often it was started.
    :ivar damage: probability that an entry is damaged as it is read.
    """

    _log = Logger()

    def __init__(self, world: World, name: str, settings: BookieSettings, witness: IWitness) -> None:
        self.world = world
        self.name = name
        self.bookie_id = f"{name}:{PORT}"
        self.settings = settings
        self.witness = witness
        self.chance: Random = world.stream("bookie", name)
        self.disk = SimDisk()
        page_cache = world.stream("page cache", name)
        self.disk.resident = lambda: page_cache.random() < _RESIDENT
        self.speed = DiskSpeed()
        self.fenced: dict[int, None] = {}
        self.copies = StoredCopies()
        self.wanted = True
        self.gone = False
        self.starts = 0
        self.damage = 0.0
        self.life: Life | None = None
        self.process: BookieProcess | None = None

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self.life is not None and self.life.alive

    @property
    def serving(self) -> bool:
        """Whether there is a process that has started."""
        return self.running and self.process is not None and self.process.serves

    def damages(self) -> bool:
        """Whether the entry that is read now is damaged."""
        return self.damage > 0 and self.chance.random() < self.damage

    def start(self) -> None:
        """A new process on what the disk kept."""
        if self.running or self.gone:
            return
        self.wanted = True
        self.starts += 1
        life = self.life = Life(self.world.sim, self.name)
        self.world.network.started(life)
        process = self.process = BookieProcess(self, life)
        self.world.keep(process)
        Deferred.fromCoroutine(process.run()).addErrback(self._not_started, life)

    def _not_started(self, failure: Failure, life: Life) -> None:
        if not life.alive:
            return
        if failure.check(BookKeeperError, OSError) is None:
            self._log.failure("bookie {name} did not start", failure, name=self.name)
        self.exited(failure)

    def exited(self, failure: Failure) -> None:
        """The process has ended by itself, and is started again a moment later."""
        assert failure.value is not None
        self.witness.exited(self.bookie_id, failure.value)
        self.kill(power=False)
        self.wanted = True
        self.world.after(_RESTART, self._start_again)

    def _start_again(self) -> None:
        if self.wanted:
            self.start()

    def stop(self) -> None:
        """Have the process stop in order, and start it again a moment after its end."""
        process, life = self.process, self.life
        if process is not None and life is not None and self.serving:
            Deferred.fromCoroutine(process.stop()).addBoth(self._stopped, life)

    def _stopped(self, outcome: object, life: Life) -> None:
        if isinstance(outcome, Failure):
            self._log.failure("{name} did not stop as it should", outcome, name=self.name)
        if self.life is life and life.alive:
            self.kill(power=False)
            self.wanted = True
            self.world.after(_RESTART, self._start_again)

    def kill(self, power: bool) -> None:
        """Ends the process at once.

        :param power: with its machine: what was not synced survives only by chance.
        """
        self.wanted = False
        if self.life is None or not self.life.alive:
            return
        life, self.life = self.life, None
        life.end()
        self.disk.observer = None
        self.disk.kill()
        if power:
            pending = self.disk.pending_count()
            odds = self.chance.choice((0.0, 0.5, 0.9, 1.0))
            self.disk = self.disk.crash([index for index in range(pending) if self.chance.random() < odds])
        self.world.network.crashed(life, power)
        assert self.process is not None
        self.world.after(self.chance.random() * self.settings.session_timeout, self.process.driver.vanish)

    def lose(self) -> None:
        """Ends the process, and nothing comes back of it."""
        self.gone = True
        self.kill(power=False)

    def cut_power_at(self, operation: int) -> None:
        """The machine goes off just before the disk has done so many further operations."""
        last = len(self.disk.operations) + operation
        disk = self.disk

        def cut(found: Operation) -> None:
            if found.number >= last:
                if self.running and self.disk is disk:
                    self.kill(power=True)
                    disk.observer = cut  # the rest of the work in progress does nothing any more
                raise PowerCutError

        disk.observer = cut

    def pause(self) -> None:
        """The process stops, and everything for it waits."""
        if self.life is not None:
            self.life.pause()

    def resume(self) -> None:
        """The process goes on."""
        if self.life is not None:
            self.life.resume()
