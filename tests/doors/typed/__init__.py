"""Programs that use all of the client through one door each, for type checkers: they are not run.

``assert_type`` says what a call gives.  An ignored error is one that a type checker has to find: a check without it
fails too, since an unused ``ignore`` is an error.
"""
