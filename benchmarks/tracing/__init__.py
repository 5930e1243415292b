"""Measures what traces cost appends."""
