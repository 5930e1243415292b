"""Our bookie beside Apache's, over named workloads, with targets; and the quick check of ours alone."""
