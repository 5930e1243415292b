"""Real bookies that are killed and paused under load: ``make chaos``, and a short run in the tests.

Theory of operation.  :mod:`.cluster` runs bookies as processes on one SQLite metadata file, :mod:`.faults`
kills and pauses one of them at a time, :mod:`.writer` appends and takes a new ledger when one ends, and
:mod:`.history` remembers what was sent and what was acknowledged.  When all bookies are up again,
:mod:`.run` opens every ledger with recovery and compares all of it with that memory (S1, S12-S18).
"""
