"""The HTTP servers of bookies and of autorecovery: metrics, liveness and administration."""
