"""Tests of the index of Apache's bookie."""
