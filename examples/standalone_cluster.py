"""Three bookies in one process; a ledger on all of them is read while one is down.

``python examples/standalone_cluster.py [DIRECTORY]``.  The command line for the same cluster is
``twistd -n bookie --standalone 3 --bookiePort 0 --data DIRECTORY``.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from command_line import run

from bookkeeper_twisted import BookieConfig, BookKeeper, make_bookie, standalone_configs


async def main(reactor: object, directory: str) -> None:
    """Starts the cluster, writes, stops a bookie, reads back, stops the others."""
    configs = standalone_configs(BookieConfig(bookie_port=0), 3, str(Path(directory).absolute()))
    bookies = [make_bookie(reactor, config) for config in configs]
    for bookie in bookies:
        await bookie.start()
    async with await BookKeeper.connect(reactor, configs[0].metadata_service_uri) as client:
        ledger = await client.create_ledger(ensemble_size=3, write_quorum=3, ack_quorum=2)
        await ledger.append(b"on three bookies")
        await ledger.close()
        await bookies.pop().stop()
        reader = await client.open_ledger(ledger.ledger_id)
        async for entry in reader.entries():
            print(f"{entry.data.decode()}, read with {len(bookies)} of them up")
    while bookies:
        await bookies.pop().stop()


if __name__ == "__main__":
    run(main, TemporaryDirectory)
