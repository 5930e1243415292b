"""Damages the files of a bookie, each in many ways, and looks at what it serves afterwards (S5, S9)."""
