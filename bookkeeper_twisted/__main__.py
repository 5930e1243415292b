"""The module that ``python -m bookkeeper_twisted`` runs."""

from .cli.entry import main

if __name__ == "__main__":
    main()
