"""The cost of a compaction, and how exactly it keeps its limits."""
