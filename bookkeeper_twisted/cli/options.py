"""The command lines of ``twistd bookie`` and ``twistd autorecovery``, parsed into configurations.

Parsing opens the ``--conf`` file and no other.
"""

import itertools
import linecache
import os
import re
import stat
import sys
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from twisted.python import usage

import twisted

from .. import __version__
from ..config.autorecovery import AutorecoveryConfig
from ..config.bookie import BookieConfig
from ..config.client import ClientConfig
from ..config.fields import Field, Setting, fields_of, from_environment, from_file, from_options
from ..config.http import HttpConfig
from ..config.metadata import MetadataConfig
from ..config.settings import Config
from ..embedding.standalone import DATA_OPTION, standalone_configs
from ..errors import ConfigError
from .ending import ended_by_signal, show

_FIELDS = fields_of(BookieConfig)

ELSE = "general"
PROTECTION = "protection"
ZOOKEEPER = "ZooKeeper"

_LONGEST_FILE = 16 << 20
"""Maximum number of characters of a configuration file.  Without a limit, ``/dev/zero`` would fill the memory."""

_INDENT = " " * 8
_WIDTH = 100


def groups(config: type) -> dict[str, list[tuple[str, Field]]]:
    """Map each group of keys of a configuration class to the attribute names and the fields of these keys.

    First come the groups that only this class has, then those of HTTP and autorecovery, last those that every
    configuration class has.

    :param config: the class.  A group begins with a comment ``# -- name --`` in the source code of the class.
    """
    found: dict[str, list[tuple[str, Field]]] = {}
    common, shared = fields_of(Config), fields_of(MetadataConfig)
    of_bookies = issubclass(config, HttpConfig)
    inherited = {**_groups_of(HttpConfig), **_groups_of(AutorecoveryConfig)} if of_bookies else {}
    group_of = {**inherited, **_groups_of(config)}
    for attribute, field in fields_of(config).items():
        group = PROTECTION if attribute in common else ZOOKEEPER if attribute in shared else group_of[attribute]
        found.setdefault(group, []).append((attribute, field))
    for group in (*dict.fromkeys(inherited.values()), PROTECTION, ZOOKEEPER):
        # Move the groups of the base classes to the end: attrs lists their fields before those of the class itself.
        if group in found:
            found[group] = found.pop(group)
    return found


def _groups_of(config: type) -> dict[str, str]:
    """Map each attribute that a class declares to the name of its group, from comments in the class's source code."""
    group, group_of = ELSE, {}
    for line in _source(config):
        if heading := re.match(r"\s+# -- (.*) --$", line):
            group = heading[1]
        elif declared := re.match(r"    (\w+): ", line):
            group_of[declared[1]] = group
    return group_of


def _source(config: type) -> list[str]:
    """Return the lines of a class at the top level of its module.

    ``inspect.getsource`` takes some 10 ms for each of these classes, because it parses the modules.  A bookie needs the
    names of its options for every start.
    """
    lines = linecache.getlines(str(sys.modules[config.__module__].__file__))
    start = next(number for number, line in enumerate(lines) if re.match(rf"class {config.__name__}\b", line)) + 1
    return [*itertools.takewhile(lambda line: line[0].isspace() or line.startswith(")"), lines[start:])]


def _describe(field: Field) -> str:
    default = " ".join(part for part in (field.default, field.unit) if part)
    return f"{field.help} [default: {default}]" if default else field.help


def _option(key: str, text: str, width: int) -> list[str]:
    wrapped = textwrap.wrap(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False)
    return [f"  --{key}=", *wrapped]


def _keys(config: type) -> frozenset[str]:
    return frozenset(key for field in fields_of(config).values() for key in (field.key, field.alias) if key)


_BOOKIE_KEYS, _CLIENT_KEYS, _AUTORECOVERY_KEYS = map(_keys, (BookieConfig, ClientConfig, AutorecoveryConfig))


def _only(keys: Collection[str], sources: Iterable[Iterable[Setting]]) -> list[list[Setting]]:
    return [[given for given in source if given.key in keys] for source in sources]


