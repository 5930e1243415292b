"""Which public functions document what they take, return and raise, and that docstrings begin with a sentence.

Counted are the functions and methods that have arguments and public names, of public modules and classes; not the
setters of properties, nor overloads, nor what Twisted names (``dataReceived``) and documents, nor the commands of the
shell, whose arguments :attr:`bookkeeper_twisted.cli.shell_command.Command.run` documents.  One is documented if its
docstring

- has a field (``:param:``, ``:returns:`` or ``:raises:``) or refers to another ("See :meth:`...`");
- or names each argument in ``double backticks``, alone or in an expression (``first .. last``);
- or if the interface that the class provides, or a class that it derives from, documents the method.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

Function = ast.FunctionDef | ast.AsyncFunctionDef
Classes = Mapping[str, ast.ClassDef]

_FIELDS = (":param ", ":returns:", ":raises ", "See :meth:", "See :func:")
_UNCOUNTED: Sequence[list[str]] = ([], ["shell", "options"])
"""Lists of arguments that need no docstring: none, and the list of each command of the shell."""

_LITERAL, _WORD = re.compile("``(.+?)``"), re.compile(r"\w+")
_TWISTED = re.compile(r"[a-z_]+[A-Z]")
"""A name that Twisted gave: ours are in lower case."""


def arguments_of(function: Function) -> list[str]:
    """Names of the arguments of a function beside ``self``, without ``*args`` and ``**kwargs``."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def says_enough(function: Function) -> bool:
    """Whether a function's own docstring says more of its arguments than their names."""
    text = " ".join((ast.get_docstring(function) or "").split())
    named = {word for literal in _LITERAL.findall(text) for word in _WORD.findall(literal)}
    return any(field in text for field in _FIELDS) or named.issuperset(arguments_of(function))


def is_documented(name: str, function: Function, classes: Classes) -> bool:
    """Whether a function's docstring, or that of the method it provides or overrides, documents its arguments.

    :param name: of the function, behind that of its class and a dot if it is a method.
    :param classes: where the interfaces and base classes are looked up, by name.
    """
    if says_enough(function):
        return True
    owner, _, method = name.rpartition(".")
    inherited = (classes[above] for above in _above(owner, classes) if above in classes)
    return any(says_enough(each) for above in inherited for each in _functions(above) if each.name == method)


def public_functions(module: ast.Module) -> Iterator[tuple[str, Function]]:
    """Name and definition of each public function and method of a ``module`` that has arguments."""
    for node in module.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from ((f"{node.name}.{each.name}", each) for each in _functions(node))
        elif isinstance(node, Function):
            yield from ((each.name, each) for each in _functions(ast.Module([node], [])))


def _functions(parent: ast.ClassDef | ast.Module) -> Iterator[Function]:
    for node in parent.body:
        if isinstance(node, Function) and not node.name.startswith("_") and not _TWISTED.match(node.name):
            decorators = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
            if arguments_of(node) not in _UNCOUNTED and not decorators & {"setter", "overload"}:
                yield node


def classes_of(modules: Mapping[str, ast.Module]) -> Classes:
    """The classes at the top of ``modules``, by name."""
    return {node.name: node for module in modules.values() for node in module.body if isinstance(node, ast.ClassDef)}


def _above(owner: str, classes: Classes) -> set[str]:
    """The names of the classes a class derives from and of the interfaces it provides, at any distance."""
    found, waiting = set[str](), [owner]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _named_by(classes[name]) if name in classes else []
    return found - {owner}


def _named_by(node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        yield ast.unparse(base.value if isinstance(base, ast.Subscript) else base).rpartition(".")[2]
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "implementer":
            yield from (ast.unparse(interface).rpartition(".")[2] for interface in decorator.args)


def counts(modules: Mapping[str, ast.Module]) -> tuple[int, int]:
    """How many public functions with arguments there are, and how many of them are documented.

    :param modules: syntax trees by path.
    """
    found = [is_documented(name, function, classes) for _, name, function, classes in _functions_of(modules)]
    return len(found), sum(found)


def undocumented(modules: Mapping[str, ast.Module]) -> Iterator[str]:
    """A sentence for each function that does not document its arguments.

    :param modules: syntax trees by path.
    """
    for path, name, function, classes in _functions_of(modules):
        if not is_documented(name, function, classes):
            yield f"{path}:{function.lineno}: {name} does not document its arguments"


def _functions_of(modules: Mapping[str, ast.Module]) -> Iterator[tuple[str, str, Function, Classes]]:
    """Path, name and definition of each public function, and all classes by name, its module's own before others."""
    classes = classes_of(modules)
    for path, module in modules.items():
        seen = {**classes, **classes_of({path: module})}
        yield from ((path, name, function, seen) for name, function in public_functions(module))


def without_sentence(modules: Mapping[str, ast.Module]) -> Iterator[str]:
    """A sentence for each public class and function whose docstring begins with a field.

    :param modules: syntax trees by path.
    """
    for path, module in modules.items():
        kinds = (node for node in ast.walk(module) if isinstance(node, Function | ast.ClassDef))
        for node in kinds:
            if not node.name.startswith("_") and (ast.get_docstring(node) or "").startswith(":"):
                yield f"{path}:{node.lineno}: the docstring of {node.name} does not begin with a sentence"


_VAGUE = frozenset(
    {"What", "How", "Where", "Which", "When", "Why", "Who", "Whose", "Those", "It", "They", "That", "There"}
)
"""First words of a docstring that does not say what a thing is or does."""


def vague(modules: Mapping[str, ast.Module]) -> Iterator[str]:
    """A sentence for each module, class and function whose docstring names no thing in the beginning.

    :param modules: syntax trees by path.
    """
    for path, module in modules.items():
        kinds = (node for node in ast.walk(module) if isinstance(node, Function | ast.ClassDef | ast.Module))
        for node in kinds:
            word = (ast.get_docstring(node) or "-").split()[0]
            if word in _VAGUE:
                yield f"{path}:{getattr(node, 'lineno', 1)}: {word}: begin the docstring with what this is or does"
