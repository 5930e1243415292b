"""Paths of ledgers: the decimal id, cut into groups, with ``L`` before the last.

The short form is 2-4-4 of ten digits, the long one 3-4-4-4-4 of nineteen; the flat one is not cut.
"""

import re

import attrs

from ...errors import IncorrectParameterError


@attrs.frozen
class LedgerForm:
    """One form.

    :ivar groups: digits of each part of the path.
    """

    groups: tuple[int, ...]

    def path(self, ledger_id: int) -> str:
        """The path of a ledger below the root.

        :raises IncorrectParameterError: the id has too many digits for this form.
        """
        digits = f"{ledger_id:0{sum(self.groups)}d}"
        if len(digits) > sum(self.groups) and len(self.groups) > 1:
            raise IncorrectParameterError(f"ledger id {ledger_id} is too large for the layout of this cluster")
        parts = []
        for group in reversed(self.groups[1:]):
            digits, part = digits[:-group], digits[-group:]
            parts.append(part)
        parts.append(digits)
        parts[0] = "L" + parts[0]
        return "/".join(reversed(parts))

    def is_top(self, name: str) -> bool:
        """Whether a child of the root belongs to this form."""
        return self.digits(0, name) is not None

    def digits(self, level: int, name: str) -> str | None:
        """What a node at a level adds to the id; None if the name is none of this form."""
        is_leaf = level == len(self.groups) - 1
        more = "," if is_leaf and not level else ""
        pattern = rf"{'L' if is_leaf else ''}([0-9]{{{self.groups[level]}{more}}})"
        found = re.fullmatch(pattern, name)
        return None if found is None else found[1]

    def span(self, digits: str) -> tuple[int, int]:
        """The smallest and the largest id that begins with these digits."""
        rest = max(sum(self.groups) - len(digits), 0)
        first = int(digits or 0) * 10**rest
        return first, first + 10**rest - 1


SHORT_FORM = LedgerForm((2, 4, 4))
LONG_FORM = LedgerForm((3, 4, 4, 4, 4))
FLAT_FORM = LedgerForm((10,))
