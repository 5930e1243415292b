"""A cluster in memory for tests of applications, and test doubles that pass the same suites as the real providers.

:class:`MemoryCluster`, :func:`aio_cluster` and :func:`blocking_cluster` are for applications (``docs/testing.rst``).

:mod:`.executor` runs lanes step by step, :mod:`.contracts` holds one suite for each seam.
"""

from .cluster import MemoryCluster, aio_cluster, blocking_cluster

__all__ = ["MemoryCluster", "aio_cluster", "blocking_cluster"]
