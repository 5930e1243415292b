"""``python -m bookkeeper_twisted``."""

from .cli.entry import main

if __name__ == "__main__":
    main()
