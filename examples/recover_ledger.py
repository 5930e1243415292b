"""Closes a ledger whose writer is gone and prints what it acknowledged, and maybe a little more.

``python examples/recover_ledger.py [URI [LEDGER]]``; without a ledger one is made whose writer disappears.
"""

from command_line import run

from bookkeeper_twisted import BookKeeper, temporary_cluster


async def abandon(reactor: object, uri: str) -> int:
    """A writer that dies: it appends and never closes."""
    async with await BookKeeper.connect(reactor, uri) as client:
        ledger = await client.create_ledger(ensemble_size=1, write_quorum=1, ack_quorum=1)
        await ledger.append(b"last words")
        return ledger.ledger_id


async def main(reactor: object, uri: str, ledger: int = -1) -> None:
    """Opens with recovery: a writer that is alive after all is fenced and can append no more."""
    ledger_id = ledger if ledger >= 0 else await abandon(reactor, uri)
    async with await BookKeeper.connect(reactor, uri) as client:
        reader = await client.open_ledger(ledger_id, recover=True)
        print(f"ledger {ledger_id} is closed, its last entry is {reader.last_add_confirmed}")
        async for entry in reader.entries():
            print(entry.entry_id, entry.data.decode())


if __name__ == "__main__":
    run(main, temporary_cluster)
