"""One test suite for each interface; each class that provides the interface, real or fake, must pass it.

The test case for one provider is a subclass of the suite's class, or a function makes it.  The test case defines how
the provider is made.  The suites for metadata stores are in :mod:`.metadata`.
"""
