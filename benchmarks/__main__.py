"""``python -m benchmarks``: see the package's docstring."""

import sys
from collections.abc import Sequence

from .commands import COMMANDS, table

USAGE = """usage: python -m benchmarks COMMAND [--help | OPTION ...]
       python -m benchmarks PATTERN ...      the workloads of check whose names match
"""


def main(arguments: Sequence[str]) -> int:
    """Run a command, or list all of them; what is no name of a command belongs to ``check``.

    :returns: the exit status.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"{USAGE}\n{table()}")
        return 0
    command = COMMANDS.get(arguments[0])
    return COMMANDS["check"].main()(arguments) if command is None else command.main()(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
