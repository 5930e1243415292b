"""Tests of blocking reads."""
