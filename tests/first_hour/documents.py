"""What documentation tells its readers to type: commands with what they print, programs, files."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import attrs

_BLOCK = re.compile(
    r"^(?P<indent>[ ]*)\.\. code-block:: (?P<language>[\w-]+)\n"
    r"(?P<options>(?:(?P=indent)[ ]+:\w+:.*\n)*)"
    r"\n(?P<body>(?:(?:(?P=indent)[ ]+.*)?\n)+)",
    re.MULTILINE,
)
_LITERAL = re.compile(r"^(?!\.\. )[^\n]*::\n\n((?:[ ]+.*\n|\n)+)", re.MULTILINE)

ANYTHING = "..."
"""Stands for any lines that a command prints, and within a line for any text."""

NOT_RUN = "Not run by a test: "
"""How the caption of a block of commands begins that no test runs; the reason follows."""


@attrs.frozen
class Block:
    """One block of code.

    :ivar caption: the name of the file it is, if it is one; of commands the reason why no test runs them.
    """

    language: str
    text: str
    caption: str = ""

    @property
    def is_run(self) -> bool:
        """Whether it has commands that a test has to run."""
        return self.language == "console" and not self.caption.startswith(NOT_RUN)


@attrs.frozen
class Command:
    """One command of a console.

    :ivar expected: the lines it prints; None if the page does not show them.
    """

    text: str
    expected: tuple[str, ...] | None = None


def blocks(text: str) -> Iterator[Block]:
    """The code blocks of a page in their order."""
    for match in _BLOCK.finditer(text):
        caption = re.search(r":caption: (.+)", match["options"])
        body = textwrap.dedent(match["body"]).strip("\n") + "\n"
        yield Block(match["language"], body, caption[1] if caption else "")


def sections(text: str) -> dict[str, str]:
    """The parts of a page by their titles; what is before the first of them has the title of the page."""
    parts = re.split(r"\n\n(?=[^\n]+\n-{3,}\n)", text)
    return {part.partition("\n")[0]: part + "\n" for part in parts}


def section(text: str, title: str) -> str:
    """The part of a page under a title, up to the next one."""
    return sections(text)[title]


def literals(text: str) -> Iterator[str]:
    """The literal blocks of a page, which show what is not to be typed as it stands."""
    for match in _LITERAL.finditer(text):
        yield textwrap.dedent(match[1]).strip("\n")


def commands(console: str) -> Iterator[Command]:
    """The commands of a console block; lines that end with a backslash go on."""
    text, printed = "", list[str]()
    shown = False
    for line in console.splitlines():
        if text.endswith("\\"):
            text = text[:-1] + line.strip()
        elif line.startswith("$ "):
            if text:
                yield Command(text, tuple(printed) if shown else None)
            text, printed, shown = line[2:], [], False
        elif line:
            printed.append(line)
            shown = True
    if text:
        yield Command(text, tuple(printed) if shown else None)


def fits(expected: tuple[str, ...], printed: str) -> bool:
    """Whether a command printed what the page shows."""
    parts = [re.escape(line).replace(re.escape(ANYTHING), "[^\n]*") for line in expected]
    pattern = "\n".join(".*" if line == ANYTHING else part for line, part in zip(expected, parts, strict=True))
    return re.fullmatch(pattern, printed.rstrip("\n"), re.DOTALL) is not None


def pages(root: Path) -> dict[str, str]:
    """All pages by name: those of ``docs``, and the README."""
    found = {str(path.relative_to(root)): path.read_text() for path in sorted((root / "docs").rglob("*.rst"))}
    del_names = [name for name in found if "_build" in name]
    for name in del_names:
        del found[name]
    return {"README.rst": (root / "README.rst").read_text(), **found}
