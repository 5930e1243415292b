"""The text of a replication lock as every driver stores it."""

_LONGEST = 500


def stored_text(text: str) -> str:
    """One line of at most 500 characters; a longer text is cut.

    :param text: line breaks and other white space in it become one space.
    """
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
