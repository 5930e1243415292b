"""Selects the ledgers to read, and finds out up to which entry each ledger can be read now."""

import re
import warnings
from collections.abc import Iterable, Mapping

import attrs

from ...blocking_reads import Address, SocketPool, UnclosedLedger, read_last_add_confirmed
from ...codec.digest import Digester
from ...errors import BookKeeperError, ConfigError, NoSuchLedgerMetadataError, UnauthorizedAccessError
from ...model import LedgerMetadata
from ..driver.cluster import ClusterView
from ..id_ranges import ALL_IDS, IdRanges
from ..options import EARLIEST, Offsets, SourceOptions
from ..sink.manifest import PublishedLedgers

ASKED_EACH = 1000
"""If a range in an option has at most this number of ids, the metadata of each of its ledgers are read.

For a larger range, the existing ids are listed first, and only their metadata are read.
"""


@attrs.frozen
class ReadableExtent:
    """The entries of a ledger that can be read: from 0 up to, but not including, ``end``.

    :ivar end: id of the first entry that cannot be read; in an open ledger, the entry after the last add confirmed.
    :ivar closed: whether the ledger is closed, so that ``end`` is final.
    :ivar entry_bytes: average size in bytes of a payload in the ledger.
    """

    end: int
    closed: bool
    entry_bytes: float


def matches(metadata: LedgerMetadata, conditions: Iterable[tuple[str, str]]) -> bool:
    """Test whether the custom metadata of a ledger match all conditions.

    :param conditions: keys of custom metadata, each with a regular expression that must match the whole value.
    """
    custom = metadata.custom_metadata
    return all(
        key in custom and re.fullmatch(pattern, custom[key].decode("utf-8", "replace")) is not None
        for key, pattern in conditions
    )


class Selection:
    """Selects ledgers by the options: by id, by manifest or by a pattern of their custom metadata."""

    def __init__(self, cluster: ClusterView, options: SourceOptions) -> None:
        # the views ``ledgers`` and ``fragments`` show only metadata, which can be read without the ledger's password
        self._checks_password = options.reading.view == "entries"
        self._cluster = cluster
        self._options = options
        reading = options.reading
        self._conditions = reading.ledgers_pattern
        manifest = reading.ledgers_of_manifest
        self._published = PublishedLedgers(cluster, manifest) if manifest else None
        self._fixed = reading.ledger or reading.ledgers
        self._passed_over: set[int] = set()

    def ledger_ids(self, among: IdRanges = ALL_IDS) -> list[int]:
        """Return the ids of the ledgers that the options select, ascending.

        Single ids and small ranges in an option are returned without a look-up, so these ledgers may not exist.  Ranges
        of more than :data:`ASKED_EACH` ids are looked up, and only existing ids are returned.

        A pattern of custom metadata is applied later, by :meth:`metadata`.

        :param among: only these ids may be returned.
        :raises NoSuchLedgerMetadataError: a ledger in a range of more than :data:`ASKED_EACH` ids does not exist, and
            ``failOnDataLoss`` is set.
        """
        if self._fixed:
            wanted = self._fixed.intersection(among)
            return [n for first, last in wanted.ranges for n in self._in_range(first, last)]
        if self._published is not None:
            return [n for n in self._published.ids() if n in among]
        if not among:
            return []
        found = self._cluster.ledger_ids(among.ranges[0][0], among.ranges[-1][1])
        return [n for n in found if n in among and n not in self._passed_over]

    def _in_range(self, first: int, last: int) -> Iterable[int]:
        if last - first < ASKED_EACH:
            return range(first, last + 1)
        found = self._cluster.ledger_ids(first, last)
        if self._options.reading.fail_on_data_loss and len(found) <= last - first:
            raise missing_ledger(next((n for n, one in enumerate(found, first) if n != one), first + len(found)))
        return found

    def take_passed_over(self) -> set[int]:
        """Return the ids of the ledgers that :meth:`metadata` left out since the last call of this method.

        It left them out because their custom metadata do not match the pattern in the options.
        """
        taken, self._passed_over = self._passed_over, set()
        return taken

    def metadata(self, ledger_ids: Iterable[int]) -> dict[int, LedgerMetadata]:
        """Read the metadata of ledgers, and return them by ledger id.

        If the options contain a pattern of custom metadata, ledgers that do not match it are left out.

        :param ledger_ids: ids of the ledgers to read.
        :raises NoSuchLedgerMetadataError: a ledger that an option names does not exist, and ``failOnDataLoss`` is set.
            Without ``failOnDataLoss``, such a ledger is left out.
        :raises UnauthorizedAccessError: the password in the options is not that of a selected ledger.
        """
        wanted = list(ledger_ids)
        found = self._cluster.metadata(wanted)
        if self._conditions:
            others = {n for n in found if not matches(found[n], self._conditions)}
            self._passed_over |= others
            found = {n: metadata for n, metadata in found.items() if n not in others}
        elif self._options.reading.fail_on_data_loss and len(found) < len(wanted):
            raise missing_ledger(next(n for n in wanted if n not in found))
        for ledger_id, metadata in found.items() if self._checks_password else ():
            check_password(ledger_id, metadata, self._options.password.value)
        return found


