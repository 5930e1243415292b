"""A bookie with very many ledgers, scrapes beside adds, and the exchange of an index."""
