"""Writes the doors: ``python -m tests.doors``."""

from .generator import outdated, write

if __name__ == "__main__":
    names = [path.name for path in outdated()]
    write()
    print(f"{len(names)} modules changed")
