"""The terminal of the shell: questions to the user, progress of long commands, and the screen of ``top``.

Only this package writes to or reads from the terminal otherwise than line by line.  What it shows beside the lines of a
command goes to the error output, so that the standard output can be piped.
"""
