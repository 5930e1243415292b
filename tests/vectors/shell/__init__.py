"""What Apache's shell printed, see ``README.rst``."""

from pathlib import Path

import attrs

_FOLDER = Path(__file__).parent
_NO_ATTRIBUTES = " {}"


@attrs.frozen
class Capture:
    """One run of Apache's shell.

    :ivar arguments: it was given.
    :ivar printed: lines; the empty braces where a message has no attributes are left out.
    """

    arguments: list[str]
    printed: list[str]


def capture(name: str) -> Capture:
    """The run of a name."""
    command, *lines = (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return Capture(command.split()[3:], [text.removesuffix(_NO_ATTRIBUTES) for text in lines])
