"""Keys whose values can change while the process runs: those that :func:`~.fields.setting` declares ``live``."""

from typing import TypeVar

import attrs

from .fields import fields_of
from .settings import Config

C = TypeVar("C", bound=Config)


@attrs.frozen
class Change:
    """A key whose value differs between two configurations.

    :ivar before, after: both values as text that anyone may see.
    :ivar live: the part of the process that takes the new value while it runs; empty if a restart is needed.
    """

    key: str
    before: str
    after: str
    live: str


def live_attributes(config: type, *parts: str) -> frozenset[str]:
    """Return the names of the attributes of a configuration class that are live.

    :param config: a configuration class.
    :param parts: only attributes of these parts of the process; none stands for all parts.
    """
    fields = fields_of(config).items()
    return frozenset(name for name, field in fields if field.live and (not parts or field.live in parts))


def with_live(present: C, wanted: C) -> C:
    """Return a configuration that has its live values from ``wanted`` and all others from ``present``.

    :raises bookkeeper_twisted.errors.ConfigError: the values do not fit together.
    """
    names = live_attributes(type(present))
    origins = {name: origin for name, origin in present.origins.items() if name not in names}
    origins |= {name: origin for name, origin in wanted.origins.items() if name in names}
    return attrs.evolve(present, **{name: getattr(wanted, name) for name in names}, origins=origins)


def changes(before: Config, after: Config) -> list[Change]:
    """Return the keys whose values differ between two configurations, in the order of declaration.

    :param before, after: configurations of one class.
    """
    return [
        Change(field.key, field.shown(getattr(before, name)), field.shown(getattr(after, name)), field.live)
        for name, field in fields_of(type(before)).items()
        if getattr(before, name) != getattr(after, name)
    ]


def changed_parts(before: Config, after: Config) -> frozenset[str]:
    """Return the parts of the process that have to take a new value of a live key.

    :param before, after: configurations of one class.
    """
    return frozenset(change.live for change in changes(before, after) if change.live)
