"""Command lines: ``twistd bookie`` (:mod:`.tap`), ``twistd autorecovery`` and ``bookkeeper-twisted shell``.

Theory of operation of the shell: :mod:`.shell` parses the arguments by the tables of :mod:`.commands`, makes a
:class:`~.shell_command.ShellContext` and runs the function of the command, which returns the exit status.  A command
yields its results one by one, as rows: it makes a :class:`~.shell_rows.ShellRow`, whose class the table names, and
passes it to ``ShellContext.show``.  Only there is decided how it is printed: as the lines of Apache's text, which the
row itself knows, or as one JSON object a line, whose members are the fields of the row.  So no command prints a result
in two ways, and none keeps a list.

What else a command prints is not a result.  A *caption* stands around the rows of Apache's text, and is left out of
JSON.  A *message* says why there are no rows; with JSON it goes to the error output, where errors always go.  JSON is
one object a line because a reader can use each line as it comes, no reader or writer has to hold a long list in memory,
and the lines of a command that was interrupted are still JSON.
"""
