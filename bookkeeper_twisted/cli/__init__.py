"""Command lines: ``twistd bookie`` (:mod:`.tap`), ``twistd autorecovery`` and ``bookkeeper-twisted shell``.

Theory of operation of the shell: :mod:`.shell` parses the arguments by the tables of :mod:`.commands`, makes a
:class:`~.shell_command.ShellContext` and calls the function of the command, which returns the exit status.  For each
result, a command makes a *row*: a :class:`~.shell_rows.ShellRow`, whose class the table names.  The command passes each
row at once to ``ShellContext.show``, which prints the row in one of two forms: as lines in the format of Apache's
shell, which ``ShellRow.text`` returns, or as one JSON object in one line, whose members are the fields of the row.

A command may also print lines that are not results.  A *caption* is a line that Apache's shell prints before or after
the rows; it is not printed with ``-json``.  A *message* says why there are no rows; with ``-json`` it is printed to the
error output, as errors always are.  JSON is printed as one object per line, not as one list, for three reasons: a
program can use each line as soon as it is printed, the list need not fit into memory, and the output of an interrupted
command is still valid.
"""
