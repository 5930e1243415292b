"""The building blocks of configuration classes: value types, declared fields, and settings with their origins.

A configuration class declares each field once, with :func:`setting`.  The declaration contains the key (Apache's name
if Apache has the key), the :class:`Kind` of its values (a parser and a check), its default and one line of help.
Parsing, checks, ``--help`` and the reference page of the documentation use this declaration.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

import attrs

from ..errors import ConfigError
from ..masking import MASK, without_credentials
from .properties import read_properties

T = TypeVar("T")
_FIELD = "bookkeeper_twisted.field"

BACKGROUND, DISKS, LOG, REPLICATION = "background work", "disk checks", "log", "autorecovery"
REQUESTS = "log of slow requests"
"""The values of :attr:`Field.live`: names of the parts of a process that apply new configuration values at run time."""


@attrs.frozen
class Kind(Generic[T]):
    """A type of configuration values with a parser and a check, for example integers in a range.

    :ivar name: name of the type for users, including its limits.
    :ivar parse: converts text to a value; raises :class:`ValueError` with the reason.
    :ivar check: raises :class:`ValueError` if a value is outside its limits.
    :ivar types: the Python classes that a value may have; empty if values are always parsed from text.
    """

    name: str
    parse: Callable[[str], T]
    check: Callable[[T], None] = lambda value: None
    types: tuple[type, ...] = ()

    def verify(self, value: T) -> None:
        """Check the type and the limits of a ``value`` that was passed as an object, not parsed from text.

        :raises ValueError: the type is wrong, or :attr:`check` refuses the value.
        """
        fits = isinstance(value, self.types) and (not isinstance(value, bool) or bool in self.types)
        if self.types and not fits:
            wanted = " or ".join(kind.__name__ for kind in self.types)
            raise ValueError(f"{type(value).__name__} was given, {wanted} is wanted")
        self.check(value)


@attrs.frozen
class Field:
    """The declaration of one key of a configuration.

    :ivar key: name in files, in the environment (after ``BK_``) and on the command line (after ``--``).
    :ivar default: default value, as text.
    :ivar unit: unit of the value; may be empty.
    :ivar java: the default of Apache BookKeeper, as text, if it differs from ``default``; otherwise empty.
    :ivar alias: an older name of the key, which is also accepted.
    :ivar secret: whether the value must never be shown or logged.
    :ivar live: name of the part of the process that applies a new value at run time; empty if a restart is needed.
    """

    key: str
    kind: Kind[Any]
    default: str
    help: str
    unit: str = ""
    java: str = ""
    alias: str = ""
    secret: bool = False
    live: str = ""

    def shown(self, value: object) -> str:
        """Return a ``value``, parsed or as text, in a form that may be shown and logged.

        Secrets and the credentials in URIs are masked.
        """
        text = as_text(value)
        return MASK if self.secret and text else without_credentials(text)


def setting(
    key: str, default: Any, kind: Kind[Any], help: str, *, unit: str = "", java: str = "", alias: str = "",
    default_text: str | None = None, secret: bool = False, live: str = "",
) -> Any:  # fmt: skip
    """Declare a field of a configuration class; :class:`Field` describes the arguments not listed here.

    :param key: name of the key.
    :param default: the default value, or an :class:`attrs.Factory`.
    :param default_text: text that describes the default, if ``default`` is an :class:`attrs.Factory`.
    """
    text = default_text if default_text is not None else as_text(default)
    field = Field(key, kind, text, help, unit, java, alias, secret, live)
    return attrs.field(default=default, metadata={_FIELD: field}, repr=partial(_represent, field))


def _represent(field: Field, value: object) -> str:
    text = field.shown(value)
    return repr(value) if text == as_text(value) else repr(text)


def fields_of(config: type) -> dict[str, Field]:
    """Return the fields of a configuration class by attribute name, in the order of declaration.

    :param config: a class whose fields were declared with :func:`setting`.
    """
    return {a.name: a.metadata[_FIELD] for a in attrs.fields(config) if _FIELD in a.metadata}


def as_text(value: object) -> str:
    """Return a parsed ``value`` as text, in the format of configuration files."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


