"""A cluster in memory for tests of applications, and test doubles for tests of this package.

Applications use :class:`MemoryCluster`, :func:`aio_cluster` and :func:`blocking_cluster` (``docs/testing.rst``).

Each test double passes the same test suite as the real class that it replaces; the suites are in :mod:`.contracts`.
:mod:`.executor` runs storage work step by step, without threads.
"""

from .cluster import MemoryCluster, aio_cluster, blocking_cluster

__all__ = ["MemoryCluster", "aio_cluster", "blocking_cluster"]
