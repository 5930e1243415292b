"""The options of the data source: declares, parses and checks them; the documentation is generated from here.

Spark passes options as text, with keys in lower case.  An unknown key is an error, because ignoring a misspelt option
would give a wrong result.  Keys that begin with ``bookkeeper.`` configure the client: ``bookkeeper.password``,
``bookkeeper.digestType`` and every key of :class:`~bookkeeper_twisted.config.client.ClientConfig`.

Spark shows the options of a write in the logical plan, but masks options whose keys contain ``password``.  So the
password of ledgers is the option ``bookkeeper.password``.  Its older name, ``bookkeeper.passwd``, still works.
"""

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Self, TypeVar

import attrs

from ..arguments import whole_number
from ..config.client import ClientConfig
from ..config.fields import BOOLEAN, TEXT, Kind, Setting, fields_of, from_options, integer, one_of, setting
from ..config.settings import Config
from ..errors import ConfigError, IncorrectParameterError
from ..limits.ratelimit import Rate
from ..model import MAX_LEDGER_ID, DigestType, digest_type_of
from .id_ranges import IdRanges

PREFIX = "bookkeeper."
PASSWORD = "bookkeeper.password"
_PASSWORDS, _DIGEST = (PASSWORD, "bookkeeper.passwd"), "bookkeeper.digesttype"
_SPARK_OWN = frozenset({"path", "checkpointlocation", "queryname"})
"""Keys, in lower case, that Spark itself adds or reads; the source ignores them."""

EARLIEST, LATEST = "earliest", "latest"


def _ledger_ids(text: str) -> IdRanges:
    """Parse a list of ledger ids and ranges of ids, such as ``3,5-9``."""
    found: list[tuple[int, int]] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            low, high = whole_number(first.strip()), whole_number((last if dash else first).strip())
        except ValueError:
            raise ValueError("expected ledger ids and ranges, for example 3,5-9") from None
        if low > high:
            raise ValueError(f"{low}-{high} is no range: its first id is above its last one")
        if high > MAX_LEDGER_ID:
            raise ValueError(f"no ledger id is above {MAX_LEDGER_ID}")
        found.append((low, high))
    return IdRanges.of_ranges(found)


def _pattern(text: str) -> tuple[tuple[str, str], ...]:
    """Parse conditions on the custom metadata of ledgers, such as ``application=events-.*;shard=[0-3]``."""
    conditions = []
    for part in text.split(";"):
        key, equals, value = part.strip().partition("=")
        if not equals or not key:
            raise ValueError("expected key=regular expression, more of them separated by ;")
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"{value!r} is no regular expression: {error}") from None
        conditions.append((key.strip(), value.strip()))
    return tuple(conditions)


Offsets = str | Mapping[int, int]
"""The value of an option with offsets: ``earliest``, ``latest``, or an entry id for each ledger id."""


_OFFSETS_WANTED = 'expected earliest, latest or JSON such as {"17": 4000}'


def _offsets(text: str) -> Offsets:
    word = text.strip().lower()
    if word in (EARLIEST, LATEST):
        return word
    try:
        offsets = {whole_number(ledger_id): entry_id for ledger_id, entry_id in json.loads(text).items()}
    except (ValueError, AttributeError):
        raise ValueError(_OFFSETS_WANTED) from None
    if any(type(entry_id) is not int for entry_id in offsets.values()):
        # do not use isinstance() here: it accepts a bool as an int
        raise ValueError(f"{_OFFSETS_WANTED}, whose entry ids are whole numbers")
    if any(entry_id < 0 for entry_id in offsets.values()):
        raise ValueError("entry ids begin at 0")
    return offsets


_SIZES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}


def _size(text: str) -> int:
    found = re.fullmatch(r"([0-9]+)\s*([a-z]*)", text.strip().lower())
    if not found or found[2] not in _SIZES:
        raise ValueError("expected bytes, for example 1048576 or 1m")
    return int(found[1]) * _SIZES[found[2]]


def _at_least(low: int) -> Kind[int]:
    def check(value: int) -> None:
        if value < low:
            raise ValueError(f"must be at least {low}")

    return Kind(f"bytes, from {low}; k, m and g may follow", _size, check)


