"""Tests of the layer of the same name."""
