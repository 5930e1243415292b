r"""Finds code in a source by its syntax and puts other code in its place.

A *fragment* is the text of an expression or of some statements.  It stands for all code that parses to the same tree,
so indentation, line breaks, comments and the other statements of the function do not matter.

- An expression whose replacement is an expression is searched as an expression, everywhere but inside of f-strings: an
  f-string is found as a whole.  ``a and b`` is also found in ``x and a and b``; ``or`` likewise.
- Any other fragment is searched as consecutive statements.  An empty replacement removes them.
- ``...`` as the body of a statement stands for any body.  In the replacement the first ``...`` is the first of these
  bodies, the second ``...`` the second: ``if x:\n    ...`` replaced by ``...`` makes a body unconditional.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from textwrap import dedent

import attrs

_GAP = rb"(?:[\s)\\]|#.*)*"
_BEFORE_OPERATOR = re.compile(_GAP)
_OPERATOR = re.compile(_GAP + rb"(?:and|or)\b")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Body = Sequence[ast.stmt]


class FragmentError(Exception):
    """A fragment is not Python, or its code does not occur exactly once."""


@attrs.frozen
class _Match:
    """Code that a fragment stands for.

    :ivar start: offset of its first byte in the source.
    :ivar end: offset behind its last byte.
    :ivar column: indentation of the statements.
    :ivar whole: the statements are a whole body.
    :ivar bodies: the bodies that ``...`` stood for.
    """

    start: int
    end: int
    column: int = 0
    whole: bool = False
    bodies: Sequence[_Body] = ()


def replace_code(source: str, where: str, old: str, new: str) -> str:
    """Return the source with one fragment replaced by another.

    :param where: qualified name of the function or class to search; empty for the whole module.
    :raises FragmentError: if the code of the old fragment does not occur exactly once there.
    """
    text, old, new = _Text(source), dedent(old).strip(), dedent(new).strip()
    scopes = [node for name, node in _definitions(text.module) if name == where] if where else [text.module]
    if not scopes:
        raise FragmentError(f"there is no {where}")
    pattern, replacement = _parse(old), _parse(new)
    if not pattern.body:
        raise FragmentError("there is no code to search for")
    expression, value = _expression(pattern), _expression(replacement)
    if expression and value:
        matches = [match for scope in scopes for match in _expressions(text, scope, expression)]
    else:
        matches = [match for scope in scopes for match in _statements(text, scope, pattern.body)]
    if len(matches) != 1:
        raise FragmentError(f"its code occurs {len(matches)} times in {where or 'the module'}")
    match = matches[0]
    code = f"({new})" if expression and value else _lay_out(text, new, match)
    return (text.encoded[: match.start] + code.encode() + text.encoded[match.end :]).decode()


@lru_cache(500)
def _parse(code: str) -> ast.Module:
    try:
        return ast.parse(code)
    except SyntaxError as error:
        raise FragmentError(f"not Python: {error}: {code}") from None


def _expression(fragment: ast.Module) -> ast.expr | None:
    """The expression that a fragment is, unless it is statements."""
    first = fragment.body[0] if len(fragment.body) == 1 else None
    return first.value if isinstance(first, ast.Expr) else None


def _definitions(parent: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """All functions and classes below a node, with their qualified names."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, _Definition):
            yield prefix + node.name, node
            yield from _definitions(node, f"{prefix}{node.name}.")
        elif not isinstance(node, ast.expr):
            yield from _definitions(node, prefix)


