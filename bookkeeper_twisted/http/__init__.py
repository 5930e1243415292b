"""HTTP resources of a bookie: metrics and liveness."""
