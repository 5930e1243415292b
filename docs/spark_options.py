"""Writes the list of options of the Spark source and sink."""

from collections.abc import Iterator
from pathlib import Path

from bookkeeper_twisted.config.fields import Field, fields_of
from bookkeeper_twisted.spark.options import ReadOptions, WriteOptions


def write_reference(path: Path) -> None:
    """One definition list for the source, one for the sink."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(_lines()))


def _lines() -> Iterator[str]:
    for title, options in (("Source", ReadOptions), ("Sink", WriteOptions)):
        yield from ("", title, "~" * len(title), "")
        for field in fields_of(options).values():
            yield from _entry(field)
    yield ""
    yield "Both take the keys of the client with ``bookkeeper.`` before them, and ``bookkeeper.password``;"
    yield "the sink also takes ``bookkeeper.digestType``."


def _entry(field: Field) -> Iterator[str]:
    default = f"``{field.default}``" if field.default and field.default != "()" else "none"
    alias = f"; also ``{field.alias}``" if field.alias else ""
    yield f"``{field.key}``"
    yield f"   {field.help[0].upper()}{field.help[1:]}."
    yield f"   *{field.kind.name}*; default {default}{alias}."
    yield ""
