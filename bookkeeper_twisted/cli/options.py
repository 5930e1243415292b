"""The command line of ``twistd bookie``: text to configurations.  It opens the ``--conf`` file, nothing else."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import attrs
from twisted.python import usage

from ..config.bookie import BookieConfig
from ..config.fields import Field, Setting, fields_of, from_environment, from_file, from_options
from ..errors import ConfigError

_FIELDS = fields_of(BookieConfig)
_DATA = "option --data"


def _describe(field: Field) -> str:
    default = " ".join(part for part in (field.default, field.unit) if part)
    return f"{field.help} [default: {default}]" if default else field.help


class Options(usage.Options):
    """Options of one bookie, or of a standalone cluster.

    :ivar environ: where ``BK_<key>`` is looked up.
    :ivar configs: what was asked for, one configuration a bookie, once parsed.
    """

    synopsis = "[--conf FILE] [--data DIR] [--standalone N] [--<key> VALUE ...]"
    longdesc = (
        "Runs a bookie.  Values come from, in rising priority: defaults, the file (keys of bk_server.conf), "
        "the environment (BK_<key>) and the command line (--<key> VALUE)."
    )
    optParameters = [
        ["conf", "c", None, "configuration file, as Apache's bk_server.conf"],
        ["data", None, None, "one directory for everything: journal in DIR/journal, entries in DIR/ledgers"],
        ["standalone", None, None, "run this many bookies on embedded metadata in one process, below --data"],
        *([f.key, None, None, _describe(f)] for f in _FIELDS.values()),
    ]

    environ: Mapping[str, str] = os.environ
    configs: Sequence[BookieConfig] = ()

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Parses, or ends the process with one line and status 1.

        twistd would answer a :class:`~twisted.python.usage.UsageError` with pages of help and status 0.
        """
        try:
            super().parseOptions(options)
        except usage.UsageError as error:
            _refuse(error)

    def postOptions(self) -> None:
        """Builds :attr:`configs`."""
        try:
            config = BookieConfig.load(*self._sources())
            count = self["standalone"]
            self.configs = [config] if count is None else self._standalone(config, count)
        except ConfigError as error:
            raise usage.UsageError(str(error)) from None

    def _sources(self) -> list[list[Setting]]:
        given = {f.key: self[f.key] for f in _FIELDS.values() if self[f.key] is not None}
        return [self._file(), from_environment(self.environ), self._data(), from_options(given)]

    def _file(self) -> list[Setting]:
        name = self["conf"]
        if name is None:
            return []
        try:
            with open(name, encoding="utf-8") as file:
                return from_file(file.read(), name)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text file"
            raise ConfigError(f"option --conf: {name}: {reason}") from None

    def _data(self) -> list[Setting]:
        if self["data"] is None:
            return []
        base = os.path.abspath(self["data"])
        places = {"journalDirectories": "journal", "ledgerDirectories": "ledgers"}
        return [Setting(key, os.path.join(base, place), _DATA) for key, place in places.items()]

    def _standalone(self, config: BookieConfig, count: str) -> list[BookieConfig]:
        if not count.isdecimal() or not 1 <= int(count) <= 100:
            raise ConfigError(f"option --standalone: {count!r} is not a number from 1 to 100")
        if self["data"] is None:
            raise ConfigError("option --standalone: needs --data DIR")
        return standalone_configs(config, int(count), os.path.abspath(self["data"]))


def standalone_configs(config: BookieConfig, count: int, base: str) -> list[BookieConfig]:
    """The configurations of a cluster in one process.

    Bookie ``i`` listens on ``bookiePort + i`` and keeps everything in ``<base>/bookie-<i>``; metadata are
    in ``<base>/metadata.db`` unless ``metadataServiceUri`` was set.  Ports left to the system give no
    stable address, so such bookies get the ids ``bookie-<i>``.  The HTTP server is that of the first.

    :raises ConfigError: a value makes no sense for several bookies.
    """
    for name in ("bookie_id", "journal_directories", "ledger_directories", "index_directories"):
        if config.origins.get(name, _DATA) != _DATA:
            raise ConfigError(f"{_FIELDS[name].key}, {config.origin(name)}: cannot be set with --standalone")
    shared: dict[str, Any] = {"advertised_address": config.advertised_address or "127.0.0.1", "allow_loopback": True}
    if "metadata_service_uri" not in config.origins:
        shared["metadata_service_uri"] = f"sqlite:///{base}/metadata.db"
    return [attrs.evolve(config, **shared, **_own(config, i, os.path.join(base, f"bookie-{i}"))) for i in range(count)]


def _own(config: BookieConfig, index: int, directory: str) -> dict[str, Any]:
    ledgers = (os.path.join(directory, "ledgers"),)
    return {
        "bookie_port": config.bookie_port and config.bookie_port + index,
        "bookie_id": "" if config.bookie_port else f"bookie-{index}",
        "journal_directories": (os.path.join(directory, "journal"),),
        "ledger_directories": ledgers,
        "index_directories": ledgers,
        "http_server_enabled": config.http_server_enabled and index == 0,
    }


def _refuse(error: Exception) -> NoReturn:
    raise SystemExit(f"bookie: {error}")
