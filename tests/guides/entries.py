"""``python -m tests.guides.entries URI write COUNT COPIES SIZE`` or ``check LEDGER ...``: ledgers of known content."""

import sys

from bookkeeper_twisted.blocking import BookKeeper

ENTRIES = 100


def content(ledger_id: int) -> list[bytes]:
    """The entries of a ledger."""
    return [b"entry %d of ledger %d" % (n, ledger_id) for n in range(ENTRIES)]


def main(uri: str, what: str, *numbers: str) -> None:
    """Write ledgers and print their ids, or check them."""
    with BookKeeper.connect(uri) as bk:
        if what == "check":
            for ledger_id in map(int, numbers):
                assert [entry.data for entry in bk.open_ledger(ledger_id)] == content(ledger_id), ledger_id
            return
        count, copies, size = map(int, numbers)
        for _ in range(count):
            with bk.create_ledger(copies, copies, (copies + 2) // 2) as ledger:
                ledger.append_many([entry.ljust(size) for entry in content(ledger.ledger_id)])
            print(ledger.ledger_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
