"""Appends of this tree and of another one, and the way of an append through the code."""