LEDGER_IDS: Kind[IdRanges] = Kind("ledger ids and ranges, separated by commas", _ledger_ids)
PATTERN: Kind[tuple[tuple[str, str], ...]] = Kind("key=regular expression, separated by ;", _pattern)
OFFSETS: Kind[Offsets] = Kind('earliest | latest | JSON such as {"17": 4000}', _offsets)


_NO_IDS = IdRanges()


@attrs.frozen(kw_only=True)
class _Limits(Config):
    """The options of reads and of writes that limit the speed of all tasks together."""

    max_bytes_per_second: int = setting(
        "maxBytesPerSecond", 0, _at_least(0), "maximum bytes per second of all tasks together; 0: no limit",
        unit="bytes",
    )
    max_entries_per_second: int = setting(
        "maxEntriesPerSecond", 0, integer(0), "maximum number of entries a second of all tasks together; 0: no limit"
    )
    tasks_at_once: int = setting(
        "tasksAtOnce", 0, integer(0), "tasks that run at a time, among which a limit a second is split"
    )

    @property
    def share(self) -> Rate:
        """Return the speed limit of one task: the limit of all tasks, divided by the number of parallel tasks."""
        return Rate(self.max_entries_per_second, self.max_bytes_per_second) * (1 / (self.tasks_at_once or 1))

    def _check(self) -> None:
        if self.share and not self.tasks_at_once:
            raise ConfigError("option tasksAtOnce is missing: a limit a second is split among the tasks that run")


@attrs.frozen(kw_only=True)
class ReadOptions(_Limits):
    """The options of a read, without the options that configure the client."""

    metadata_service_uri: str = setting("metadataServiceUri", "", TEXT, "where the metadata of the cluster are")
    ledger: IdRanges = setting("ledger", _NO_IDS, LEDGER_IDS, "the ledger to read")  # noqa: RUF009
    ledgers: IdRanges = setting(  # noqa: RUF009
        "ledgers", _NO_IDS, LEDGER_IDS, "the ledgers to read; all have to exist unless failOnDataLoss is false"
    )
    ledgers_pattern: tuple[tuple[str, str], ...] = setting(
        "ledgersPattern", (), PATTERN, "read ledgers whose custom metadata match, new ones too in a stream"
    )
    ledgers_of_manifest: str = setting(
        "ledgersOfManifest", "", TEXT, "read the ledgers that the sink published under this manifest"
    )
    manifest: str = setting(
        "manifest", "", TEXT, "read a manifest of the sink: a row for each ledger that it published"
    )
    view: str = setting(
        "view", "entries", one_of("entries", "ledgers", "fragments"),
        "rows for entries, for ledgers, or for each replica of each fragment of ledgers",
    )  # fmt: skip
    starting_offsets: Offsets = setting(  # noqa: RUF009
        "startingOffsets", None, OFFSETS, "entry to begin with: batches with earliest, streams with latest",
        default_text="",
    )  # fmt: skip
    ending_offsets: Offsets = setting(  # noqa: RUF009
        "endingOffsets", LATEST, OFFSETS, "entry to end before, in batches: latest, or JSON by ledger"
    )
    fail_on_data_loss: bool = setting(
        "failOnDataLoss", True, BOOLEAN,
        "fail where a ledger was deleted, an entry is lost or an offset is beyond the end; false: go on without it",
    )  # fmt: skip
    max_entries_per_trigger: int = setting(
        "maxEntriesPerTrigger",
        0,
        integer(0),
        "maximum number of entries of a micro-batch; 0: no limit",
        alias="maxOffsetsPerTrigger",
    )
    max_bytes_per_trigger: int = setting(
        "maxBytesPerTrigger", 0, _at_least(0), "most payload bytes of a micro-batch; 0: no limit", unit="bytes"
    )
    min_partitions: int = setting(
        "minPartitions", 0, integer(0), "partitions at least, where there are as many entries; 0: up to 16 of 8 MiB"
    )
    max_bytes_per_partition: int = setting(
        "maxBytesPerPartition", 64 << 20, _at_least(1), "a partition that would be larger is split", unit="bytes"
    )
    include_payload: bool = setting(
        "includePayload", True, BOOLEAN, "give the column payload; false: nothing is fetched that is not needed"
    )
    include_metadata: bool = setting(
        "includeMetadata", False, BOOLEAN, "give columns last_add_confirmed, ctime and custom_metadata"
    )
    decrypt: bool = setting(
        "decrypt", True, BOOLEAN,
        "decrypt the entries of encrypted ledgers; false: payloads as bookies have them, which needs no key",
    )  # fmt: skip
    read_timeout_ms: int = setting("readTimeoutMs", 5000, integer(1), "time for a bookie to answer", unit="ms")

    def _check(self) -> None:
        super()._check()
        if not self.metadata_service_uri:
            raise ConfigError("option metadataServiceUri is missing, for example zk+hierarchical://host:2181/ledgers")
        chosen = [key for name, key in _SELECTIONS.items() if getattr(self, name)]
        if len(chosen) > 1:
            raise ConfigError(f"options {' and '.join(chosen)} exclude each other")
        self._check_offsets()
        if not chosen and self.view == "entries":
            raise ConfigError(f"one of the options {', '.join(_SELECTIONS.values())} is missing")

    def _check_offsets(self) -> None:
        starting, ending = self.starting_offsets, self.ending_offsets
        if isinstance(starting, str) or isinstance(ending, str) or starting is None:
            return
        for ledger_id in sorted(starting.keys() & ending.keys()):
            if starting[ledger_id] > ending[ledger_id]:
                raise ConfigError(
                    f"option endingOffsets is {ending[ledger_id]} for ledger {ledger_id}, before option "
                    f"startingOffsets with {starting[ledger_id]}"
                )


