"""Keys by subject, for ``--help`` and the documentation; comments ``# -- name --`` of the classes are the groups."""

import inspect
import re

from .autorecovery import AutorecoveryConfig
from .fields import Field, fields_of
from .metadata import MetadataConfig
from .settings import Config

ELSE = "general"
PROTECTION = "protection"
ZOOKEEPER = "ZooKeeper"


def groups(config: type) -> dict[str, list[tuple[str, Field]]]:
    """Return attributes and fields of a configuration class by group.

    Its own groups are first, then autorecovery's, and last what all configurations share.

    :param config: its source is read, as comments in it name the groups.
    """
    found: dict[str, list[tuple[str, Field]]] = {}
    common, shared = fields_of(Config), fields_of(MetadataConfig)
    inherited = _groups_of(AutorecoveryConfig) if issubclass(config, AutorecoveryConfig) else {}
    group_of = {**inherited, **_groups_of(config)}
    for attribute, field in fields_of(config).items():
        group = PROTECTION if attribute in common else ZOOKEEPER if attribute in shared else group_of[attribute]
        found.setdefault(group, []).append((attribute, field))
    for group in (*dict.fromkeys(inherited.values()), PROTECTION, ZOOKEEPER):  # declared first
        if group in found:
            found[group] = found.pop(group)
    return found


def _groups_of(config: type) -> dict[str, str]:
    """Attribute to the group it is declared in."""
    group, group_of = ELSE, {}
    for line in inspect.getsource(config).splitlines():
        if heading := re.match(r"\s+# -- (.*) --$", line):
            group = heading[1]
        elif declared := re.match(r"    (\w+): ", line):
            group_of[declared[1]] = group
    return group_of