# ---- kinds -------------------------------------------------------------------------------------------

_TRUE = frozenset({"true", "yes", "on", "t", "y"})
_FALSE = frozenset({"false", "no", "off", "f", "n"})
_LARGEST = 2**63 - 1
_BASES = {"0x": 16, "0b": 2}


def _parse_boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("expected true or false")
    return word in _TRUE


def _parse_integer(text: str) -> int:
    digits = _digits(text, "expected an integer")
    try:
        value = int(digits, _BASES.get(digits[:2], 10))
    except ValueError:
        raise ValueError("expected an integer") from None
    if not -_LARGEST - 1 <= value <= _LARGEST:
        raise ValueError("expected an integer of 64 bits")
    return value


def _digits(text: str, wanted: str) -> str:
    """Strip the text of a number and change it to lower case, so that it can be parsed.

    Underscores and the digits of other scripts are refused, because Python's ``int()`` would accept them.

    :param wanted: the message of the error, for example that a number is expected.
    :raises ValueError: the text contains underscores, or is not ASCII.
    """
    if "_" in text or not text.isascii():
        raise ValueError(wanted)
    return text.strip().lower()


def _parse_decimal(text: str) -> float:
    try:
        return float(_digits(text, "expected a number"))
    except ValueError:
        raise ValueError("expected a number") from None


def _range(low: float, high: float | None) -> Callable[[float], None]:
    wanted = f"must be at least {low}" if high is None else f"must be from {low} to {high}"

    def check(value: float) -> None:
        # "not (low <= value)" also refuses NaN, because every comparison with NaN is false; infinity is refused, too.
        if not (low <= value < math.inf and (high is None or value <= high)):
            raise ValueError(wanted)

    return check


def _bounds(low: float, high: float | None) -> str:
    return f"from {low}" if high is None else f"{low} to {high}"


def integer(low: int, high: int | None = None) -> Kind[int]:
    """Return a :class:`Kind` for integers from ``low`` to ``high`` (inclusive); None means no upper limit."""
    return Kind(f"integer, {_bounds(low, high)}", _parse_integer, _range(low, high), (int,))


def decimal(low: float, high: float | None = None) -> Kind[float]:
    """Return a :class:`Kind` for decimal numbers from ``low`` to ``high`` (inclusive); None means no upper limit."""
    return Kind(f"number, {_bounds(low, high)}", _parse_decimal, _range(low, high), (float, int))


def _check_fraction(value: float) -> None:
    if not 0 < value < 1:
        raise ValueError("must be between 0 and 1")


FRACTION: Kind[float] = Kind("number between 0 and 1", _parse_decimal, _check_fraction, (float, int))


def one_of(*words: str) -> Kind[str]:
    """Return a :class:`Kind` for values that must be one of ``words``, in upper or lower case."""

    def check(value: str) -> None:
        if value not in words:
            raise ValueError("expected one of " + ", ".join(words))

    return Kind(" | ".join(words), lambda text: text.strip().lower(), check, (str,))


def _parse_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def some_of(*words: str) -> Kind[tuple[str, ...]]:
    """Return a :class:`Kind` for comma-separated lists that contain only ``words``, in upper or lower case."""

    def check(value: tuple[str, ...]) -> None:
        if not value or set(value) - set(words) or len(set(value)) != len(value):
            raise ValueError(f"expected one or more of {', '.join(words)}, separated by commas, each once")

    return Kind(f"{' | '.join(words)}, separated by commas", lambda text: _parse_list(text.lower()), check, (tuple,))


def _check_directories(paths: tuple[str, ...]) -> None:
    if len(set(paths)) != len(paths):
        raise ValueError("a directory is named twice")


