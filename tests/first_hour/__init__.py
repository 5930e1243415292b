"""The first hour of a new user, from the documentation: install, quickstart, a container, Java's files, refusals.

``python -m tests.first_hour`` builds a source distribution, a wheel from it, and runs the commands and programs of
``README.rst`` and ``docs`` in an empty directory, with the wheel in a virtual environment that these commands make.
It prints a table and ends with a status that says whether all of it went well.
"""
