"""Key providers of encrypted ledgers: a file, and an environment variable."""

from bookkeeper_twisted.security.ledger_keys import EnvironmentKeys, FileKeys

file = FileKeys()
environment = EnvironmentKeys()
