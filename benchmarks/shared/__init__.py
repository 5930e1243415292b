"""What several benchmarks have in common: processes, loads, workloads, Apache's bookie, the machine."""
