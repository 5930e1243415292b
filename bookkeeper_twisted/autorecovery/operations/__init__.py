"""The operations of autorecovery for the shell and the HTTP server: switch, state, decommission, manual recovery."""
