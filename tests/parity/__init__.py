"""Compares what Apache BookKeeper has with what is here: verbs, HTTP operations, metrics, configuration keys.

``python -m tests.parity`` prints the tables; ``--brief`` leaves out the rows.  It ends with status 1 if something that
Apache has is missing here and :mod:`.reasons` does not say why, or if a reason there explains nothing any more.
"""