_SELECTIONS = {
    "ledger": "ledger", "ledgers": "ledgers", "ledgers_pattern": "ledgersPattern",
    "ledgers_of_manifest": "ledgersOfManifest", "manifest": "manifest",
}  # fmt: skip


@attrs.frozen(kw_only=True)
class WriteOptions(_Limits):
    """The options of a write, without the options that configure the client."""

    metadata_service_uri: str = setting("metadataServiceUri", "", TEXT, "where the metadata of the cluster are")
    manifest: str = setting(
        "manifest", "", TEXT, "name under which ledgers are published; default: the id of the query"
    )
    write_id: str = setting(
        "writeId", "", TEXT, "makes a batch write repeatable: what was published under the same id is not written again"
    )
    ensemble_size: int = setting("ensembleSize", 3, integer(1), "bookies of a ledger")
    write_quorum: int = setting(
        "writeQuorum",
        3,
        integer(1),
        "bookies that get each entry; fewer than ensembleSize are slower to read",
    )
    ack_quorum: int = setting(
        "ackQuorum", 2, integer(1), "bookies that have an entry on disk when it counts as written"
    )
    restore: bool = setting(
        "restore", False, BOOLEAN, "rows are from an archive: write them under their own ledger and entry ids"
    )
    max_open_ledgers: int = setting(
        "maxOpenLedgers", 1000, integer(1), "most different values of ledger_key in one partition"
    )

    def _check(self) -> None:
        super()._check()
        if not self.metadata_service_uri:
            raise ConfigError("option metadataServiceUri is missing, for example zk+hierarchical://host:2181/ledgers")
        if not self.ensemble_size >= self.write_quorum >= self.ack_quorum:
            raise ConfigError("options ensembleSize >= writeQuorum >= ackQuorum does not hold")


C = TypeVar("C", bound=Config)


class Secret:
    """A password, which repr() and str() of this object do not show."""

    __slots__ = ("value",)

    def __init__(self, value: bytes) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "Secret(...)"


