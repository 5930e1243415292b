"""What an operator asks of autorecovery by shell or HTTP: its switch and state, decommissions, recoveries by hand."""
