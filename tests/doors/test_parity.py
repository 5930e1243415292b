"""That the doors have the same classes, calls, parameters, defaults, types and docstrings."""

import inspect
import pydoc
import re
from collections.abc import Callable, Iterator
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

import bookkeeper_twisted
from bookkeeper_twisted import aio, blocking, client
from bookkeeper_twisted.testing import cluster

from .contract import CALLS
from .generator import MODULES, members_of, outdated

KINDS = [kind for kinds in MODULES.values() for kind in kinds]

SHARED = {"ClientMetrics", "Confirmed", "EntryBatch", "ThreadAppender", "WhenFull"}
"""Classes that each door gives and takes as they are."""

TWISTED_ONLY = {"BookKeeperAdmin", "BookKeeperService"}
"""A service is Twisted's, and administration is for tools that run on its reactor."""


def plain(text: str) -> str:
    """A docstring without fields that one door has alone."""
    lines = re.sub(r"\n *:(param|raises) (timeout|reactor|thread|TimeoutError)\b.*?(?=\n *:|\Z)", "", text, flags=re.S)
    return " ".join(lines.split())


def public(kind: type) -> dict[str, Any]:
    """The public attributes of a class, and how instances are iterated over."""
    names = {name for name in dir(kind) if name[0] != "_"} | {"__aiter__", "__iter__"}
    found = {name: inspect.getattr_static(kind, name, None) for name in names}
    return {name.replace("__iter__", "__aiter__"): value for name, value in found.items() if value is not None}


class ParityTests(SynchronousTestCase):
    """The public names of the doors."""

    def _pairs(self) -> Iterator[tuple[type, Any]]:
        """Each class of Twisted's door with those of the others."""
        for door in (aio, blocking):
            for kind in KINDS:
                yield kind, getattr(door, kind.__name__)

    def test_generated(self) -> None:
        """The classes in the repository are those that ``make doors`` writes."""
        self.assertEqual([str(path) for path in outdated()], [])

    def test_classes(self) -> None:
        """Each door has every class, but for those that only Twisted can have."""
        names = {kind.__name__ for kind in KINDS}
        self.assertEqual(set(client.__all__), names | SHARED | TWISTED_ONLY)
        self.assertEqual(set(aio.__all__), names)
        self.assertEqual(set(blocking.__all__), names | {"ReactorThread"})
        self.assertLess(names | SHARED | TWISTED_ONLY, set(dir(bookkeeper_twisted)))

    def test_names(self) -> None:
        """Objects of all doors have the same calls and attributes."""
        for kind, other in self._pairs():
            ours = {member.name: member.kind for member in members_of(kind)}
            self.assertEqual(set(public(other)), set(ours), other)
            for name, value in public(other).items():
                self.assertEqual(isinstance(value, property), ours[name] == "property", f"{other}.{name}")

    def test_nothing_internal(self) -> None:
        """Twisted's objects have nothing that is not for applications, but what tools of this package use."""
        internal = {"BookKeeper": {"context"}}
        for kind in KINDS:
            names = {member.name for member in members_of(kind) if hasattr(kind, member.name)}
            found = {name for name in public(kind) if name in names or callable(getattr(kind, name))}
            self.assertEqual(found - internal.get(kind.__name__, set()), names, kind)

    def test_signatures(self) -> None:
        """Calls have the same parameters and defaults; only those of the blocking door have a timeout, and the last."""
        for kind, other in self._pairs():
            for member in members_of(kind):
                if member.kind == "property":
                    continue
                name = "__iter__" if other.__module__.startswith("bookkeeper_twisted.blocking") else member.name
                call = getattr(other, member.name if member.name != "__aiter__" else name)
                ours = self._parameters(getattr(kind, member.name))
                theirs = self._parameters(call)
                waits = member.kind != "plain" and member.name != "__aiter__" and "timeout" not in ours
                if waits and other.__module__.startswith("bookkeeper_twisted.blocking"):
                    self.assertEqual((list(theirs)[-1], theirs.pop("timeout")), ("timeout", None), other)
                self.assertEqual(list(theirs.items()), list(ours.items()), f"{other}.{member.name}")

    def _parameters(self, call: Callable[..., Any]) -> dict[str, Any]:
        found = inspect.signature(call).parameters
        for parameter in found.values():
            self.assertNotIn(parameter.kind, (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL), call)
        return {name: p.default for name, p in found.items() if name not in ("self", "reactor", "thread")}

    def test_docstrings(self) -> None:
        """Each is documented in its own door, in the words of Twisted's, and ``help`` shows it."""
        for kind, other in self._pairs():
            text = pydoc.plain(pydoc.render_doc(other))
            for member in members_of(kind):
                call = public(other)[member.name]
                ours = inspect.getdoc(public(kind).get(member.name)) or member.doc
                theirs = inspect.getdoc(call.fget if isinstance(call, property) else call) or ""
                self.assertEqual(plain(theirs), plain(member.doc), f"{other}.{member.name}")
                self.assertIn(plain(ours).split(".")[0], plain(theirs))
                self.assertIn(theirs.splitlines()[0], text)

    def test_no_hidden_faces(self) -> None:
        """No class answers for names that it does not define."""
        for _, other in self._pairs():
            self.assertFalse(hasattr(other, "__getattr__"), other)

    def test_every_call_has_a_contract(self) -> None:
        """Each public call, and each of its parameters, is in the table of the contract."""
        for kind in KINDS:
            called = {call.name: call for call in CALLS[kind.__name__]}
            for member in members_of(kind):
                if member.kind != "property":
                    self.assertEqual(set(called[member.name].bad), set(member.parameters), f"{kind}.{member.name}")
            self.assertEqual(set(called), {m.name for m in members_of(kind) if m.kind != "property"})

    def test_clusters(self) -> None:
        """The clusters in memory, too, are the same in each door."""
        ours = public(cluster.MemoryCluster)
        for other in (cluster.AioMemoryCluster, cluster.BlockingMemoryCluster):
            self.assertEqual(set(public(other)), set(ours))
