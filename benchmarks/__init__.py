"""What a bookie costs: rates, latencies, CPU seconds, syncs and socket writes.

``python -m benchmarks [PATTERN]`` starts a bookie on loopback, drives it with a generator that speaks
the bare wire protocol from another process, and prints a table with the target beside each figure.
With ``--apache DIR`` (a folder of Apache BookKeeper's jars, ZooKeeper's included) an Apache bookie is
driven by the same generator in turn, and the ratios are judged.  ``--raw FILE`` uses an external
generator with the options of Apache's kit instead of ours where it offers the case.

Timings on a shared machine are noisy: compare figures of one run, as ratios.
"""
