"""The base class of configurations: it merges values from all sources and checks them."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, Protocol, Self, TypeVar

import attrs

from ..errors import ConfigError
from .fields import BOOLEAN, Setting, fields_of, resolve, setting
from .java_keys import asks_for_protection, is_unused

MIB = 1 << 20
FRAME = 5 * MIB
"""The default of the maximum frame size of the protocol, in bytes."""

_SIMILAR = 0.85
"""Minimum similarity, from 0 to 1, of an unknown name to a known name, so that a message suggests the known name."""


class NamedPlugin(Protocol):
    """A plugin that a configuration chooses by one of its names."""

    @property
    def names(self) -> Collection[str]: ...


N = TypeVar("N", bound=NamedPlugin)


def derived(derive: object) -> object:
    """Return a default for a field: the function ``derive`` computes it from the configuration's other values."""
    return attrs.Factory(derive, takes_self=True)  # type: ignore[call-overload]


@attrs.frozen(kw_only=True)
class Config:
    """The base class of configurations; the constructor checks all values.

    :ivar origins: the origins of the values by attribute name, without attributes that have their default.
    :ivar warnings: warnings to log, about unknown keys and about security settings (such as TLS) that this
        process does not support.
    :ivar notes: notes to log, about keys that have no effect.
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
        """Make the constructor of each subclass raise ConfigError, not TypeError, for an unknown argument."""
        # attrs creates each class twice, and Python calls this method for both; only the second class has an __init__.
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
            except ValueError as error:
                # Defaults are valid.  So a value that is not in ``origins`` (of files, environment and command line)
                # was passed to the constructor.
                raise self._error(name, str(error), self.origins.get(name, f"argument {name}")) from None
        self._check()

    def _check(self) -> None:
        """Check the rules between several fields; subclasses extend this method."""

    def _error(self, name: str, reason: str, origin: str = "") -> ConfigError:
        field = fields_of(type(self))[name]
        shown = field.shown(getattr(self, name))
        return ConfigError(f"{field.key} = {shown!r}, {origin or self.origin(name)}: {reason}")

    def origin(self, name: str) -> str:
        """Return the origin of an attribute's value, as text for messages.

        :param name: name of the attribute.
        :returns: for example a file and a line, an environment variable, or ``default``.
        """
        return self.origins.get(name, "default")

    def chosen(self, name: str, plugins: Iterable[N], what: str, others: Collection[str] = ()) -> N:
        """Return the plugin that an attribute names: the first of ``plugins`` that has this name.

        :param name: name of the attribute.
        :param what: a word for this kind of plugin, for the text of the error.
        :param others: further valid names, for the list of names in the text of the error.
        :raises ConfigError: no plugin has this name; the text lists all valid names.
        """
        value, plugins = getattr(self, name).strip(), list(plugins)
        for plugin in plugins:
            if value in plugin.names:
                return plugin
        known = sorted({each for plugin in plugins for each in plugin.names if each}.union(others))
        raise self._error(name, f"no such {what}; known are {', '.join(known)}")

    def shown(self) -> dict[str, str]:
        """Return the present value of each key as text, in the order of declaration; secrets are masked."""
        return {field.key: field.shown(getattr(self, name)) for name, field in fields_of(type(self)).items()}

    def changed(self, values: Mapping[str, str], allowed: Collection[str], origin: str) -> Self:
        """Return a copy of the configuration with new values, and with the defaults that are derived from them.

        :param values: the new values as text, by key.
        :param allowed: names of the attributes that may be changed.
        :param origin: origin of the new values, for messages.
        :raises ConfigError: a key is unknown or not allowed, or a value is invalid.
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
        kept = {name: getattr(self, name) for name in attrs.fields_dict(type(self)) if not self._is_derived(name)}
        return type(self)(**{**kept, **resolved.values, "origins": {**self.origins, **resolved.origins}})

    def _is_derived(self, name: str) -> bool:
        """Test whether an attribute has a default that was derived from other attributes."""
        default: Any = attrs.fields_dict(type(self))[name].default
        if name in self.origins or not (isinstance(default, attrs.Factory) and default.takes_self):  # type: ignore[arg-type]
            return False
        return bool(getattr(self, name) == default.factory(self))

    @classmethod
    def load(cls, *sources: Iterable[Setting]) -> Self:
        """Make a configuration from the settings of ``sources``; later sources have priority.

        :raises ConfigError: a value is invalid, or demands TLS or authentication that this process does not provide.
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
    """Return a warning about an unknown key; it suggests a known key with a similar name."""
    meant = _meant(given.key, {key.lower(): key for key in keys})
    return f"{given.key}, {given.origin}: unknown key, ignored{meant}"


def _meant(given: str, known: Mapping[str, str]) -> str:
    """Return a text that suggests a similar known name, for the end of an error message; empty if no name is similar.

    :param given: the unknown name.
    :param known: the known names; the key of each is the name in lower case without underscores.
    """
    similar = get_close_matches(given.lower().replace("_", ""), known, n=1, cutoff=_SIMILAR)
    return f"; is {known[similar[0]]} meant?" if similar else ""


def _refuse_unknown(config: type, given: Iterable[str]) -> None:
    """Raise ConfigError if one of the ``given`` names is not an argument of a configuration class's constructor."""
    for name in sorted(set(given) - {attribute.name for attribute in attrs.fields(config)}):
        fields = fields_of(config)
        known = {key.lower(): attribute for attribute, f in fields.items() for key in (f.key, f.alias) if key}
        known |= {attribute.replace("_", ""): attribute for attribute in fields}
        raise ConfigError(f"{name}: {config.__name__} has no such argument{_meant(name, known)}")


def _demanding(unknown: Iterable[Setting]) -> list[Setting]:
    """Return the settings that demand TLS or authentication; if a key is set more than once, use only the last."""
    last = {given.key: given for given in unknown}
    return [given for given in last.values() if asks_for_protection(given.key, given.text)]


def _describe(given: Setting) -> str:
    return f"{given.key} = {given.text!r}, {given.origin}: demands a protection that is not in force here"
