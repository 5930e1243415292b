"""The command line of ``twistd bookie``: text to configurations.  It opens the ``--conf`` file, nothing else."""

import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import NoReturn

from twisted.python import usage

from ..config.bookie import BookieConfig
from ..config.fields import Field, Setting, fields_of, from_environment, from_file, from_options
from ..config.groups import groups
from ..embedding.standalone import DATA_OPTION, standalone_configs
from ..errors import ConfigError

_FIELDS = fields_of(BookieConfig)
_OWN = 3
"""Options that are no keys come first."""

_INDENT = " " * 8
_WIDTH = 100


def _describe(field: Field) -> str:
    default = " ".join(part for part in (field.default, field.unit) if part)
    return f"{field.help} [default: {default}]" if default else field.help


def _option(key: str, text: str, width: int) -> list[str]:
    wrapped = textwrap.wrap(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False)
    return [f"  --{key}=", *wrapped]


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

    def getUsage(self, width: int | None = None) -> str:
        """The options by subject."""
        width = width or _WIDTH
        lines = [*textwrap.wrap(self.longdesc, width), "", "Options:"]
        for key, _, _, text in self.optParameters[:_OWN]:
            lines += _option(str(key), str(text), width)
        for group, fields in groups(BookieConfig).items():
            lines += ["", f"{group[0].upper()}{group[1:]}:"]
            for _, field in fields:
                lines += _option(field.key, _describe(field), width)
        return "\n".join(lines) + "\n"

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
        return [Setting(key, os.path.join(base, place), DATA_OPTION) for key, place in places.items()]

    def _standalone(self, config: BookieConfig, count: str) -> list[BookieConfig]:
        if not count.isdecimal() or not 1 <= int(count) <= 100:
            raise ConfigError(f"option --standalone: {count!r} is not a number from 1 to 100")
        if self["data"] is None:
            raise ConfigError("option --standalone: needs --data DIR")
        return standalone_configs(config, int(count), os.path.abspath(self["data"]))


def _refuse(error: Exception) -> NoReturn:
    raise SystemExit(f"bookie: {error}")
