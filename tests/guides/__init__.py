"""Follows the guides for operators on real processes: a bookie to break, and three others beside it.

``stage.Practice`` has the directory and the processes; the tests are in ``tests.integration``.
"""
