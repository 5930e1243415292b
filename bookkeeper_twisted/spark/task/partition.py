"""Reads the entries of a partition from bookies, in a Spark task.

The tasks of a worker process share its connections to bookies.  They have no connection to the metadata store.  They
start a reactor only if they decrypt entries.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import attrs

from ...blocking_reads import Fragment, FragmentReader, ReadLimits, SocketPool, Timeouts, dial
from ...codec.digest import Digester
from ...errors import NoSuchEntryError
from ...limits.ratelimit import UNLIMITED, Rate
from ...model import LedgerMetadata
from ..options import Secret, SourceOptions
from .columns import Columns, columns_of, joined
from .pacing import pace_of, tenth_of_a_second
from .security import KeySettings, SecuritySettings, connection_security, key_settings, security_settings


@attrs.frozen
class FragmentPart:
    """A range of entries that have the same ensemble; one task reads it.

    :ivar preferred: a number that spreads the reads over the replicas: of each write set, the bookie with the index
        ``preferred % write quorum`` is asked first.
    :ivar cost: estimated cost of the read in bytes: the size of the entries, plus a fixed cost for the request.
    """

    fragment: Fragment
    preferred: int
    cost: float


@attrs.frozen
class Partition:
    """The work of one task: ranges of entries to read, which may belong to several ledgers.

    :ivar ledgers: metadata by ledger id, without passwords and ensembles.
    """

    pieces: Sequence[FragmentPart]
    ledgers: dict[int, LedgerMetadata]

    @classmethod
    def of(cls, pieces: Sequence[FragmentPart], ledgers: dict[int, LedgerMetadata]) -> "Partition":
        """Make a partition from ranges of entries; include only the metadata that its task needs.

        :param pieces: the ranges of entries.
        :param ledgers: metadata by ledger id, at least of the ledgers in ``pieces``.
        """
        ids = {piece.fragment.ledger_id for piece in pieces}
        return cls(pieces, {ledger_id: _known_to_tasks(ledgers[ledger_id]) for ledger_id in ids})


def _known_to_tasks(metadata: LedgerMetadata) -> LedgerMetadata:
    return attrs.evolve(metadata, segments=(), password=b"")


@attrs.frozen
class TaskSettings:
    """The settings of reads, the same for all tasks of a job.

    :ivar skip_lost: whether to skip entries that no replica has; if not, such an entry is an error.
    :ivar share: speed limit of one task.
    :ivar security: settings of TLS and of authentication.
    :ivar keys: settings of the key provider that decrypts encrypted ledgers; empty if nothing is to be decrypted.
    """

    columns: Columns
    password: Secret
    timeouts: Timeouts
    limits: ReadLimits
    skip_lost: bool
    share: Rate = UNLIMITED
    security: SecuritySettings = ()
    keys: KeySettings = ()


def settings_of(options: SourceOptions) -> TaskSettings:
    """Return the settings of the reads in tasks, from the ``options``."""
    client = options.client
    timeouts = Timeouts(client.client_connect_timeout_millis / 1000, options.reading.read_timeout_ms / 1000)
    wire = 3 if client.wire_protocol == "v3" else 2
    share = options.reading.share
    batch_bytes = tenth_of_a_second(share.bytes, ReadLimits().batch_bytes)
    limits = ReadLimits(wire, batch_bytes, client.netty_max_frame_size_bytes)
    skip = not options.reading.fail_on_data_loss
    security, keys = security_settings(client), key_settings(client) if options.reading.decrypt else ()
    return TaskSettings(columns_of(options), options.password, timeouts, limits, skip, share, security, keys)


@lru_cache(maxsize=8)
def connections(timeouts: Timeouts, max_frame_size: int, security: SecuritySettings) -> SocketPool:
    """Return the connection pool of this process for these arguments; the first call makes it.

    :param max_frame_size: maximum number of bytes of a frame, with its length word.
    :param security: settings of TLS and of authentication; an empty tuple for unencrypted, unauthenticated connections.
    :raises ConfigError: a file of TLS or of authentication cannot be used, or an extra is not installed.
    """
    if not security:
        return SocketPool(lambda address, wire: dial(address, wire, timeouts, max_frame_size), time.monotonic)
    from ...blocking_reads.secured import dial_secured

    secured = connection_security(security)
    return SocketPool(
        lambda address, wire: dial_secured(address, wire, timeouts, secured, max_frame_size), time.monotonic
    )


def read_partition(partition: Partition, settings: TaskSettings) -> Iterator[Any]:
    """Read the entries of a ``partition`` from bookies and yield them as Arrow record batches; blocks.

    :param settings: settings of reads.
    :raises BookKeeperError: entries cannot be read, or no replica has them and ``failOnDataLoss`` is set.
    """
    return joined(_batches(partition, settings))


def _batches(partition: Partition, settings: TaskSettings) -> Iterator[Any]:
    columns, pace = settings.columns, pace_of("read", settings.share)
    pool = connections(settings.timeouts, settings.limits.max_frame_size, settings.security)
    digesters = _digesters(partition, settings)
    for piece in partition.pieces:
        fragment = piece.fragment
        ledger = partition.ledgers[fragment.ledger_id]
        if not columns.payload:
            yield from columns.of_ids(fragment.ledger_id, fragment.first, fragment.last, ledger)
            continue
        digester = digesters[fragment.ledger_id]
        for run in _runs(pool, piece, digester, settings):
            pace.spend(run.count, run.size)
            opened, cut = digester.opened(run)
            yield columns.of_run(opened, cut.payload_at, ledger)


def _digesters(partition: Partition, settings: TaskSettings) -> dict[int, Digester]:
    """Return the digesters of a partition's ledgers by ledger id.

    Without settings of a key provider, entries are not decrypted.  The driver has then refused encrypted ledgers,
    unless the option ``decrypt`` is false.
    """
    password = settings.password.value
    if not settings.keys or not settings.columns.payload:
        return {n: Digester(metadata.digest_type, password) for n, metadata in partition.ledgers.items()}
    # imported here, so that a task that decrypts nothing does not load Twisted
    from .decryption import digesters_of

    return digesters_of(partition.ledgers, settings.keys, password)


def _runs(pool: SocketPool, piece: FragmentPart, digester: Digester, settings: TaskSettings) -> Iterator[Any]:
    """Read a range of entries; yield runs of consecutive entries.

    Entries that no replica has are skipped if the ``settings`` say so.
    """
    fragment: Fragment | None = piece.fragment
    while fragment is not None:
        try:
            yield from FragmentReader(pool, fragment, digester, settings.limits, piece.preferred).runs()
            return
        except NoSuchEntryError as error:
            if not settings.skip_lost:
                raise
            warnings.warn(f"passed over: {error}", RuntimeWarning, stacklevel=2)
            following = error.entry_id + 1
            fragment = attrs.evolve(fragment, first=following) if following <= fragment.last else None
