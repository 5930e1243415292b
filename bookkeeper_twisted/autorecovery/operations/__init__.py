"""The operations of autorecovery that shell and HTTP offer: its switch and state, decommissions, recoveries by hand."""
