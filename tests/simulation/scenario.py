"""What a seed draws: the size of the cluster, its settings, who does what, and which faults may strike."""

from collections.abc import Sequence
from random import Random

import attrs

from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions, CompactionKind
from bookkeeper_twisted.bookie.maintenance.maintenance import COMPACTION_READ, COMPACTION_WRITE, MaintenanceOptions
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.limits.throttle import Rate
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from .world import BookieSettings, stream

FAULTS = (
    "kill", "power", "power in the middle of work", "pause", "slow disk", "disk error", "disk full", "partition",
    "one-way partition", "slow link", "reset", "refuse", "accept and ignore", "client kill", "client pause",
    "metadata lost", "metadata stale", "metadata down", "metadata expiry",
    "wrong data", "aimed at recoveries",
)  # fmt: skip
"""Kinds of faults, each on or off for a whole run."""

REPAIR_FAULTS = ("autorecovery kill", "autorecovery expiry", "bookie lost")
"""Those of runs with autorecovery; a bookie is lost for good once."""

STOP = "stop"
"""Bookies are stopped in order, and started again, while clients go on."""

_WIRES = ("v2", "v3", "auto")


@attrs.frozen
class Scenario:
    """One run.

    :ivar quorums: ensemble size, write quorum, ack quorum of new ledgers, drawn from for each.
    :ivar seconds: of chaos.
    :ivar mean_pause: between appends.
    :ivar mean_fault: seconds between the strikes of one kind of fault.
    :ivar wires: wire protocol of each client.
    :ivar max_append: entries appended at once.
    :ivar autorecovery: configuration of two processes with auditor and worker; None if there are none.
    :ivar many_ledgers: configuration of a client that writes several ledgers at once; None if there is none.
    """

    seed: int | str
    n_bookies: int
    quorums: Sequence[tuple[int, int, int]]
    seconds: float
    n_writers: int
    n_readers: int
    n_recoverers: int
    n_deleters: int
    mean_pause: float
    mean_fault: float
    mean_recovery: float
    faults: Sequence[str]
    bookie: BookieSettings
    client: ClientConfig
    wires: Sequence[str]
    metadata_delay: float
    watch_delay: float
    max_append: int = 4
    n_turn_takers: int = 0
    n_threaded: int = 0
    many_ledgers: ClientConfig | None = None
    autorecovery: AutorecoveryConfig | None = None

    @classmethod
    def draw(cls, seed: int | str) -> "Scenario":
        """The scenario of a seed."""
        chance = stream(seed, "scenario")
        n_bookies = chance.randint(3, 7)
        n_writers, n_readers = chance.choice((1, 1, 2, 2, 2, 3, 4)), chance.choice((0, 0, 1, 1, 2, 3))
        n_recoverers = chance.choice((0, 1, 2, 3, 3))
        drawn = cls(
            seed, n_bookies, [_quorums(chance, n_bookies) for _ in range(2)], chance.uniform(4, 9),
            n_writers, n_readers, n_recoverers, chance.choice((0, 0, 0, 1)),
            mean_pause=chance.choice((0.05, 0.2, 0.5)), mean_fault=chance.choice((2.0, 4.0, 8.0)),
            mean_recovery=chance.choice((1.0, 3.0, 6.0)),
            faults=[kind for kind in FAULTS if chance.random() < 0.3],
            bookie=_bookie(chance), client=_client(chance, stream(seed, "connections"), stream(seed, "shortages")),
            wires=[chance.choice(_WIRES) for _ in range(n_writers + n_readers + n_recoverers + 2)],
            metadata_delay=chance.choice((0.001, 0.01, 0.1)), watch_delay=chance.choice((0.001, 0.1, 2.0)),
            n_turn_takers=chance.choice((0, 0, 1)), n_threaded=stream(seed, "threads").choice((0, 0, 1)),
        )  # fmt: skip
        chance = stream(seed, "maintenance")
        bookie = attrs.evolve(drawn.bookie, maintenance=_maintenance(chance))
        n_deleters = max(drawn.n_deleters, bookie.maintenance is not None and chance.random() < 0.7)
        many_ledgers = _many_ledgers(stream(seed, "mixing"), drawn.client)
        stops = [STOP] if stream(seed, "stops").random() < 0.3 else []
        drawn = attrs.evolve(
            drawn, many_ledgers=many_ledgers, bookie=bookie, n_deleters=n_deleters, faults=[*drawn.faults, *stops]
        )  # fmt: skip
        return _with_autorecovery(stream(seed, "autorecovery"), drawn)