def missing_ledger(ledger_id: int) -> NoSuchLedgerMetadataError:
    """Make the error for the ledger ``ledger_id``, which an option or an offset names, but which does not exist."""
    return NoSuchLedgerMetadataError(
        f"ledger {ledger_id} does not exist; with failOnDataLoss = false it is passed over"
    )  # fmt: skip


def check_password(ledger_id: int, metadata: LedgerMetadata, password: bytes) -> None:
    """Check that ``password`` is the password in a ledger's metadata; if the metadata have none, accept any password.

    :param ledger_id: id of the ledger, for the text of the error.
    :raises UnauthorizedAccessError: the ledger has another password.
    """
    if metadata.has_password and metadata.password != password:
        raise UnauthorizedAccessError(ledger_id, detail="wrong password, option bookkeeper.password")


def extents(
    ledgers: Mapping[int, LedgerMetadata], addresses: Mapping[str, Address], pool: SocketPool
) -> dict[int, ReadableExtent | BookKeeperError]:
    """Find the entries of ledgers that can be read; for open ledgers, ask bookies for the last add confirmed.

    :param ledgers: metadata by ledger id.
    :param addresses: addresses by bookie id, at least of all bookies in the newest ensembles of the ledgers.
    :param pool: connections to bookies.
    :returns: by ledger id, the entries that can be read, or an error if too few bookies of the ledger answered.
    """
    found: dict[int, ReadableExtent | BookKeeperError] = {}
    growing: list[UnclosedLedger] = []
    for ledger_id, metadata in ledgers.items():
        if metadata.closed:
            count = metadata.last_entry_id + 1
            found[ledger_id] = ReadableExtent(count, True, metadata.length / count if count else 0.0)
            continue
        ensemble = tuple(addresses[bookie_id] for bookie_id in metadata.segments[-1].bookies)
        digester = Digester(metadata.digest_type, metadata.password)
        quorums = (metadata.write_quorum_size, metadata.ack_quorum_size)
        growing.append(UnclosedLedger(ledger_id, ensemble, *quorums, digester))
    for ledger_id, known in read_last_add_confirmed(pool, growing).items():
        if isinstance(known, BookKeeperError):
            found[ledger_id] = known
            continue
        # All entries before the newest ensemble are confirmed, even if the bookies answer with a lower LAC, because a
        # writer changes the ensemble only at the first entry that is not confirmed.
        confirmed = max(known.last_add_confirmed, ledgers[ledger_id].segments[-1].first_entry_id - 1)
        average = known.length / (known.entry_id + 1) if known.entry_id >= 0 else 0.0
        found[ledger_id] = ReadableExtent(confirmed + 1, False, average)
    return found


def offset_of(name: str, offsets: Offsets, ledger_id: int, end: int, fail_on_data_loss: bool) -> int:
    """Return the entry id that an option with offsets, such as ``startingOffsets``, sets for a ledger.

    :param name: name of the option, for the text of errors.
    :param offsets: value of the option.
    :param end: id of the first entry of the ledger that cannot be read.
    :param fail_on_data_loss: whether an offset beyond ``end`` is an error.  If False, a warning is logged, and ``end``
        is returned.
    :raises ConfigError: the option lists offsets by ledger but not for this ledger, or the offset is beyond ``end`` and
        ``fail_on_data_loss`` is True.
    """
    if isinstance(offsets, str):
        return 0 if offsets == EARLIEST else end
    if ledger_id not in offsets:
        raise ConfigError(f"option {name} has no entry for ledger {ledger_id}")
    offset = offsets[ledger_id]
    if offset <= end:
        return offset
    problem = f"option {name} is {offset} for ledger {ledger_id}, which can be read up to offset {end}"
    if fail_on_data_loss:
        raise ConfigError(f"{problem}; with failOnDataLoss = false it is taken for {end}")
    warnings.warn(problem, RuntimeWarning, stacklevel=2)
    return end
