"""Writes the tables of configuration keys."""

from collections.abc import Iterator
from pathlib import Path

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import Field, fields_of


def write_reference(path: Path) -> None:
    """One definition list for bookies, one for clients."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(_lines()))


def _lines() -> Iterator[str]:
    for title, config in (("Bookie", BookieConfig), ("Client", ClientConfig)):
        yield from ("", title, "-" * len(title), "")
        for attribute, field in fields_of(config).items():
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
