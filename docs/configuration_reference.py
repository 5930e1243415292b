"""Writes the lists of configuration keys, in the groups that the sources have them in."""

from collections.abc import Iterator
from pathlib import Path

from bookkeeper_twisted.cli.options import groups
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Field


def write_reference(path: Path) -> None:
    """One definition list for each group, of bookies and of clients."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(_lines()))


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
    if field.live:
        facts.append(f"**live** ({field.live})")
    yield f"   *{facts[0]}*; " + "; ".join([*facts[1:], f"attribute ``{attribute}``"]) + "."
    yield ""


def _default(field: Field) -> str:
    if not field.default:
        return "empty"
    return f"``{field.default}``" + (f" {field.unit}" if field.unit else "")
