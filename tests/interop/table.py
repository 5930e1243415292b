"""The matrix as a table of text."""

from collections.abc import Iterable, Sequence

import attrs


@attrs.frozen
class Cell:
    """A cell is passed by all of its variants, or not at all."""

    row: tuple[str, ...]
    column: str
    variant: str


class Table:
    """The outcomes of a matrix.

    :param heads: of the columns that make up the name of a row.
    """

    def __init__(self, heads: Sequence[str], columns: Sequence[str]) -> None:
        self._heads = tuple(heads)
        self._columns = tuple(columns)
        self._outcomes: dict[Cell, bool] = {}

    def record(self, cell: Cell, passed: bool) -> None:
        """One outcome."""
        self._outcomes[cell] = passed

    def missing(self, expected: Iterable[Cell]) -> list[Cell]:
        """The cells that did not pass, or were not tried."""
        return [cell for cell in expected if not self._outcomes.get(cell)]

    def text(self) -> str:
        """Rows in the order of their first outcome; ``ok``, or ``FAIL`` with the variants that failed."""
        rows = list(dict.fromkeys(cell.row for cell in self._outcomes))
        lines = [(*self._heads, *self._columns)]
        lines += [(*row, *(self._mark(row, column) for column in self._columns)) for row in rows]
        widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
        lines.insert(1, tuple("-" * width for width in widths))
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)

    def _mark(self, row: tuple[str, ...], column: str) -> str:
        tried = [cell for cell in self._outcomes if (cell.row, cell.column) == (row, column)]
        failed = [cell.variant for cell in tried if not self._outcomes[cell]]
        if failed:
            return f"FAIL {','.join(failed)}"
        return "ok" if tried else "-"
