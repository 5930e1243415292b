"""A cluster in memory for the tests of applications, and doubles that the suites of the real things run on too.

:class:`MemoryCluster`, :func:`aio_cluster` and :func:`blocking_cluster` are for applications (``docs/testing.rst``).

:mod:`.executor` runs lanes step by step, :mod:`.contracts` holds one suite for each seam.
"""

from .cluster import MemoryCluster, aio_cluster, blocking_cluster

__all__ = ["MemoryCluster", "aio_cluster", "blocking_cluster"]
