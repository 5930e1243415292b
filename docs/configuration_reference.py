"""Writes the lists of configuration keys, in the groups that the sources have them in."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Field, fields_of
from bookkeeper_twisted.config.metadata import MetadataConfig

_ELSE = "general"
_ZOOKEEPER = "ZooKeeper"


def write_reference(path: Path) -> None:
    """One definition list for each group, of bookies and of clients."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(_lines()))


def groups(config: type) -> dict[str, list[tuple[str, Field]]]:
    """The fields of a configuration by group: a comment ``# -- name --`` begins one."""
    found: dict[str, list[tuple[str, Field]]] = {}
    places = _places(config)
    shared = fields_of(MetadataConfig)
    for attribute, field in fields_of(config).items():
        group = _ZOOKEEPER if attribute in shared else places[attribute]
        found.setdefault(group, []).append((attribute, field))
    if _ZOOKEEPER in found:  # declared first, wanted last
        found[_ZOOKEEPER] = found.pop(_ZOOKEEPER)
    return found


def _places(config: type) -> dict[str, str]:
    """Attribute to the group it is declared in."""
    group, places = _ELSE, {}
    for line in inspect.getsource(config).splitlines():
        if heading := re.match(r"\s+# -- (.*) --$", line):
            group = heading[1]
        elif declared := re.match(r"    (\w+): ", line):
            places[declared[1]] = group
    return places


def _lines() -> Iterator[str]:
    for title, config in (("Keys of a bookie", BookieConfig), ("Keys of a client", ClientConfig)):
        yield from ("", title, "-" * len(title))
        for group, fields in groups(config).items():
            heading = group[0].upper() + group[1:]
            yield from ("", heading, "~" * len(heading), "")
            for attribute, field in fields:
                yield from _entry(attribute, field)


def _entry(attribute: str, field: Field) -> Iterator[str]:
    yield f"``{field.key}``"
    yield f"   {field.help[0].upper()}{field.help[1:]}."
    facts = [field.kind.name, f"default {_default(field)}"]
    if field.java:
        facts.append(f"Apache's default: {field.java}")
    if field.alias:
        facts.append(f"older key: ``{field.alias}``")
    yield f"   *{facts[0]}*; " + "; ".join([*facts[1:], f"attribute ``{attribute}``"]) + "."
    yield ""


def _default(field: Field) -> str:
    if not field.default:
        return "empty"
    return f"``{field.default}``" + (f" {field.unit}" if field.unit else "")