class ConfigOptions(usage.Options):
    """The command line of a program that has an option for each configuration key.

    :cvar program: name of the program in messages.
    :cvar sections: maps the title of each section of ``--help`` to the configuration keys in the section.
    :ivar environ: environment variables; ``BK_<key>`` sets the key.
    """

    program = ""
    longdesc = ""
    optParameters: Sequence[Sequence[Any]] = ()
    sections: Mapping[str, Sequence[Field]] = {}
    environ: Mapping[str, str] = os.environ
    _was_read = False
    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Parse the ``options``; after an error, print one line and end the process with status 1.

        For a :class:`~twisted.python.usage.UsageError`, twistd would print pages of help and end with status 0.
        """
        try:
            with ended_by_signal():  # with --help, this call prints the help and ends the process
                super().parseOptions(options)
        except usage.UsageError as error:
            _refuse(self.program, error)

    def opt_version(self) -> NoReturn:
        """Print the versions of this package and of Twisted; Twisted itself would print only its own."""
        show(f"bookkeeper-twisted {__version__}, Twisted {twisted.__version__}")
        raise SystemExit(0)

    def opt_help(self) -> NoReturn:
        """Display this help and exit."""
        show(str(self).rstrip())
        raise SystemExit(0)

    def getUsage(self, width: int | None = None) -> str:
        """Return the text of ``--help``, with the options in sections.

        :param width: columns of the text; None for the usual width.
        """
        width = width or _WIDTH
        lines = [*textwrap.wrap(self.longdesc, width), "", "Options:"]
        for key, _, _, text in self.optParameters:
            if key not in _BOOKIE_KEYS | _CLIENT_KEYS:
                lines += _option(str(key), str(text), width)
        for section, fields in self.sections.items():
            lines += ["", f"{section[0].upper()}{section[1:]}:"]
            for field in fields:
                lines += _option(field.key, _describe(field), width)
        return "\n".join(lines) + "\n"

    def sources(self) -> list[list[Setting]]:
        """Return the settings from file, environment and command line, in rising priority."""
        given = {f.key: self[f.key] for fields in self.sections.values() for f in fields if self[f.key] is not None}
        return [self._file(), from_environment(self.environ), from_options(given)]

    def _file(self) -> list[Setting]:
        name = self["conf"]
        if name is None:
            return []
        path, is_first, self._was_read = self._absolute("conf"), not self._was_read, True
        try:
            # A pipe cannot be read a second time: open() would block until another process writes to the pipe.
            if not is_first and stat.S_ISFIFO(os.stat(path).st_mode):
                raise ConfigError(f"option --conf: {name}: a pipe cannot be read again")
            with open(path, encoding="utf-8") as file:
                text = file.read(_LONGEST_FILE + 1)
            if len(text) > _LONGEST_FILE:
                raise ConfigError(f"option --conf: {name}: longer than {_LONGEST_FILE >> 20} MiB")
            return from_file(text, name)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text file"
            raise ConfigError(f"option --conf: {name}: {reason}") from None

    def _absolute(self, option: str) -> str:
        """Return the absolute path that an ``option`` names, relative to the directory in which the process started.

        The path is computed once, because twistd changes the directory later (``--rundir``), and SIGHUP makes the
        process read its settings again.
        """
        paths: dict[str, str] = self.__dict__.setdefault("_paths", {})
        return paths.setdefault(option, os.path.abspath(self[option]))

    def client_config(self) -> ClientConfig:
        """Return the client configuration, made from all settings whose key is a key of a client."""
        return ClientConfig.load(*_only(_CLIENT_KEYS, self.sources()))


_BOOKIE_SECTIONS = {name: [field for _, field in fields] for name, fields in groups(BookieConfig).items()}


class Options(ConfigOptions):
    """The command line of ``twistd bookie``, for one bookie or for a standalone cluster.

    :ivar configs: the parsed configurations, one for each bookie.
    :ivar client: client configuration of autorecovery, if autorecovery runs in the bookie's process.
    """

    program = "bookie"
    sections = _BOOKIE_SECTIONS
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

    configs: Sequence[BookieConfig] = ()
    client = ClientConfig()

    def postOptions(self) -> None:
        """Build :attr:`configs` and :attr:`client` from the settings; Twisted calls this after parsing."""
        try:
            self.configs, self.client = self._load()
        except ConfigError as error:
            raise usage.UsageError(str(error)) from None

    def read(self) -> tuple[BookieConfig, ClientConfig]:
        """Read the settings again, and return the configurations of the bookie and of the client.

        If this process runs several bookies, the result has the configuration of the first.

        :raises ConfigError: a value is invalid, or the file cannot be read.
        """
        configs, client = self._load()
        return configs[0], client

    def _load(self) -> tuple[Sequence[BookieConfig], ClientConfig]:
        sources, client = self.sources(), ClientConfig()
        if AutorecoveryConfig.load(*_only(_AUTORECOVERY_KEYS, sources)).auto_recovery_daemon_enabled:
            client = self.client_config()
            sources = [[s for s in given if s.key not in _CLIENT_KEYS - _BOOKIE_KEYS] for given in sources]
        config = BookieConfig.load(*sources)
        count = self["standalone"]
        return [config] if count is None else self._standalone(config, count), client

    def sources(self) -> list[list[Setting]]:
        """Return the settings in rising priority: file, environment, ``--data``, other options."""
        *others, options = super().sources()
        return [*others, self._data(), options]

    def _data(self) -> list[Setting]:
        if self["data"] is None:
            return []
        base = self._absolute("data")
        names = {"journalDirectories": "journal", "ledgerDirectories": "ledgers"}
        return [Setting(key, os.path.join(base, name), DATA_OPTION) for key, name in names.items()]

    def _standalone(self, config: BookieConfig, count: str) -> list[BookieConfig]:
        if not (count.isascii() and count.isdecimal()) or not 1 <= int(count) <= 100:
            raise ConfigError(f"option --standalone: {count!r} is not a number from 1 to 100")
        if self["data"] is None:
            raise ConfigError("option --standalone: needs --data DIR")
        return standalone_configs(config, int(count), self._absolute("data"))


_CLIENT_SECTIONS = {
    f"client: {name}": [field for _, field in fields if field.key not in _BOOKIE_KEYS]
    for name, fields in groups(ClientConfig).items()
}
_SHARED_SECTIONS = ("address and identity", "metadata", "HTTP", "HTTP over TLS", "log", *groups(AutorecoveryConfig))


class AutorecoveryOptions(ConfigOptions):
    """The command line of ``twistd autorecovery``, for autorecovery in a process of its own.

    :ivar config: configuration of a bookie on this machine; autorecovery uses only a part of its keys.
    :ivar client: configuration of the client that auditor and replication worker use.
    """

    program = "autorecovery"
    sections = {
        **{name: _BOOKIE_SECTIONS[name] for name in _SHARED_SECTIONS},
        **{name: fields for name, fields in _CLIENT_SECTIONS.items() if fields},
    }
    synopsis = "[--conf FILE] [--<key> VALUE ...]"
    longdesc = (
        "Runs an auditor and a replication worker.  The file may be that of a bookie of this machine: keys of "
        "bk_server.conf that are not listed here are left alone.  Values come from, in rising priority: defaults, the "
        "file, the environment (BK_<key>) and the command line (--<key> VALUE)."
    )
    optParameters = [
        ["conf", "c", None, "configuration file, as Apache's bk_server.conf"],
        *([f.key, None, None, _describe(f)] for fields in sections.values() for f in fields),
    ]

    config = BookieConfig()
    client = ClientConfig()

    def postOptions(self) -> None:
        """Build :attr:`config` and :attr:`client` from the settings; Twisted calls this after parsing."""
        try:
            self.config, self.client = self.read()
        except ConfigError as error:
            raise usage.UsageError(str(error)) from None

    def read(self) -> tuple[BookieConfig, ClientConfig]:
        """Read the settings, and return the configurations of autorecovery and of its client.

        :raises ConfigError: a value is invalid, or the file cannot be read.
        """
        own = [[s for s in given if s.key not in _CLIENT_KEYS - _BOOKIE_KEYS] for given in self.sources()]
        return BookieConfig.load(*own), self.client_config()


def _refuse(program: str, error: Exception) -> NoReturn:
    raise SystemExit(f"{program}: {error}")
