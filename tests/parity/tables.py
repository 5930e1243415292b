"""The rows of a table: a name that Apache has, what is here for it, and the tests that mention it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import attrs

TESTS = Path(__file__).parents[1]
APACHE = Path(__file__).parent / "apache"

_LEFT_OUT = ("parity", "vectors", "mutation")


def apache(name: str) -> list[str]:
    """The names in one of the lists of Apache's; lines with ``#`` are headings."""
    lines = (APACHE / f"{name}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def sources() -> dict[str, str]:
    """The text of each test module, by its dotted name below ``tests``."""
    found = {}
    for path in sorted(TESTS.rglob("*.py")):
        relative = path.relative_to(TESTS)
        if relative.parts[0] not in _LEFT_OUT:
            found[".".join(relative.with_suffix("").parts)] = path.read_text()
    return found


@attrs.frozen
class Row:
    """One name.

    :ivar here: what is here for it; empty: nothing.
    :ivar reason: why it is missing; empty if it is there, or if nothing says why.
    :ivar tests: the modules that mention it.
    """

    name: str
    here: str
    reason: str
    tests: tuple[str, ...]

    @property
    def unexplained(self) -> bool:
        """Whether it is missing without a reason."""
        return not self.here and not self.reason


@attrs.frozen
class Table:
    """A table of one kind of names.

    :ivar extra: names that are here and not Apache's.
    :ivar stale: patterns of reasons that fit no missing name.
    """

    title: str
    rows: Sequence[Row]
    extra: Sequence[str]
    stale: Sequence[str]

    @property
    def untested(self) -> list[str]:
        """Names that are here and that no test mentions."""
        return [row.name for row in self.rows if row.here and not row.tests]

    @property
    def broken(self) -> list[str]:
        """Sentences that say what is wrong with the table."""
        missing = [f"{self.title}: {row.name} is missing and nothing says why" for row in self.rows if row.unexplained]
        return missing + [f"{self.title}: the reason for {pattern} explains nothing" for pattern in self.stale]

    def totals(self) -> str:
        """One line with the numbers of the table."""
        here, explained = sum(1 for row in self.rows if row.here), sum(1 for row in self.rows if row.reason)
        return (
            f"{self.title}: Apache's {len(self.rows)}, ours {here}, explained {explained}, "
            f"unexplained {len(self.rows) - here - explained}, untested {len(self.untested)}, "
            f"ours alone {len(self.extra)}"
        )

    def lines(self) -> Iterator[str]:
        """The table as text."""
        wide = max((len(row.name) for row in self.rows), default=0)
        for row in self.rows:
            tests = ", ".join(row.tests[:2]) + (f" and {len(row.tests) - 2} more" if len(row.tests) > 2 else "")
            here = row.here or f"- ({row.reason or 'NO REASON'})"
            yield f"{row.name:{wide}} | {here} | {tests or '-'}"


def make_table(
    title: str, names: Iterable[str], here: Mapping[str, str], reasons: Mapping[str, str],
    mentions: Callable[[str], Mapping[str, str]], tests: Mapping[str, str],
) -> Table:  # fmt: skip
    """Make a table.

    :param names: Apache's.
    :param here: what is here, by name.
    :param reasons: why names are missing, by patterns of names.
    :param mentions: returns what mentions a name: regular expressions by a text that each match of them has.
    :param tests: text of the test modules by name.
    """
    names, used = list(names), set[str]()
    rows = []
    for name in names:
        reason = ""
        if not here.get(name):
            fitting = next((each for each in reasons if fnmatchcase(name, each)), None)
            if fitting is not None:
                used.add(fitting)
                reason = reasons[fitting]
        wanted = {each: re.compile(pattern) for each, pattern in mentions(name).items()}
        mentioning = tuple(
            module
            for module, text in tests.items()
            if any(each in text and pattern.search(text) for each, pattern in wanted.items())
        )
        rows.append(Row(name, here.get(name, ""), reason, mentioning))
    return Table(title, rows, sorted(here.keys() - set(names)), sorted(reasons.keys() - used))
