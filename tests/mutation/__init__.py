"""Deliberate defects that the tests have to notice; run by ``make mutate``.

A *plant* is one change of the source together with the test modules that should notice it.  ``plants_*.py`` list them,
each file for some rooms of the package::

    Plant(
        "a ledger ends one entry early", "codec/ends.py",
        "entry_id <= last", "entry_id < last", ["tests.codec.test_ends"], where="Ends.holds",
    )

The code is an expression or some statements, compared by their syntax tree inside of the named function or class;
:mod:`.fragment` has the rules.  :mod:`.runner` tries each plant in a copy of the tree: it makes the change, runs the
named tests until one fails, and takes the change back.  A plant is noticed if a test fails; a test that exceeds its
bounds does not count, since a net that hangs is torn, nor does a module that no longer loads.

Some tests plant a defect by themselves and fail if it is not noticed (the simulation, the crash enumerations, the
contract suites).  They stay where they are, and :mod:`.catalogue` names their classes.

A plant whose code does not occur exactly once in its function is an error of ``make test``: a change of that code, or
of the function's name, has to change the plant.  Where there is no code, :class:`.plant.TextPlant` replaces text.
"""
