"""``python -m tests.client.stress OFFERS``: threads that append to senders that fail, for as long as you like.

Eight threads make OFFERS each; what comes out wrong is an error.  ``python -m benchmarks buffers --stress`` runs it.
"""

import argparse
import random
import time
from collections.abc import Sequence

from .claims.log_stress import Stress
from .writing.writer_stress import WriterStress

_THREADS = 8


def main(arguments: Sequence[str] | None = None) -> None:
    """Run both kinds of stress, and print what each took."""
    parser = argparse.ArgumentParser(prog="python -m tests.client.stress", description=__doc__)
    parser.add_argument("offers", type=int, help="of each thread")
    parser.add_argument("--seed", type=int, default=1, help="of sizes, aborts, deaths and failures (1)")
    options = parser.parse_args(arguments)
    for name, stress in (
        ("connections that break", lambda: Stress(random.Random(options.seed), _THREADS, options.offers).run()),
        ("a writer whose bookies fail", lambda: WriterStress.of(options.seed, _THREADS, options.offers)),
    ):
        started = time.perf_counter()
        stress()
        seconds = time.perf_counter() - started
        what = f"{_THREADS} threads x {options.offers}, seed {options.seed}"
        print(f"stress, {name}: {what}: {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
