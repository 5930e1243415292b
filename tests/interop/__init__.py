"""Interoperation with Apache BookKeeper: clients, bookies and tools of either side on the same ledgers."""
