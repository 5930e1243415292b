"""Claim logs beside other ways to queue messages."""
