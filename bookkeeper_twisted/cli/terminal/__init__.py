"""The terminal of the shell: questions, progress of long commands, the screen of ``top``, completion in bash.

Only this package writes to or reads from the terminal otherwise than line by line.  What it shows beside the lines of a
command goes to the error output, so that the standard output can be piped.
"""
