"""Live keys: keys whose values can change without a restart, declared with ``live`` in :func:`~.fields.setting`."""

from typing import TypeVar

import attrs

from .fields import fields_of
from .settings import Config

C = TypeVar("C", bound=Config)


@attrs.frozen
class Change:
    """A key whose value differs between two configurations.

    :ivar before, after: both values as text, with secrets masked.
    :ivar live: name of the part of the process that applies the new value at run time; empty if a restart is needed.
    """

    key: str
    before: str
    after: str
    live: str


def live_attributes(config: type, *parts: str) -> frozenset[str]:
    """Return the names of a configuration class's attributes whose values can change without a restart.

    :param config: a configuration class.
    :param parts: names of parts of the process (values of :attr:`.Field.live`).  Only attributes that these parts apply
        at run time are returned.  If no part is named, the attributes for all parts are returned.
    """
    fields = fields_of(config).items()
    return frozenset(name for name, field in fields if field.live and (not parts or field.live in parts))


def with_live(present: C, wanted: C) -> C:
    """Return a copy of ``present`` in which all values that can change without a restart are those of ``wanted``.

    :raises bookkeeper_twisted.errors.ConfigError: the combined values violate a rule between fields.
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
    """Return the names of the parts of the process that must apply the difference between two configurations.

    Keys that need a restart are ignored.

    :param before, after: configurations of one class.
    """
    return frozenset(change.live for change in changes(before, after) if change.live)
