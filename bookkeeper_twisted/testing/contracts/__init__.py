"""One test suite for each interface; each class that provides the interface, real or fake, must pass it.

To test a class, derive a test case from the suite's class; some suites have a function that returns the test case.
The test case defines how an object of the tested class is made.  The suites for metadata stores are in
:mod:`.metadata`.
"""
