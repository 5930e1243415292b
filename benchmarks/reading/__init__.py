"""Readers that follow, and ledgers whose entries are spread over bookies."""
