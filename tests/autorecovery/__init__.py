"""Tests of autorecovery."""
