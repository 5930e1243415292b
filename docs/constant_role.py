"""The role ``:constant:`` for a number of the code: ``256 KiB <client.claims.memory_blocks.DEFAULT_BLOCK_SIZE>``.

A target is a constant of a module of ``bookkeeper_twisted``, or a field of one, or of a class all of whose fields have
defaults.  The text is its value, with a unit or without; another value ends the build.
"""

import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from docutils import nodes

_PACKAGE = "bookkeeper_twisted"
_USE = re.compile(r"(?P<text>.*?)\s*<(?P<target>[^>]+)>$", re.DOTALL)
_NUMBER = re.compile(r"(?P<number>[\d.,]+)\s*(?P<unit>\w*)")
_UNITS = {
    "": 1, "B": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "bits": 1,
    "ms": 0.001, "s": 1, "second": 1, "seconds": 1, "minutes": 60, "days": 86400,
}  # fmt: skip


def check(text: str, target: str) -> None:
    """Compare what a page says with the code.

    :raises ValueError: ``text`` is another number than ``target`` is.
    :raises AttributeError: there is no such constant.
    """
    match = _NUMBER.fullmatch(" ".join(text.split()))
    if match is None or match["unit"] not in _UNITS:
        raise ValueError(f"{text!r} is no number with a known unit")
    said, value = float(match["number"].replace(",", "")) * _UNITS[match["unit"]], value_of(target)
    if abs(said - value) > 1e-9:
        raise ValueError(f"{target} is {value}, not {text}")


def value_of(target: str) -> float:
    """Return the number that ``target`` names.

    :raises AttributeError: there is none.
    """
    module, names = _PACKAGE, target.split(".")
    while names and find_spec(f"{module}.{names[0]}") is not None:
        module = f"{module}.{names.pop(0)}"
        if not hasattr(import_module(module), "__path__"):
            break
    found: Any = import_module(module)
    for name in names:
        found = getattr(found() if inspect.isclass(found) else found, name)
    return float(found)


def parts(use: str) -> tuple[str, str]:
    """Return text and target of a ``use`` of the role.

    :raises ValueError: it has no target.
    """
    match = _USE.match(use)
    if match is None:
        raise ValueError(f"{use!r} names no constant")
    return match["text"], match["target"]


def _role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any) -> tuple[list[Any], list[Any]]:
    shown, target = parts(text)
    check(shown, target)
    return [nodes.inline(rawtext, " ".join(shown.split()))], []


def setup(app: Any) -> dict[str, bool]:
    """Make the role known to Sphinx."""
    app.add_role("constant", _role)
    return {"parallel_read_safe": True}
