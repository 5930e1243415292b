"""Spark beside other ways to read, and its limits."""
