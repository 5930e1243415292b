"""Writes the classes of asyncio's and of the blocking door from those of Twisted's.

Names, parameters, defaults, types and docstrings come from the source of :mod:`bookkeeper_twisted.client`.  A
``Deferred[T]`` there is a coroutine of ``T`` or a ``T`` here; an asynchronous iteration stays one or becomes a plain
one.  So all of it is in the files, for people, editors and type checkers alike.  The waits for Twisted are written by
hand, in ``aio/handle.py`` and ``blocking/handle.py``.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from bookkeeper_twisted import client

ROOT = Path(client.__file__).parents[1]
WIDTH = 120

MODULES: dict[str, tuple[type, ...]] = {
    "bookkeeper": (client.BookKeeper,),
    "reader": (client.LedgerReader,),
    "writers": (client.LedgerWriter, client.AdvLedgerWriter),
}
"""Modules of a door, and the classes of Twisted's door that they have."""

HOMES = {kind.__name__: module for module, kinds in MODULES.items() for kind in kinds}

SUMMARIES = {
    "bookkeeper": "The client of a cluster",
    "reader": "The reader of a ledger",
    "writers": "The writers of ledgers",
}

BASES = {
    "writers": "BaseWriter",
}
"""Base classes that modules with several classes have, for the members that these share."""

ITERATIONS = {"AsyncGenerator": None, "ReadAhead": "EntryBatch"}
"""Types of iterations, and the type of an item where it is no argument."""

AT_ONCE = {"list_ledgers": 1000}
"""Items of an iteration that one wait is for, where it is not one."""

EACH = {"entries": "batches", "tail": "tail_batches"}
"""Iterations over the entries of the batches of another one, so that one wait is for a batch."""

_OMITTED = ("self", "cls", "reactor", "context")
_INNERMOST = re.compile(r"(?<=\()([^()]+)(?=\))")
_FIELD = re.compile(r":(param|ivar|returns|raises)\b")


@attrs.frozen
class Member:
    """A public attribute of a class of Twisted's door.

    :ivar kind: ``property``, ``waits``, ``iteration`` or ``plain``.
    :ivar parameters: name, and annotation with the default, of each.
    :ivar result: the type of the result, or of an item.
    :ivar names: objects that types and defaults name.
    """

    name: str
    kind: str
    doc: str
    result: str
    parameters: Mapping[str, str] = attrs.field(factory=dict)
    names: Mapping[str, Any] = attrs.field(factory=dict)
    connects: bool = False