@attrs.frozen
class SourceOptions:
    """All options of the source, parsed.

    :ivar client: configuration of the client; a read uses only its metadata store, time-outs and protocol version.
    :ivar password: password of the ledgers to read.
    """

    reading: ReadOptions
    client: ClientConfig = attrs.field(repr=False)
    password: Secret

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Parse the ``options`` of a source that Spark passes; the case of their names does not matter.

        :raises ConfigError: an option is missing, wrong, or unknown.
        """
        own, client, password, _ = _split(options)
        for key in _SELECTIONS.values():
            # an empty value is an error: otherwise the whole cluster would be read by mistake
            if not own.get(key.lower(), key).strip():
                raise ConfigError(f"option {key} is empty")
        return cls(_loaded(ReadOptions, own), client, password)


@attrs.frozen
class SinkOptions:
    """All options of the sink, parsed.

    :ivar digest_type: digest type of the ledgers that the sink creates.
    """

    writing: WriteOptions
    client: ClientConfig = attrs.field(repr=False)
    password: Secret
    digest_type: DigestType

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Parse the ``options`` of a sink that Spark passes; the case of their names does not matter.

        :raises ConfigError: an option is missing, wrong, or unknown.
        """
        own, client, password, digest_type = _split(options)
        return cls(_loaded(WriteOptions, own), client, password, digest_type)


def _split(options: Mapping[str, str]) -> tuple[dict[str, str], ClientConfig, Secret, DigestType]:
    """Split Spark's options into options of this source (keys in lower case), client, password and digest type."""
    given = {key.lower(): value for key, value in options.items() if key.lower() not in _SPARK_OWN}
    password = Secret(_password(given).encode())
    try:
        digest_type = digest_type_of(given.pop(_DIGEST, DigestType.CRC32C.name).strip().upper())
    except IncorrectParameterError as error:
        raise ConfigError(f"option bookkeeper.digestType: {error}") from None
    own = {key: value for key, value in given.items() if not key.startswith(PREFIX)}
    client = {key.removeprefix(PREFIX): value for key, value in given.items() if key.startswith(PREFIX)}
    return own, _loaded(ClientConfig, client, PREFIX), password, digest_type


def _password(given: dict[str, str]) -> str:
    """Remove the ledgers' password from the options in ``given`` (keys in lower case); return it, or an empty string.
    """
    found = [given.pop(key) for key in _PASSWORDS if key in given]
    if len(found) > 1:
        raise ConfigError(f"options {' and '.join(_PASSWORDS)} are two names of one option: set one of them")
    return found[0] if found else ""


def without_password(options: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return a copy of ``options`` without the ledgers' password, and the password; ignore the case of keys.

    :raises ConfigError: the options contain the password under both of its names.
    """
    found = {key.lower(): value for key, value in options.items() if key.lower() in _PASSWORDS}
    return {key: value for key, value in options.items() if key.lower() not in _PASSWORDS}, _password(found)


def client_config(options: Mapping[str, str] | None) -> ClientConfig:
    """Return the configuration of the client from the options of a source or a sink.

    :param options: options of a source or sink, of which only keys that begin with ``bookkeeper.`` are used; None for
        the defaults.
    :raises ConfigError: an option whose key begins with ``bookkeeper.`` is unknown or wrong.
    """
    given = {key: value for key, value in (options or {}).items() if key.lower().startswith(PREFIX)}
    return _split(given)[1]


def _loaded(config: type[C], given: Mapping[str, str], prefix: str = "") -> C:
    spelling = _spelling(config)
    settings: list[Setting] = []
    for key, value in given.items():
        if key not in spelling:
            raise ConfigError(_unknown(config, key, prefix))
        settings += from_options({spelling[key]: value})
    try:
        return config.load(settings)
    except ConfigError as error:
        raise ConfigError(str(error).replace("option --", "option " + prefix)) from None


def _spelling(config: type[Config]) -> dict[str, str]:
    """Map each key of a configuration class, in lower case, to its usual spelling."""
    return {key.lower(): key for field in fields_of(config).values() for key in (field.key, field.alias) if key}


_PURPOSES = {ReadOptions: "reading", WriteOptions: "writing"}


def _unknown(config: type[Config], key: str, prefix: str) -> str:
    for other, purpose in _PURPOSES.items():
        if config in _PURPOSES and key in (known := _spelling(other)):
            return f"option {known[key]} is for {purpose} only"
    spelling = _spelling(config)
    similar = get_close_matches(key, spelling, 1)
    return f"option {prefix}{key} is unknown" + (f"; did you mean {prefix}{spelling[similar[0]]}?" if similar else "")