BOOLEAN: Kind[bool] = Kind("true | false", _parse_boolean, types=(bool,))
TEXT: Kind[str] = Kind("text", str.strip, types=(str,))
WORD: Kind[str] = Kind("word", lambda text: text.strip().lower(), types=(str,))
"""The :class:`Kind` for a single word, in upper or lower case."""
TEXTS: Kind[tuple[str, ...]] = Kind("texts, separated by commas", _parse_list, types=(tuple,))
PRINCIPALS: Kind[tuple[str, ...]] = Kind(
    "names, separated by semicolons", lambda text: tuple(part.strip() for part in text.split(";") if part.strip()),
    types=(tuple,),
)  # fmt: skip
"""The :class:`Kind` for lists of principals, separated by semicolons, because names in certificates contain commas."""

DIRECTORIES: Kind[tuple[str, ...]] = Kind("paths, separated by commas", _parse_list, _check_directories, (tuple,))


# ---- settings and their origins ----------------------------------------------------------------------


@attrs.frozen
class Setting:
    """One key and its value as text, from one source.

    :ivar origin: the source of the value, for messages, for example a file and a line.
    """

    key: str
    text: str = attrs.field(repr=False)  # not in the repr, because it may be a secret
    origin: str


def from_file(text: str, name: str) -> list[Setting]:
    """Parse the settings in a file that has the format of ``bk_server.conf``.

    :param text: content of the file.
    :param name: name of the file, for messages.
    :raises ConfigError: the file cannot be parsed, or contains NUL bytes, for example because of a power failure.
    """
    if "\0" in text:
        raise ConfigError(f"{name}: not a text file")
    try:
        return [Setting(p.key, p.value, f"{name}:{p.line}") for p in read_properties(text)]
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def from_environment(environ: Mapping[str, str]) -> list[Setting]:
    """Return the settings in environment variables named ``BK_<key>``, in the order of their names.

    :param environ: all environment variables.
    """
    return [
        Setting(name[3:], text, f"environment variable {name}")
        for name, text in sorted(environ.items())
        if name.startswith("BK_")
    ]


def from_options(options: Mapping[str, str]) -> list[Setting]:
    """Return the settings in options of a command line.

    :param options: values by key, without the dashes before the key.
    """
    return [Setting(key, text, f"option --{key}") for key, text in options.items()]


@attrs.frozen
class Resolved:
    """The values of a configuration, merged from all sources.

    :ivar values: the parsed values of the attributes that a source has set, by attribute name.
    :ivar origins: the origins of these values, by attribute name.
    :ivar unknown: settings whose key belongs to no field.
    """

    values: dict[str, Any]
    origins: dict[str, str]
    unknown: tuple[Setting, ...]


def resolve(fields: Mapping[str, Field], sources: Iterable[Iterable[Setting]]) -> Resolved:
    """Merge settings from several sources; the values of a later source replace those of an earlier source.

    An empty value stands for the default, because configuration templates contain empty keys.  Every value is parsed,
    even if a later source replaces it, so that each invalid value is an error.

    :param fields: the fields by attribute name.
    :param sources: the settings of each source, in rising priority.
    :raises ConfigError: a value cannot be parsed, or one source sets a field twice.
    """
    attribute_of = {key: name for name, f in fields.items() for key in (f.key, f.alias) if key}
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    unknown: list[Setting] = []
    for source in sources:
        seen: dict[str, Setting] = {}
        for given in source:
            name = attribute_of.get(given.key)
            if name is None:
                unknown.append(given)
                continue
            if name in seen:
                raise ConfigError(f"{given.key}, {given.origin}: set before, {seen[name].key}, {seen[name].origin}")
            seen[name] = given
            values.pop(name, None)
            origins[name] = given.origin
            if given.text.strip():
                values[name] = _parse(fields[name], given)
    return Resolved(values, origins, tuple(unknown))


def _parse(field: Field, given: Setting) -> Any:
    try:
        value = field.kind.parse(given.text)
        field.kind.check(value)
    except ValueError as error:
        raise ConfigError(f"{given.key} = {field.shown(given.text)!r}, {given.origin}: {error}") from None
    return value
