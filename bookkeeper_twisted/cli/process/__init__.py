"""The process that ``twistd`` runs: its exit status, its signals, and the service manager that has started it."""
