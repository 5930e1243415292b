"""``python -m benchmarks``: see the package's docstring."""

import sys
from collections.abc import Callable, Sequence

from . import (
    buffers,
    check,
    compaction,
    compare,
    doors,
    exchange,
    following,
    ledger_check,
    many_ledgers,
    pool,
    repair,
    rereplication,
    scale,
    scrapes,
    spark,
    spark_ledgers,
    spark_limits,
    striped,
    structure,
    writing,
)

COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "buffers": buffers.main, "compaction": compaction.main, "compare": compare.main, "doors": doors.main,
    "exchange": exchange.main, "following": following.main, "ledger_check": ledger_check.main,
    "many_ledgers": many_ledgers.main, "pool": pool.main, "repair": repair.main, "rereplication": rereplication.main,
    "spark": spark.main, "spark_ledgers": spark_ledgers.main, "spark_limits": spark_limits.main,
    "scale": scale.main, "scrapes": scrapes.main, "striped": striped.main,
    "structure": structure.main, "writing": writing.main,
}  # fmt: skip
"""By first argument; whatever else it is belongs to the self-check."""


def main(arguments: Sequence[str]) -> int:
    """Runs a command; returns the exit status."""
    command = COMMANDS.get(arguments[0]) if arguments else None
    return check.main(arguments) if command is None else command(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
