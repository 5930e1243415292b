"""Code is found by its syntax and replaced."""

import ast

from twisted.trial.unittest import SynchronousTestCase

from .fragment import FragmentError, replace_code


class ReplaceTests(SynchronousTestCase):
    """Made-up sources, with one fragment replaced by another."""

    def check(self, source: str, old: str, new: str, expected: str, where: str = "f") -> None:
        """The replacement is the same program as the expected one."""
        changed = replace_code(source, where, old, new)
        self.assertEqual(ast.dump(ast.parse(changed)), ast.dump(ast.parse(expected)), changed)

    def refuse(self, source: str, old: str, new: str, said: str, where: str = "f") -> None:
        """The replacement is refused, and the error says why."""
        self.assertIn(said, str(self.assertRaises(FragmentError, replace_code, source, where, old, new)))

    def test_layout(self) -> None:
        """Line breaks, comments, quotes, parentheses and indentation do not matter, and are left as they are."""
        source = "def f(a):\n    # é\n    return (  # one\n        g(a,\n          'b')\n    ) + 1  # two\n"
        changed = replace_code(source, "f", 'g(a, "b")', "h(a)")
        self.assertEqual(changed, "def f(a):\n    # é\n    return (  # one\n        (h(a))\n    ) + 1  # two\n")

    def test_precedence(self) -> None:
        """An expression that takes the place of an operand stays one operand."""
        self.check("def f():\n    return a * b\n", "b", "b + 1", "def f():\n    return a * (b + 1)\n")

    def test_keeps_types(self) -> None:
        """Numbers that are equal but of other types are other code."""
        self.check("def f():\n    return 1, True, 1.0\n", "True", "2", "def f():\n    return 1, 2, 1.0\n")

    def test_assigned(self) -> None:
        """A name that is assigned is not the expression that reads it."""
        self.check("def f(a):\n    a = a\n", "a", "b", "def f(a):\n    a = b\n")

    def test_none(self) -> None:
        """Code that occurs elsewhere only, and a function that is not there, are errors."""
        source = "def f():\n    pass\n\n\ndef g():\n    return a + b\n"
        self.refuse(source, "a + b", "a", "0 times in f")
        self.refuse(source, "a + b", "a", "there is no h", "h")
        self.refuse(source, "if", "a", "not Python")
        self.refuse(source, "# nothing", "a", "no code")

    def test_two(self) -> None:
        """Code that occurs twice is an error, and the function tells the two apart."""
        source = "def f():\n    return a + b\n\n\ndef g():\n    return a + b\n"
        self.refuse(source, "a + b", "a", "2 times in the module", "")
        self.check(source, "a + b", "a", source.replace("a + b", "a", 1))

    def test_qualified(self) -> None:
        """Methods and nested functions have qualified names; definitions of one name are searched together."""
        source = (
            "class A:\n    @property\n    def f(self):\n        return 1\n\n    @f.setter\n    def f(self, v):\n"
            "        def g():\n            return 2\n        return 2\n"
        )
        self.check(source, "2", "3", source.replace("            return 2", "            return 3"), "A.f.g")
        self.check(source, "1", "3", source.replace("1", "3"), "A.f")
        self.refuse(source, "return 2", "pass", "2 times in A.f", "A.f")

    def test_operands(self) -> None:
        """Operands of a longer condition are replaced with the parentheses around them."""
        source = "def f():\n    return x and (a or b) and (  # and\n        c\n    ) and y\n"
        self.check(source, "(a or b) and c", "c", "def f():\n    return x and c and y\n")
        self.check(source, "x and (a or b)", "x", "def f():\n    return x and c and y\n")
        self.check(source, "c and y", "y", "def f():\n    return x and (a or b) and y\n")
        self.refuse(source, "a and c", "c", "0 times")

    def test_f_string(self) -> None:
        """An f-string is found as a whole, and nothing is found inside of it."""
        source = "def f(a):\n    return f'{a} b'\n"
        self.check(source, "f'{a} b'", "f'{a}'", "def f(a):\n    return f'{a}'\n")
        self.refuse(source, "a", "b", "0 times")

    def test_generator(self) -> None:
        """A generator that is the only argument takes the parentheses of the call with it."""
        self.check("def f():\n    g(a for a in b)\n", "(a for a in b)", "b", "def f():\n    g(b)\n")

    def test_header(self) -> None:
        """Decorators, arguments and defaults belong to their function."""
        source = "@a\n@b(1)\nasync def f(c=2):\n    await c\n"
        self.check(source, "b(1)", "b", source.replace("b(1)", "b"))
        self.check(source, "2", "3", source.replace("2", "3"))
        new = "@b(1)\nasync def f(c=2): ..."
        self.check(source, "@a\n" + new, new, source[3:], "")

    def test_statements(self) -> None:
        """Consecutive statements are replaced by others, with the indentation of their place."""
        source = "async def f():\n    async with a:\n        b()\n        await c()  # why\n        d()\n"
        self.check(source, "await c()", "if e:\n    pass", source.replace("await c()", "if e: pass"))
        self.check(source, "b()\nawait c()", "return", source.replace("b()", "return").replace("        await c()", ""))
        self.refuse(source, "b()\nd()", "pass", "0 times")

    def test_removed(self) -> None:
        """Nothing in the place of statements removes them; a body that would be empty passes."""
        source = "def f():\n    if a:\n        b()\n    c()\n"
        self.check(source, "c()", "", "def f():\n    if a:\n        b()\n")
        self.check(source, "b()", "", "def f():\n    if a:\n        pass\n    c()\n")

    def test_any_body(self) -> None:
        """A body of dots is any body, and stays as it is."""
        source = 'def f():\n    if a:\n        b("""\nx\n    y""")\n# c\n\n        d()\n    else:\n        e()\n'
        self.check(source, "if a: ...\nelse: ...", "if g: ...\nelse:\n    ...", source.replace("if a", "if g"))
        self.check(source, "if a: ...\nelse: ...", "...", 'def f():\n    b("""\nx\n    y""")\n    d()\n')
        whole = source[: source.index("    else")].replace("if a", "while g")
        self.check(source, "if a: ...\nelse: e()", "while g:\n    ...", whole)
        self.refuse(source, "if a: ...\nelse: e()", "if a: ...\nelse: ...", "more ...")

    def test_elif(self) -> None:
        """An ``elif`` is the statement of an ``else``."""
        source = "def f():\n    if a:\n        b()\n    elif c:\n        d()\n        e()\n    else:\n        g()\n"
        self.check(source, "if c: ...\nelse: ...", "if h: ...\nelse: ...", source.replace("c:", "h:"))
        more = source.replace("else:", "elif i:\n        j()\n    else:")
        self.check(more, "if c: ...\nelse: ...", "if h: ...\nelse: ...", more.replace("c:", "h:"))
        head = source[: source.index("elif")]
        self.check(source, "if c: ...\nelse: g()", "...", head + "else:\n        d()\n        e()\n")
        self.check(source, "if c: ...\nelse: ...", "", head + "else:\n        pass\n")

    def test_handlers(self) -> None:
        """The bodies of a try and of its handlers are told apart by their order."""
        source = "def f():\n    try:\n        a()\n    except E:\n        b()\n    finally:\n        c()\n"
        old = "try: ...\nexcept E: ...\nfinally: ..."
        self.check(source, old, "try: ...\nexcept F: ...\nfinally: ...", source.replace("E", "F"))
        self.check(source, old, "...", "def f():\n    a()\n")

    def test_strings(self) -> None:
        """The lines of a string are not indented with the code around them."""
        source = "class A:\n    def f(self):\n        pass\n"
        changed = replace_code(source, "A.f", "pass", 'if a:\n    return """b\n  c\n"""')
        self.assertEqual(changed, 'class A:\n    def f(self):\n        if a:\n            return """b\n  c\n"""\n')

    def test_module(self) -> None:
        """Without a name the whole module is searched."""
        self.check("A = 1\nB = 1\n", "A = 1", "A = 2", "A = 2\nB = 1\n", "")
