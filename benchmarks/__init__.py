"""What bookies, clients and Spark cost: rates, latencies, CPU seconds, syncs and socket writes.

``python -m benchmarks`` lists the commands (:mod:`.commands`), ``python -m benchmarks COMMAND --help`` tells about one.
``check`` starts a bookie on loopback, drives it with a generator that speaks the bare wire protocol from another
process, and prints a table.  ``compare`` does the same to our bookie and Apache's in turn, over the workloads of
:mod:`.shared.workloads`, and judges the ratios by :mod:`.compare.targets`; it writes ``results.md``, ``results.svg``
and ``results/HOST.json``, from which ``figures`` makes the figures of the README.  It wants Java, and Maven or a folder
of Apache's jars.  With ``--against TREE`` the bookie of another source tree takes turns, too, and tells what is the
host's from what is the tree's.  ``results_2026_11_21.md`` is the last run of all workloads, on another host;
``figures.rst`` has what other commands found, and when.

With ``--raw FILE`` an external generator takes the place of ours where it offers the operation.
Timings on a shared machine are noisy: compare figures of one run, as ratios.

The package imports nothing of ``tests``; what both need is in :mod:`.shared`.
"""