def _with_autorecovery(chance: Random, drawn: Scenario) -> Scenario:
    """Every second run has it; in most of them a bookie is lost for good, where another one can take its place."""
    if chance.random() < 0.5:
        return drawn
    settings = AutorecoveryConfig(
        lost_bookie_recovery_delay=chance.choice((0, 0, 2)),
        auditor_periodic_bookie_check_interval=chance.choice((0, 5)),
        auditor_periodic_check_interval=chance.choice((3, 8)),
        auditor_ledger_verification_percentage=100,
        open_ledger_rereplication_grace_period=chance.choice((500, 2000)),
        lock_release_of_failed_ledger_grace_period=2000,
        rw_rereplicate_backoff_ms=500,
        replication_concurrent_ledgers=chance.choice((1, 4)),
        rereplication_entry_batch_size=chance.choice((2, 1000)),
        replication_window_bytes=chance.choice((300, 1 << 20)),
    )
    faults = [kind for kind in REPAIR_FAULTS if chance.random() < 0.6]
    quorums = drawn.quorums
    if "bookie lost" in faults:
        quorums = [_that_lose_one(drawn.n_bookies, *sizes) for sizes in quorums]
    return attrs.evolve(drawn, autorecovery=settings, faults=[*drawn.faults, *faults], quorums=quorums)


def _that_lose_one(n_bookies: int, size: int, write: int, ack: int) -> tuple[int, int, int]:
    """Quorums of which each acknowledged entry has another replica, and each ensemble a spare bookie."""
    size = max(2, min(size, n_bookies - 1))
    write = max(2, min(write, size))
    return size, write, max(2, min(ack, write))


def _quorums(chance: Random, n_bookies: int) -> tuple[int, int, int]:
    size = chance.randint(1, min(5, n_bookies))
    if n_bookies > 3 and size == n_bookies and chance.random() < 0.7:
        size -= 1  # a spare for ensemble changes
    write = chance.randint(max(1, size - 2), size)
    return size, write, chance.randint(max(1, write - 1), write) if chance.random() < 0.8 else chance.randint(1, write)


def _bookie(chance: Random) -> BookieSettings:
    journal = JournalSettings(
        max_size=chance.choice((8192, 16384, 65536)), alignment=512, block=512, max_backups=chance.randint(0, 1),
        preallocate=2048, fill_step=2048, max_spares=1,
    )  # fmt: skip
    storage = StorageSettings(
        log_size_limit=chance.choice((4000, 20000, 100000)), write_cache_bytes=chance.choice((8000, 100000, 1 << 20)),
        read_cache_bytes=1 << 14,
    )  # fmt: skip
    return BookieSettings(
        journal, storage, flush_interval=chance.choice((1.0, 3.0, 10.0)), session_timeout=chance.choice((1.0, 3.0)),
        n_journals=chance.choice((1, 1, 2)), n_ledger_dirs=chance.choice((1, 1, 2)),
    )  # fmt: skip


def _maintenance(chance: Random) -> MaintenanceOptions | None:
    """Every second bookie cluster collects garbage, every few seconds, and compacts as often."""
    if chance.random() < 0.5:
        return None
    every = chance.choice((0.5, 1.5, 4.0))
    rate = Rate(bytes=chance.choice((0, 2000, 50000)))
    kinds = CompactionKind(0.3, every), CompactionKind(chance.choice((0.8, 0.95)), chance.choice((every, 3 * every)))
    rates = {COMPACTION_READ: rate, COMPACTION_WRITE: rate}
    return MaintenanceOptions(CollectorOptions(every, *kinds), rates, every, 2 * every)


def _client(chance: Random, connections: Random, shortages: Random) -> ClientConfig:
    return ClientConfig(
        add_entry_timeout_sec=chance.choice((0.5, 1.0, 3.0)),
        read_entry_timeout_sec=chance.choice((0.5, 1.0, 3.0)),
        client_connect_timeout_millis=chance.choice((500, 2000)),
        batch_read_enabled=chance.random() < 0.7,
        max_connections_per_bookie=connections.choice((0, 0, 0, 1, 2, 4)),
        connection_grace_sec=connections.choice((0.0, 0.0, 0.5)),
        wait_for_bookies_sec=shortages.choice((0.0, 0.0, 0.0, 2.0)),
    )


def _many_ledgers(chance: Random, client: ClientConfig) -> ClientConfig | None:
    """Mixed runs are of V2, over sockets that ledgers share; with one socket all is V3."""
    if chance.random() >= 1 / 3:
        return None
    return attrs.evolve(
        client,
        max_connections_per_bookie=chance.choice((2, 2, 4)),
        wire_protocol=chance.choice(("v2", "auto")),
        delay_ensemble_change=chance.random() < 0.2,
        explicit_lac_interval=chance.choice((0, 0, 15, 200)),
    )