class _Unquoted(ast.NodeTransformer):
    """Replaces annotations in quotes by what they say."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.parse(node.value, mode="eval").body if isinstance(node.value, str) else node


def members_of(kind: type) -> list[Member]:
    """Return the public members of a class, those of its bases last."""
    found: dict[str, Member] = {}
    fields = _variables(kind)
    for base in kind.__mro__[:-1]:
        module = sys.modules[base.__module__]
        tree = ast.parse(inspect.getsource(module))
        (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == base.__name__)
        for node in body:
            member = None
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is None:
                name = node.target.id
                member = Member(name, "property", fields[name], ast.unparse(node.annotation))
            elif isinstance(node, ast.FunctionDef) and (node.name[0] != "_" or node.name == "__aiter__"):
                member = _member(node, vars(module))
            if member is not None and member.name not in _OMITTED:
                found.setdefault(member.name, member)
    return list(found.values())


def _member(node: ast.FunctionDef, scope: Mapping[str, Any]) -> Member:
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    arguments = [argument for argument in node.args.args if argument.arg not in _OMITTED]
    parameters, used = {}, list[ast.AST]()
    defaults = [None] * (len(arguments) - len(node.args.defaults)) + list(node.args.defaults)
    for argument, default in zip(arguments, defaults, strict=True):
        assert argument.annotation is not None, f"{node.name}: {argument.arg} has no type"
        annotation = _Unquoted().visit(argument.annotation)
        used += [annotation] if default is None else [annotation, default]
        text = ast.unparse(annotation)
        parameters[argument.arg] = text if default is None else f"{text} = {_literal(default)}"
    assert node.returns is not None, f"{node.name} has no type"
    returned = _Unquoted().visit(node.returns)
    kind, result = _result(returned)
    used.append(result)
    names = {n.id for tree in used for n in ast.walk(tree) if isinstance(n, ast.Name)}
    text, fields = _fields(ast.get_docstring(node) or "")
    doc = _joined(text, [field for field in fields if not field.startswith(":param reactor:")])
    return Member(
        node.name, "property" if "property" in decorators else kind, doc, ast.unparse(result), parameters,
        {name: scope[name] for name in names if name in scope}, "classmethod" in decorators,
    )  # fmt: skip


def _literal(default: ast.expr) -> str:
    """Return a default in the quotes of this project."""
    return ast.unparse(default).replace("'", '"')


def _result(returned: ast.expr) -> tuple[str, ast.expr]:
    """Return how a call ends, and the type of what it gives."""
    name = ast.unparse(returned.value if isinstance(returned, ast.Subscript) else returned)
    inside = returned.slice if isinstance(returned, ast.Subscript) else returned
    if name == "Deferred":
        return "waits", inside
    if name in ITERATIONS:
        item = ITERATIONS[name]
        if item is not None:
            return "iteration", ast.Name(item)
        assert isinstance(inside, ast.Tuple)
        return "iteration", inside.elts[0]
    return "plain", returned


# ---- docstrings --------------------------------------------------------------------------------------


def _fields(doc: str) -> tuple[str, list[str]]:
    """Return the text of a docstring, and its fields with their continuation lines."""
    lines = doc.splitlines()
    start = next((i for i, line in enumerate(lines) if _FIELD.match(line)), len(lines))
    fields: list[str] = []
    for line in lines[start:]:
        if _FIELD.match(line):
            fields.append(line)
        elif line:
            fields[-1] += "\n" + line
    return "\n".join(lines[:start]).rstrip(), fields


def _variables(kind: type) -> dict[str, str]:
    """Return the sentences about the attributes of instances, by name."""
    found: dict[str, str] = {}
    for base in kind.__mro__[:-1]:
        for field in _fields(inspect.cleandoc(base.__doc__ or ""))[1]:
            if not field.startswith(":ivar "):
                continue
            name, _, text = field.removeprefix(":ivar ").partition(": ")
            text = " ".join(text.split())
            found.setdefault(name, text[0].upper() + text[1:] + ("" if text.endswith(".") else "."))
    return found


def _joined(text: str, fields: Iterable[str]) -> str:
    return "\n\n".join(part for part in (text, "\n".join(fields)) if part)


def _with_timeout(member: Member) -> str:
    """Return the docstring of a member with a ``timeout``."""
    text, fields = _fields(member.doc)
    what = "each step of the iteration" if member.kind == "iteration" else "the call"
    after = max((i + 1 for i, field in enumerate(fields) if field.startswith(":param ")), default=0)
    fields.insert(after, f":param timeout: seconds that {what} waits at most; None for any time.")
    when = "from the iteration: " if member.kind == "iteration" else ""
    return _joined(text, [*fields, f":raises TimeoutError: {when}no result within ``timeout``."])


def _docstring(doc: str, indent: int) -> Iterator[str]:
    spaces = " " * indent
    if "\n" not in doc:
        yield from textwrap.wrap(
            f'"""{doc}"""', WIDTH, initial_indent=spaces, subsequent_indent=spaces, break_long_words=False
        )
        return
    yield textwrap.indent(f'"""{doc}\n"""', spaces)


# ---- classes -----------------------------------------------------------------------------------------


def _signature(begin: str, parameters: list[str], result: str) -> str:
    """Return the line of a ``def``, or its lines."""
    line = f"    {begin}({', '.join(parameters)}) -> {result}:"
    if len(line) <= WIDTH:
        return line
    glued = ", ".join(parameter.replace(" ", "\0") for parameter in parameters) + ","
    lines = textwrap.fill(glued, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8).replace("\0", " ")
    if "\n" not in lines:
        return f"    {begin}(\n{lines.removesuffix(',')}\n    ) -> {result}:"
    return f"    {begin}(\n{lines}\n    ) -> {result}:  # fmt: skip"


def _wrapped(line: str) -> Iterator[str]:
    """Yield a long line in pieces: the arguments of its innermost call on lines of their own."""
    if len(line) <= WIDTH:
        yield line
        return
    begin, arguments, end = _INNERMOST.split(line)[:3]
    yield begin
    lines = textwrap.wrap(arguments, WIDTH, initial_indent=" " * 12, subsequent_indent=" " * 12)
    yield from lines
    yield f"        {end}{'  # fmt: skip' if len(lines) > 1 else ''}"


def _passed(member: Member) -> str:
    return ", ".join(member.parameters)


def _declared(member: Member) -> list[str]:
    return [f"{name}: {text}" for name, text in member.parameters.items()]


def _property(member: Member) -> Iterator[str]:
    yield "    @property"
    yield _signature(f"def {member.name}", ["self"], member.result)
    yield from _docstring(member.doc, 8)
    yield f"        return self._inner.{member.name}"


def _aio_method(owner: str, member: Member) -> Iterator[str]:
    call, parameters = f"self._inner.{member.name}({_passed(member)})", ["self", *_declared(member)]
    doc = list(_docstring(member.doc, 8))
    if member.connects:
        yield "    @classmethod"
        yield _signature(f"async def {member.name}", ["cls", *parameters[1:]], "Self")
        yield from doc
        call = f"client.{owner}.{member.name}(reactor, {_passed(member)})"
        yield f"        return await cls._connected(lambda reactor: {call})"
    elif member.name == "close":
        yield _signature("async def close", parameters, "None")
        yield from (*doc, "        await super().close()")
    elif member.kind == "waits":
        yield _signature(f"async def {member.name}", parameters, member.result)
        got = f"await result_of({call.replace('_inner', '_on_own_loop', 1)})"
        if member.result in HOMES:
            got = f"{member.result}({got})"
        line = f"        {'' if member.result == 'None' else 'return '}{got}"
        yield from (*doc, *_wrapped(line))
    elif member.kind == "iteration":
        yield _signature(f"def {member.name}", parameters, f"AsyncGenerator[{member.result}, None]")
        yield from (*doc, f"        return {_aio_iteration(member, call)}")
    else:
        yield _signature(f"def {member.name}", parameters, member.result)
        yield from (*doc, f"        return {call.replace('_inner', '_on_own_loop', 1)}")


def _aio_iteration(member: Member, call: str) -> str:
    if member.name == "__aiter__":
        return "self.entries()"
    if member.name in EACH:
        return f"self._each(self.{EACH[member.name]}({_passed(member)}))"
    return f"self._iterate({call}, {AT_ONCE[member.name]})" if member.name in AT_ONCE else f"self._iterate({call})"


def _blocking_method(owner: str, member: Member) -> Iterator[str]:
    call, parameters = f"self._inner.{member.name}({_passed(member)})", ["self", *_declared(member)]
    own = "timeout" in member.parameters
    timed = member.kind != "plain" and not own and member.name != "__aiter__"
    doc = list(_docstring(_with_timeout(member) if timed else member.doc, 8))
    last = ["*", "timeout: float | None = None"] if timed else []
    if member.connects:
        yield "    @classmethod"
        last.insert(1, "thread: ReactorThread = SHARED_THREAD")
        yield _signature(f"def {member.name}", ["cls", *parameters[1:], *last], "Self")
        yield from _docstring(_with_thread(_with_timeout(member)), 8)
        yield "        return cls._connected("
        yield f"            lambda reactor: client.{owner}.{member.name}(reactor, {_passed(member)}), thread, timeout"
        yield "        )"
    elif member.name == "close":
        yield _signature("def close", [*parameters, *last], "None")
        yield from (*doc, "        super().close(timeout=timeout)")
    elif member.kind == "waits":
        yield _signature(f"def {member.name}", [*parameters, *last], member.result)
        yield from (*doc, *_blocking_wait(member, call, "" if own else ", timeout"))
    elif member.kind == "iteration":
        name = "__iter__" if member.name == "__aiter__" else member.name
        yield _signature(f"def {name}", [*parameters, *last], f"Iterator[{member.result}]")
        yield from (*doc, f"        return {_blocking_iteration(member, call)}")
    else:
        yield _signature(f"def {member.name}", parameters, member.result)
        yield from (*doc, f"        return self._call(lambda: {call})")


def _blocking_wait(member: Member, call: str, timeout: str) -> Iterator[str]:
    got = f"self._wait(lambda: {call}{timeout})"
    home = member.result in HOMES
    line = f"        return {member.result}({got}, self._thread)" if home else f"        return {got}"
    if member.result == "None":
        line = f"        {got}"
    yield from _wrapped(line)


def _blocking_iteration(member: Member, call: str) -> str:
    if member.name == "__aiter__":
        return "self.entries()"
    if member.name in EACH:
        return f"each(self.{EACH[member.name]}({_passed(member)}, timeout=timeout))"
    return f"self._iterate({call}, {AT_ONCE.get(member.name, 1)}, timeout)"


def _with_thread(doc: str) -> str:
    text, fields = _fields(doc)
    after = max(i for i, field in enumerate(fields) if field.startswith(":param timeout"))
    fields.insert(after, ":param thread: the thread with the reactor; all connections share one if left out.")
    return _joined(text, fields)


# ---- modules -----------------------------------------------------------------------------------------

Method = Callable[[str, Member], Iterator[str]]


@attrs.frozen
class Door:
    """One of the doors that are written.

    :ivar name: of its package.
    :ivar words: of its objects, for a docstring.
    :ivar base: the base class of objects that are connected; of the others it is ``Handle``.
    """

    name: str
    words: str
    base: str
    method: Method

    def paths(self) -> Iterator[tuple[Path, str]]:
        """Yield the path of each module of the door, and its text."""
        for module, kinds in MODULES.items():
            yield ROOT / self.name / f"{module}.py", self._module(module, kinds)

    def _module(self, module: str, kinds: tuple[type, ...]) -> str:
        classes = "\n\n\n".join("\n".join(lines) for lines in self._classes(module, kinds))
        names = {name: found for kind in kinds for m in members_of(kind) for name, found in m.names.items()}
        made = f'"""{SUMMARIES[module]}, {self.words}; written by ``make doors``, not by hand."""'
        between = [""] if module in BASES else ["", ""]  # the type variable of a base class comes first
        return "\n".join([made, "", *self._imports(module, classes, names), *between, classes, ""])

    def _classes(self, module: str, kinds: tuple[type, ...]) -> Iterator[Iterable[str]]:
        """Yield the lines of the base class of a module, if it has one, and of its classes."""
        members = [members_of(kind) for kind in kinds]
        base = BASES.get(module, self.base if any(member.connects for member in members[0]) else "Handle")
        shared = [member for member in members[0] if module in BASES and all(member in each for each in members)]
        if shared:
            union = " | ".join(f"client.{kind.__name__}" for kind in kinds)
            head = f'WriterT = TypeVar("WriterT", bound={union})\n\n\nclass {base}(Handle[WriterT]):'
            yield [head, '    """The members that all writers of ledgers have."""', *self._all(base, shared)]
        for kind, every in zip(kinds, members, strict=True):
            text, _ = _fields(inspect.cleandoc(kind.__doc__ or ""))
            own = [member for member in every if member not in shared]
            head = f"class {kind.__name__}({base}[client.{kind.__name__}]):"
            yield [head, *_docstring(text, 4), *self._all(kind.__name__, own)]

    def _all(self, owner: str, members: Iterable[Member]) -> Iterator[str]:
        for member in members:
            yield ""
            yield from _property(member) if member.kind == "property" else self.method(owner, member)

    def _imports(self, module: str, classes: str, names: Mapping[str, Any]) -> Iterator[str]:
        """Yield the imports of what the classes name, in the order that ruff wants."""
        sources: dict[str, set[str]] = {}
        for name, found in names.items():
            if name in HOMES:
                sources.setdefault(f".{HOMES[name]}", set()).add(name)
            elif found.__module__ != "builtins":
                home = found.__module__.replace("bookkeeper_twisted", ".", 1)
                sources.setdefault(home, set()).add(name)
        ours = {
            "collections.abc": ("AsyncGenerator", "Iterator"), "typing": ("Self", "TypeVar"), "..": ("client",),
            ".handle": ("Connection", "Handle", "each"), ".reactor": ("result_of",),
            ".reactor_thread": ("SHARED_THREAD", "ReactorThread"),
        }  # fmt: skip
        used = {node.id for node in ast.walk(ast.parse(classes)) if isinstance(node, ast.Name)}
        for source, candidates in ours.items():
            sources.setdefault(source, set()).update(used.intersection(candidates))
        sources.pop(f".{module}", None)
        kept = {source: sorted(found, key=_place) for source, found in sources.items() if found}
        standard = sorted(source for source in kept if source[0] != ".")
        relative = sorted((s for s in kept if s[0] == "."), key=lambda s: (not s.startswith(".."), s))
        yield from (f"from {source} import {', '.join(kept[source])}" for source in standard)
        yield ""
        yield from (f"from {source} import {', '.join(kept[source])}" for source in relative)


def _place(name: str) -> tuple[bool, bool, str]:
    """Return the place of a name in an import: constants, classes, functions."""
    return not name.isupper(), not name[0].isupper(), name


DOORS = (
    Door("aio", "as asyncio has it", "Connection", _aio_method),
    Door("blocking", "with calls that wait", "Handle", _blocking_method),
)


def outdated() -> list[Path]:
    """Return the modules that are not what the generator writes."""
    return [
        path
        for door in DOORS
        for path, text in door.paths()
        if not path.exists() or path.read_text() != text
    ]


def write() -> None:
    """Write all modules."""
    for door in DOORS:
        for path, text in door.paths():
            path.write_text(text)
