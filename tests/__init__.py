"""The test suite; run by ``make test``."""
