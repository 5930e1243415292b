"""Computes how many bytes each ledger has in the entry logs of bookies, and how many a compaction would free.

Entry logs are read from a ledger directory on a disk that the tasks can read, or by the HTTP server of a bookie, given
as ``http://HOST:PORT`` or ``https://HOST:PORT``.  A complete entry log has a ledgers map, which contains the bytes of
each ledger.  If a log has no map, all its records are read.  Requests to bookies use the TLS settings, the certificate
and the token that the options of the client name.
"""

import json
import posixpath
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from ...config.client import ClientConfig
from ...errors import BookieHandleNotAvailableError, IncorrectParameterError, UnauthorizedAccessError
from ...limits.ratelimit import UNLIMITED, Rate
from ...storage.entry_log.format import HEADER_SIZE, decode_map, parse_header
from ...storage.entry_log.scan import LogScan
from ...storage.files.filesystem import RealFileSystem
from ...storage.ledger_dirs import current, entry_log_ids, entry_log_name
from ..options import client_config
from ..task.pacing import pace_of
from ..task.security import SecuritySettings, security_settings

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

Spend = Callable[[int, int], None]

_PAID_AT_ONCE = 1 << 20
"""Number of bytes of an entry log that are read before each wait for the speed limit."""

_USED = "array<struct<ledger_id:bigint,bytes:bigint>>"


def _unlimited(entries: int, n_bytes: int) -> None:
    """Return immediately; the default of ``spend``, for reads without a speed limit."""


_SCHEMES = ("http://", "https://")
_PATH = "/api/v1/bookie/entry_logs"
_OK, _REFUSED = 200, (401, 403)
_PATIENCE = 60.0
"""Seconds within which the HTTP server of a bookie must answer."""

_MOST_BYTES = 64 << 20
"""Maximum number of bytes of an answer of a bookie's HTTP server; enough for a log with two million ledgers."""


def entry_logs(
    spark: SparkSession, locations: Sequence[str], options: Mapping[str, str] | None = None
) -> DataFrame:  # fmt: skip
    """List entry logs; return rows with columns ``directory``, ``log_id`` and ``file_bytes``.

    :param locations: ledger directories, or ``http://HOST:PORT`` or ``https://HOST:PORT`` for all directories of a
        bookie.  If a URL is given, the column ``directory`` contains the URL followed by the path of the directory.
    :param options: settings of the client: options of the source whose keys begin with ``bookkeeper.``.
    :raises BookieHandleNotAvailableError: a bookie does not answer, or one side does not trust the other side's
        certificate.
    :raises UnauthorizedAccessError: a bookie needs a certificate or a token.
    :raises IncorrectParameterError: the ledger directory does not exist.
    """
    security = security_settings(client_config(options))
    rows = []
    for location in locations:
        is_bookie = location.startswith(_SCHEMES)
        rows += _logs_of_bookie(location.rstrip("/"), security) if is_bookie else _logs_of_directory(location)
    return spark.createDataFrame(rows, "directory STRING, log_id BIGINT, file_bytes BIGINT")


def _logs_of_directory(directory: str) -> list[tuple[str, int, int]]:
    fs = RealFileSystem()
    if not fs.exists(current(directory)):
        raise IncorrectParameterError(f"{directory} is no ledger directory: it has no directory current")
    rows = []
    for log_id in entry_log_ids(fs, current(directory)):
        file = fs.open(posixpath.join(current(directory), entry_log_name(log_id)))
        rows.append((directory, log_id, file.size()))
        file.close()
    return rows


def _logs_of_bookie(address: str, security: SecuritySettings) -> list[tuple[str, int, int]]:
    logs = _asked(address + _PATH, security)
    return [(address + each["directory"], each["logId"], each["fileBytes"]) for each in logs]


def _asked(url: str, security: SecuritySettings) -> Any:
    """Send a GET request to the HTTP server of a bookie; return the parsed JSON of the answer.

    :param security: settings of TLS and of authentication.
    :raises BookieHandleNotAvailableError: no answer came, or the answer is an error.
    :raises UnauthorizedAccessError: the bookie needs a certificate or a token, or has refused them.
    """
    # imported here, so that tasks that read directories do not load Twisted
    from ...cli.http_requests import send
    from ..reactor import THREAD

    config = ClientConfig(**cast(Any, dict(security)))
    try:
        status, answer = THREAD.wait(lambda: send(THREAD.reactor, "GET", url, b"", config, _PATIENCE, _MOST_BYTES))
    except OSError as error:
        text = str(error)
        raise BookieHandleNotAvailableError(text if url in text else f"{url}: {text}") from None
    text = f"{url}: {_reason(answer) or f'status {status}'}"
    if status in _REFUSED:
        raise UnauthorizedAccessError(detail=text)
    try:
        if status == _OK:
            return json.loads(answer)
    except ValueError:
        text = f"{url}: its answer is no JSON"
    raise BookieHandleNotAvailableError(text)


