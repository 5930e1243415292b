"""Checks, copies and the worker."""
