"""A bookie inside an application: no server to install, and the log survives a crash of the application.

``python examples/embedded_bookie.py [DIRECTORY]``; run it again and the ledgers of earlier runs are still there.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from command_line import run

from bookkeeper_twisted import BookieConfig, BookKeeper, make_bookie


async def main(reactor: object, directory: str) -> None:
    """Starts a bookie, appends to a new ledger, lists all ledgers, stops the bookie."""
    data = str(Path(directory).absolute())
    config = BookieConfig(
        bookie_id="embedded", bookie_port=0, advertised_address="127.0.0.1", allow_loopback=True,
        listening_interface="127.0.0.1",
        journal_directories=(f"{data}/journal",), ledger_directories=(f"{data}/ledgers",),
    )  # fmt: skip
    bookie = make_bookie(reactor, config)
    await bookie.start()
    async with await BookKeeper.connect(reactor, config.metadata_service_uri) as client:
        ledger = await client.create_ledger(1, 1, 1)
        await ledger.append(b"the application was here")
        await ledger.close()
        async for ledger_id in client.list_ledgers():
            reader = await client.open_ledger(ledger_id)
            print(f"ledger {ledger_id}: {reader.last_add_confirmed + 1} entries, {reader.length} bytes")
    await bookie.stop()


if __name__ == "__main__":
    run(main, TemporaryDirectory)
