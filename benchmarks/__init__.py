"""What a bookie costs: rates, latencies, CPU seconds, syncs and socket writes.

``python -m benchmarks [PATTERN ...]`` starts a bookie on loopback, drives it with a generator that speaks
the bare wire protocol from another process, and prints a table; it takes a minute or two.

``python -m benchmarks compare [PATTERN ...]`` does the same to our bookie and Apache's in turn, over the
workloads of :mod:`.workloads`, and judges the ratios by :mod:`.targets`; it writes ``results.md`` and
``results.svg``.  It wants Java, and Maven or a folder of Apache's jars.  With ``--against TREE`` the bookie of another
source tree takes turns, too, and tells what is the host's from what is the tree's.  ``results_2026_11_21.md`` is the
last run of all workloads, on another host.

``python -m benchmarks buffers`` and ``python -m benchmarks pool`` measure parts of the client against other ways to
do the same, as ratios of one process; ``python -m benchmarks doors`` the two ways to asyncio; ``python -m benchmarks
compaction`` how exactly compaction keeps its limit, and what it costs and wins, with ``--apache`` beside Apache's;
``python -m benchmarks exchange`` the exchange of an index with Apache's bookie; ``python -m benchmarks rereplication``
how fast lost replicas are made again, how exactly that keeps its limits, and what it costs appends; ``python -m
benchmarks ledger_check`` the same of a check of all ledgers; ``python -m benchmarks spark``, ``spark_ledgers`` and
``spark_limits`` what Spark costs beside other ways, what many ledgers cost its driver, and how exactly it keeps the
limit of a cluster; ``repair`` a lost bookie repaired by Spark and by a replication worker.

``python -m benchmarks following`` measures how soon an append reaches a reader that follows, at each door, and what
that costs; ``python -m benchmarks scale`` what 10 million entries in 100,000 ledgers take of memory, and of time to
start;
``python -m benchmarks striped`` how fast ledgers are read of which each bookie has a part of the entries only;
``python -m benchmarks many_ledgers`` what adds to many ledgers cost, ours and Apache's in turn; ``python -m benchmarks
scrapes`` what scrapes of ``/metrics`` cost adds.

With ``--raw FILE`` an external generator takes the place of ours where it offers the operation.
Timings on a shared machine are noisy: compare figures of one run, as ratios.
"""
