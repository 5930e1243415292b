"""Prints the tables; see the package."""

import re
import sys
from collections.abc import Mapping, Sequence

from . import ours, reasons
from .tables import Table, apache, make_table, sources


def main(arguments: Sequence[str]) -> int:
    """Print the tables, what no test mentions, and what is wrong; return the exit status."""
    found = tables()
    for table in found:
        if "--brief" not in arguments:
            print(f"\n{table.title}: Apache's | ours | tested by\n")
            for line in table.lines():
                print(line)
    print()
    for table in found:
        print(table.totals())
    for table in found:
        print(f"\nno test mentions, {table.title}: {', '.join(table.untested) or 'none'}")
    broken = [sentence for table in found for sentence in table.broken]
    undocumented = sorted(set(apache("verbs")) & ours.verbs().keys() - ours.documented_verbs())
    broken += [f"verbs: docs/shell.rst does not explain {name}" for name in undocumented]
    for sentence in broken:
        print(sentence, file=sys.stderr)
    return 1 if broken else 0


def tables() -> list[Table]:
    """The four tables."""
    tests, attributes = sources(), ours.attributes()

    def key_mentions(key: str) -> Mapping[str, str]:
        return {name: rf"\b{re.escape(name)}\b" for name in (key, attributes.get(key, key))}

    return [
        make_table("verbs", apache("verbs"), ours.verbs(), {}, _verb_mentions, _of_rooms(tests, "cli", "interop")),
        make_table("operations", apache("operations"), ours.operations(), {}, _path_mentions, tests),
        make_table("metrics", apache("metrics"), ours.metrics(), reasons.METRICS, _metric_mentions, tests),
        make_table("keys", apache("keys"), ours.keys(), reasons.KEYS, key_mentions, tests),
    ]


def _of_rooms(tests: Mapping[str, str], *rooms: str) -> Mapping[str, str]:
    return {name: text for name, text in tests.items() if name.partition(".")[0] in rooms}


def _verb_mentions(verb: str) -> Mapping[str, str]:
    return {verb: rf"[\"']{re.escape(verb)}[\"' ]"}


def _path_mentions(operation: str) -> Mapping[str, str]:
    """A path as it is, or below the root that a test adds."""
    path = operation.partition(" ")[2]
    tail = path.removeprefix("/api/v1/")
    below = "/".join(tail.split("/")[1:])
    return {
        path: rf"{re.escape(path)}(?![\w/])",
        below or tail: rf"[\"'](?:bookie|autorecovery|ledger|config)?/?{re.escape(below or tail)}[\"'?]",
    }


def _metric_mentions(metric: str) -> Mapping[str, str]:
    """A name with its prefix or, after a constant that has this, without."""
    prefix = r"(?:bookie_journal_JOURNAL_|bookie_journal_|bookkeeper_server_|bookie_|auditor_|replication_worker_)"
    tail = re.sub(f"^{prefix}", "", metric).replace("<directory>", "X")
    return {metric: rf"\b{re.escape(metric)}", tail: rf"[\"'}}]{re.escape(tail)}(?:[\"'{{ ]|_count|_sum)"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
