"""Writes the tables of errors from the classes themselves."""

import inspect
from collections.abc import Iterator
from pathlib import Path

from bookkeeper_twisted import errors

_GROUPS = {
    errors.ClientError: "Made by the client",
    errors.BookieError: "Answers of a bookie",
    errors.MetadataError: "Of the metadata store",
    errors.StorageError: "Of a bookie's disks",
    errors.BookKeeperError: "Others",
}
_NO_CODE = errors.BookKeeperError.code


def write_reference(path: Path) -> None:
    """Write one definition list for each group."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(_lines()))


def _lines() -> Iterator[str]:
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    shown: set[type] = set(_GROUPS)
    for group, title in _GROUPS.items():
        yield from ("", title, "-" * len(title), "")
        yield f"All are subclasses of {_link(group)}."
        yield ""
        for kind in classes:
            if issubclass(kind, group) and kind not in shown:
                shown.add(kind)
                yield from _entry(kind)


def _entry(kind: type[errors.BookKeeperError]) -> Iterator[str]:
    text = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
    yield _link(kind)
    code = f"  Code of Apache's client: {kind.code}." if kind.code != _NO_CODE else ""
    yield f"   {text}{code}"
    yield ""


def _link(kind: type[errors.BookKeeperError]) -> str:
    return f":api:`{kind.__name__} <errors.{kind.__name__}>`"
