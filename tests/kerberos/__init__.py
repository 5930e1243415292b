"""Kerberos: a real KDC on loopback, and what uses it."""
