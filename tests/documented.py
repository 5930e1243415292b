"""Which public functions document what they take, return and raise.

Counted are the functions and methods that have arguments and public names, of public modules and classes.  One is
documented if its docstring has a field (``:param:``, ``:returns:`` or ``:raises:``) or refers to the interface that it
provides ("See :meth:`...`").
"""

import ast
from collections.abc import Iterator, Mapping

Function = ast.FunctionDef | ast.AsyncFunctionDef

_FIELDS = (":param ", ":returns:", ":raises ", "See :meth:")


def takes_arguments(function: Function) -> bool:
    """Whether a function has an argument beside that of its method."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return any(name not in ("self", "cls") for name in names)


def is_documented(function: Function) -> bool:
    """Whether a function's docstring says more of its arguments than their names."""
    text = ast.get_docstring(function) or ""
    return any(field in text for field in _FIELDS)


def public_functions(module: ast.Module) -> Iterator[tuple[str, Function]]:
    """Name and definition of each public function and method of a module that has arguments."""
    for node in module.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from ((f"{node.name}.{name}", each) for name, each in _functions(node))
        elif isinstance(node, Function):
            yield from _functions(ast.Module([node], []))


def _functions(parent: ast.ClassDef | ast.Module) -> Iterator[tuple[str, Function]]:
    for node in parent.body:
        if isinstance(node, Function) and not node.name.startswith("_") and takes_arguments(node):
            yield node.name, node


def counts(modules: Mapping[str, ast.Module]) -> tuple[int, int]:
    """How many public functions with arguments there are, and how many of them are documented.

    :param modules: syntax trees by path.
    """
    found = [function for module in modules.values() for _, function in public_functions(module)]
    return len(found), sum(map(is_documented, found))


def undocumented(modules: Mapping[str, ast.Module], faces: frozenset[str]) -> Iterator[str]:
    """A sentence for each undocumented function among some classes and functions, and the classes these derive from.

    :param modules: syntax trees by path.
    :param faces: names of classes and functions.
    """
    classes = {
        node.name: node for module in modules.values() for node in module.body if isinstance(node, ast.ClassDef)
    }  # fmt: skip
    wanted, waiting = set[str](), list(faces)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            bases = classes[name].bases if name in classes else []
            waiting += [base.id for base in bases if isinstance(base, ast.Name)]
    for path, module in modules.items():
        for name, function in public_functions(module):
            if name.partition(".")[0] in wanted and not is_documented(function):
                yield f"{path}:{function.lineno}: {name} does not document its arguments"
