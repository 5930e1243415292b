"""The terminal of the shell: questions, progress of long commands, the screen of ``top``, completion in bash.

All other code of the shell prints only whole lines.  Progress is printed to the error output, and so are questions if
the standard output is a file or a pipe.
"""
