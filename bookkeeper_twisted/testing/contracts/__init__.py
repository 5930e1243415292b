"""One test suite for each interface; each class that provides the interface, real or fake, must pass it.

A test case derives from the class of a suite, or a function makes the test case.  It defines how the tested object is
made.  The suites for metadata stores are in :mod:`.metadata`.
"""
