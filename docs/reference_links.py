"""The role ``:api:``, which links to the reference of the API that pydoctor writes.

A target is what ``bookkeeper_twisted`` exports, as ``BookKeeper`` and ``LedgerWriter.append``, or what one of its
modules has, as ``aio.BookKeeper``, or such a module.  ``text <target>`` shows another text.
"""

import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from docutils import nodes
from zope.interface.interface import InterfaceClass

from bookkeeper_twisted._public import _HOME_OF

_PACKAGE = "bookkeeper_twisted"
_TARGET = re.compile(r"(?P<text>.*?)\s*<(?P<target>[^>]+)>$")


def address(target: str) -> str:
    """Return the file of the page that describes ``target``, below the folder of the reference, with its anchor.

    Modules that are the target themselves are not imported: those for Spark need PySpark.

    :raises AttributeError: there is no such name.
    """
    module, names = _PACKAGE, target.split(".")
    while names and _is_module(f"{module}.{names[0]}"):
        module = f"{module}.{names.pop(0)}"
    page, anchor, found = module, "", import_module(module) if names else None
    for name in names:
        found = getattr(found, name)
        if inspect.isclass(found) or isinstance(found, InterfaceClass):
            page = f"{_shown_in(found)}.{found.__name__}"
        else:
            page, anchor = _shown_in(found) if name == names[0] else page, f"#{name}"
    return f"{page}.html{anchor}"


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # below a module that is no package
        return False


def _shown_in(what: Any) -> str:
    """Return the module that pydoctor shows a class or a function in: the one that exports it, or its own."""
    exporter: str
    exporters = [f"{_PACKAGE}.{home}" for name, home in _HOME_OF.items() if name == what.__name__]
    for exporter in (*exporters, what.__module__.rpartition(".")[0]):
        exported = getattr(import_module(exporter), what.__name__, None)
        if exported is what and exporter != _PACKAGE:
            return exporter
    return str(what.__module__)


def _role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any) -> tuple[list[Any], list[Any]]:
    match = _TARGET.match(text)
    shown, target = (match["text"], match["target"]) if match else (text, text)
    document = inliner.document.settings.env.docname
    link = "../" * document.count("/") + "api/" + address(target)
    node = nodes.reference(rawtext, "", nodes.literal("", shown), internal=False, refuri=link)
    return [node], []


def setup(app: Any) -> dict[str, bool]:
    """Make the role known to Sphinx."""
    app.add_role("api", _role)
    return {"parallel_read_safe": True}
