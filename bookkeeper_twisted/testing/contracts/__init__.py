"""One test suite for each interface, which every provider of the interface passes, real or simulated.

A test case derives from the class of a suite, or has it made, and says how a provider is made.  :mod:`.metadata` has
the suites of metadata stores.
"""