class _Text:
    """A source, in which nodes of its tree have offsets."""

    def __init__(self, source: str) -> None:
        self.encoded = source.encode()
        self.module = _parse(source)
        self._lines = [0]
        for line in self.encoded.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[_first_line(node) - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno and node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def code(self, body: _Body) -> str:
        code = self.encoded[self.start(body[0]) : self.end(body[-1])].decode()
        return code.removeprefix("el") if _is_elif(code) else code


def _is_elif(code: str) -> bool:
    """Whether code is an ``elif``, which the tree shows as an ``if`` that is the body of an ``else``."""
    return re.match(r"elif\b", code) is not None


def _first_line(node: ast.expr | ast.stmt) -> int:
    """The line a node begins at, which is that of its first decorator."""
    decorators = node.decorator_list if isinstance(node, _Definition) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _expressions(text: _Text, parent: ast.AST, pattern: ast.expr) -> Iterator[_Match]:
    """Expressions equal to the pattern."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.expr) and _same(pattern, node, []):
            yield _Match(text.start(node), text.end(node))
        elif isinstance(pattern, ast.BoolOp) and isinstance(node, ast.BoolOp) and _same(pattern.op, node.op, []):
            yield from _operands(text, node, pattern)
        if not isinstance(node, ast.JoinedStr):  # up to Python 3.11 the nodes inside have wrong positions
            yield from _expressions(text, node, pattern)


def _operands(text: _Text, node: ast.BoolOp, pattern: ast.BoolOp) -> Iterator[_Match]:
    """Some consecutive operands of a longer ``and`` or ``or``, with the parentheses around each."""
    values, count = node.values, len(pattern.values)
    for at in range(len(values) - count + 1):
        if _same(pattern.values, values[at : at + count], []):
            start, end = text.start(node), text.end(node)
            if at:
                start = _skip(_OPERATOR, text, values[at - 1])
            if at + count < len(values):
                end = _skip(_BEFORE_OPERATOR, text, values[at + count - 1])
            yield _Match(start, end)


def _skip(gap: re.Pattern[bytes], text: _Text, operand: ast.expr) -> int:
    found = gap.match(text.encoded, text.end(operand))
    assert found
    return found.end()


def _statements(text: _Text, scope: ast.AST, pattern: _Body) -> Iterator[_Match]:
    """Consecutive statements equal to those of the pattern."""
    for body in _bodies(scope):
        for at in range(len(body) - len(pattern) + 1):
            found = body[at : at + len(pattern)]
            bodies: list[_Body] = []
            if all(_same(wanted, statement, bodies) for wanted, statement in zip(pattern, found, strict=True)):
                whole = len(found) == len(body)
                yield _Match(text.start(found[0]), text.end(found[-1]), found[0].col_offset, whole, bodies)


def _bodies(scope: ast.AST) -> Iterator[_Body]:
    """All lists of statements below a node."""
    for node in ast.walk(scope):
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def _same(pattern: object, node: object, bodies: list[_Body]) -> bool:
    """Whether code is equal to a pattern; adds the bodies that ``...`` stands for."""
    if isinstance(pattern, list) and isinstance(node, list):
        if len(pattern) == 1 and _is_dots(pattern[0]) and node and isinstance(node[0], ast.stmt):
            bodies.append(node)
            return True
        return len(pattern) == len(node) and all(map(_same, pattern, node, [bodies] * len(node)))
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.AST):
        return all(_same(value, getattr(node, field), bodies) for field, value in ast.iter_fields(pattern))
    return pattern == node


def _is_dots(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def _lay_out(text: _Text, new: str, match: _Match) -> str:
    """Statements with the matched bodies in the place of ``...``, indented for the place of the match."""
    if not _parse(new).body:
        if not match.whole:
            return ""
        new = "pass"
    statements = [statement for body in _bodies(_parse(new)) for statement in body]
    dots = sorted((node for node in statements if _is_dots(node)), key=lambda node: node.lineno)
    if len(dots) > len(match.bodies):
        raise FragmentError("there are more ... than bodies")
    lines = new.split("\n")
    for node, body in reversed(list(zip(dots, match.bodies, strict=False))):
        before, _, after = lines[node.lineno - 1].rpartition("...")
        column = len(before)
        if before.strip():  # the body stands behind a colon
            column = len(before) - len(before.lstrip()) + 4
            before = before.rstrip() + "\n" + " " * column
        lines[node.lineno - 1] = before + _indent(text.code(body), body, column - body[0].col_offset) + after
    new = "\n".join(lines)
    if _is_elif(text.encoded[match.start : match.end].decode()):
        column = match.column + 4
        return f"else:\n{' ' * column}{_indent(new, _parse(new).body, column)}"
    return _indent(new, _parse(new).body, match.column)


def _indent(code: str, body: _Body, columns: int) -> str:
    """Code with its lines moved to the right, or to the left; not the first line, and none inside of a string."""
    lines, kept, first = code.split("\n"), {0}, _first_line(body[0])
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            assert node.end_lineno
            kept.update(range(node.lineno + 1 - first, node.end_lineno + 1 - first))
    for number, line in enumerate(lines):
        if number not in kept:
            bare = line.lstrip()
            lines[number] = " " * (len(line) - len(bare) + columns) + bare
    return "\n".join(lines)
