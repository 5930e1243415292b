"""Deliberate defects that the tests have to notice; run by ``make mutate``.

A *plant* is one change of the source, a text in the place of another, together with the test modules that should
notice it.  ``plants_*.py`` list them, one line a plant, each file for some rooms of the package.  :mod:`.runner`
tries each in a copy of the tree: it makes the change, runs the named tests until one fails, and takes the change
back.  A plant is noticed if a test fails; a test that exceeds its bounds does not count, since a net that hangs is
torn, nor does a module that no longer loads.

Some tests plant a defect by themselves and fail if it is not noticed (the simulation, the crash enumerations, the
contract suites).  They stay where they are, and :mod:`.catalogue` names their classes.

A plant whose text no longer occurs is an error of ``make test``: a change of the source that moves a text has to
move the plant with it.
"""