def _reason(answer: bytes) -> str:
    """Return the reason in the JSON answer of a server that refuses a request, or else the whole answer."""
    text = answer.decode("utf-8", "replace").strip()
    try:
        return str(json.loads(text)["reason"])
    except (ValueError, TypeError, KeyError):
        return text


def used_in(
    directory: str, log_id: int, spend: Spend = _unlimited, security: SecuritySettings = ()
) -> dict[int, int]:  # fmt: skip
    """Return, by ledger id, the total size of each ledger's entries in one entry log, length fields included.

    :param directory: value of the column ``directory`` in the rows of :func:`entry_logs`: a path or a URL.
    :param spend: called with the numbers of entries and bytes read; it blocks until the speed limit permits more.
    :param security: settings of TLS and of authentication for requests to the HTTP server of a bookie.
    """
    if directory.startswith(_SCHEMES):
        url = urlsplit(directory)
        query = urlencode({"directory": url.path, "log_id": log_id})
        return {int(ledger): n for ledger, n in _asked(f"{url.scheme}://{url.netloc}{_PATH}?{query}", security).items()}
    fs = RealFileSystem()
    path = posixpath.join(current(directory), entry_log_name(log_id))
    with closing(fs.open(path)) as file:
        size = file.size()
        header = parse_header(file.pread(HEADER_SIZE, 0), path) if size >= HEADER_SIZE else None
        if header is not None and header.map_offset:
            mapped = decode_map(file.pread(size - header.map_offset, header.map_offset), header.map_ledgers)
            if mapped is not None:
                spend(0, size - header.map_offset)
                return mapped
    used: Counter[int] = Counter()
    read = records = 0
    for record in LogScan(fs, current(directory), log_id):
        records, read = records + 1, read + record.size
        if read >= _PAID_AT_ONCE:
            spend(records, read)
            records = read = 0
        if record.ledger_id >= 0:
            used[record.ledger_id] += record.size
    spend(records, read)
    return dict(used)


def usage(
    logs: DataFrame, parallelism: int = 8, limit: Rate = UNLIMITED, options: Mapping[str, str] | None = None
) -> DataFrame:  # fmt: skip
    """Return the total size in bytes of each ledger's entries in each entry log.

    Columns: ``directory``, ``log_id``, ``file_bytes``, ``ledger_id`` and ``bytes``.

    :param logs: rows that :func:`entry_logs` returned.
    :param parallelism: tasks that run at a time; each gets an equal share of the limit.
    :param limit: maximum number of entries and bytes a second that all tasks together read.
    :param options: settings of the client: options of the source whose keys begin with ``bookkeeper.``.
    """
    share, security = limit * (1 / parallelism), security_settings(client_config(options))

    def read(row: Any) -> list[tuple[int, int]]:
        return sorted(used_in(row.directory, row.log_id, pace_of("usage", share).spend, security).items())

    spread = logs.repartition(parallelism, "directory", "log_id")
    found = f.udf(read, _USED, useArrow=False)(f.struct("directory", "log_id"))
    return spread.withColumn("used", f.explode(found)).select("directory", "log_id", "file_bytes", "used.*")


def by_ledger(used: DataFrame) -> DataFrame:
    """Sum up the size of each ledger's entries in all entry logs; return the largest ledger first.

    Columns: ``ledger_id``, ``bytes`` and ``logs``, the number of entry logs with entries of the ledger.

    :param used: a row for each entry log and ledger, with columns ``ledger_id`` and ``bytes`` at least.
    """
    totals = (f.sum("bytes").alias("bytes"), f.count("*").alias("logs"))
    return used.groupBy("ledger_id").agg(*totals).orderBy(f.desc("bytes"), "ledger_id")


def compaction_plan(used: DataFrame, ledgers: DataFrame, thresholds: Sequence[float] = THRESHOLDS) -> DataFrame:
    """Compute, for each threshold, how many bytes a compaction of entry logs would free, and how many it would copy.

    An entry log is compacted if the ratio of bytes of existing ledgers to all its bytes is below the threshold.

    :param used: rows that :func:`usage` returned.
    :param ledgers: the existing ledgers, in column ``ledger_id``; bytes of other ledgers are garbage.
    :returns: columns ``threshold``; ``logs``, the number of logs to compact or delete; ``won``, the number of bytes of
        garbage in these logs; ``copied``, the number of bytes of existing ledgers in these logs.
    """
    alive = ledgers.select("ledger_id").distinct().withColumn("alive", f.lit(1))
    logs = (
        used.join(alive, "ledger_id", "left")
        .groupBy("directory", "log_id")
        .agg(f.sum("bytes").alias("bytes"), f.sum(f.expr("IF(alive = 1, bytes, 0)")).alias("live"))
    )
    each = logs.withColumn("threshold", f.explode(f.array(*[f.lit(float(x)) for x in thresholds])))
    chosen = each.where("live < threshold * bytes")
    sums = (f.count("*").alias("logs"), f.sum(f.expr("bytes - live")).alias("won"), f.sum("live").alias("copied"))
    return chosen.groupBy("threshold").agg(*sums).orderBy("threshold")
