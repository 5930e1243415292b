"""``python -m bookkeeper_twisted``."""

from .cli.main import main

if __name__ == "__main__":
    main()
