"""The plugins that read the keys of encrypted ledgers from a file or from an environment variable."""

from bookkeeper_twisted.security.ledger_keys import EnvironmentKeys, FileKeys

file = FileKeys()
environment = EnvironmentKeys()
