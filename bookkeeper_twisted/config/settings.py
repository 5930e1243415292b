"""The base of all configurations: it merges the sources of values, and makes sure that a configuration is valid."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, Self

import attrs

from ..errors import ConfigError
from .fields import BOOLEAN, Setting, fields_of, resolve, setting
from .java_keys import asks_for_protection, is_unused

MIB = 1 << 20
FRAME = 5 * MIB
"""Bytes of the longest frame unless configured otherwise."""

_SIMILAR = 0.85
"""The similarity of two names from which on an error suggests one for the other."""


def derived(derive: object) -> object:
    """Declare a default that ``derive`` computes from the other fields of the configuration."""
    return attrs.Factory(derive, takes_self=True)  # type: ignore[call-overload]


@attrs.frozen(kw_only=True)
class Config:
    """The base class of configurations, which are loaded from sources and checked by their constructor.

    :ivar origins: origin of the value by attribute name, except for defaults.
    :ivar warnings: sentences for the log, about unknown keys and about protection that is not in force.
    :ivar notes: sentences for the log, about keys that have no effect.
    """

    origins: Mapping[str, str] = attrs.field(factory=dict, eq=False, repr=False)
    warnings: tuple[str, ...] = attrs.field(default=(), eq=False, repr=False)
    notes: tuple[str, ...] = attrs.field(default=(), eq=False, repr=False)

    allow_insecure_connections: bool = setting(
        "allowInsecureConnections", False, BOOLEAN,
        "start although keys that demand TLS or authentication are set, which is not in force; each is logged",
        java="none",
    )  # fmt: skip

    def __init_subclass__(cls) -> None:
        """Make the constructor of a configuration class raise ConfigError for an unknown argument."""
        # attrs creates the class again with slots: this method runs twice, and only the second class has an __init__
        if "__init__" in vars(cls):
            construct = cls.__init__

            @wraps(construct)
            def checked(self: Config, *args: Any, **given: Any) -> None:
                _refuse_unknown(type(self), given)
                construct(self, *args, **given)

            cls.__init__ = checked  # type: ignore[method-assign]

    def __attrs_post_init__(self) -> None:
        for name, field in fields_of(type(self)).items():
            try:
                field.kind.verify(getattr(self, name))
            except ValueError as error:  # a bad value without an origin was an argument, because all defaults are valid
                raise self._error(name, str(error), self.origins.get(name, f"argument {name}")) from None
        self._check()

    def _check(self) -> None:
        """Check the rules that concern several fields."""

    def _error(self, name: str, reason: str, origin: str = "") -> ConfigError:
        field = fields_of(type(self))[name]
        shown = field.shown(getattr(self, name))
        return ConfigError(f"{field.key} = {shown!r}, {origin or self.origin(name)}: {reason}")

    def origin(self, name: str) -> str:
        """Return the source of the value of an attribute.

        :param name: the name of the attribute.
        :returns: a file and line, a variable, an argument, or ``default``.
        """
        return self.origins.get(name, "default")

    def shown(self) -> dict[str, str]:
        """Return the effective values as text by key, in the order of declaration; secrets are masked."""
        return {field.key: field.shown(getattr(self, name)) for name, field in fields_of(type(self)).items()}

    def changed(self, values: Mapping[str, str], allowed: Collection[str], origin: str) -> Self:
        """Return a copy of the configuration with some values replaced.

        :param values: text by key.
        :param allowed: names of the attributes that may differ.
        :param origin: the origin of the values, for messages.
        :raises ConfigError: a key is unknown or not allowed, or a value cannot be used.
        """
        fields = fields_of(type(self))
        keys = {fields[name].key for name in allowed}
        for key, text in values.items():
            if key not in keys:
                known = any(key in (field.key, field.alias) for field in fields.values())
                why = "it holds until the next start" if known else "no such key"
                raise ConfigError(f"{key} cannot be changed, {origin}: {why}; these can: {', '.join(sorted(keys))}")
            if not text.strip():
                raise ConfigError(f"{key} has no value, {origin}")
        resolved = resolve(fields, [[Setting(key, text, origin) for key, text in values.items()]])
        return attrs.evolve(self, **resolved.values, origins={**self.origins, **resolved.origins})

    @classmethod
    def load(cls, *sources: Iterable[Setting]) -> Self:
        """Build the configuration from sources in rising priority.

        :raises ConfigError: a value cannot be used, or demands TLS or authentication that is not in force here.
        """
        resolved = resolve(fields_of(cls), sources)
        demanding = _demanding(resolved.unknown)
        others = [s for s in resolved.unknown if s not in demanding]
        keys = [field.key for field in fields_of(cls).values()]
        unknown = tuple(_describe_unknown(s, keys) for s in others if not is_unused(s.key))
        config = cls(
            **resolved.values,
            origins=resolved.origins,
            warnings=(*map(_describe, demanding), *unknown),
            notes=tuple(f"{s.key}, {s.origin}: has no effect here" for s in others if is_unused(s.key)),
        )
        if demanding and not config.allow_insecure_connections:
            raise ConfigError(f"{_describe(demanding[0])}; allowInsecureConnections=true starts without it")
        return config


def _describe_unknown(given: Setting, keys: Iterable[str]) -> str:
    """Describe an unknown key, with the key of a similar name that may have been meant."""
    meant = _meant(given.key, {key.lower(): key for key in keys})
    return f"{given.key}, {given.origin}: unknown key, ignored{meant}"


def _meant(given: str, known: Mapping[str, str]) -> str:
    """Return the end of a sentence about an unknown name: a similar name that may have been meant, or nothing.

    :param known: the known names, by their text in lower case without underscores.
    """
    similar = get_close_matches(given.lower().replace("_", ""), known, n=1, cutoff=_SIMILAR)
    return f"; is {known[similar[0]]} meant?" if similar else ""


def _refuse_unknown(config: type, given: Iterable[str]) -> None:
    """Check that all ``given`` names are arguments of a configuration class; raise ConfigError for other names."""
    for name in sorted(set(given) - {attribute.name for attribute in attrs.fields(config)}):
        fields = fields_of(config)
        known = {key.lower(): attribute for attribute, f in fields.items() for key in (f.key, f.alias) if key}
        known |= {attribute.replace("_", ""): attribute for attribute in fields}
        raise ConfigError(f"{name}: {config.__name__} has no such argument{_meant(name, known)}")


def _demanding(unknown: Iterable[Setting]) -> list[Setting]:
    """Return the effective settings that demand protection; the last of several settings with one key is effective."""
    last = {given.key: given for given in unknown}
    return [given for given in last.values() if asks_for_protection(given.key, given.text)]


def _describe(given: Setting) -> str:
    return f"{given.key} = {given.text!r}, {given.origin}: demands a protection that is not in force here"
