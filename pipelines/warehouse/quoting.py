"""Words that go into SQL and come out of libraries, made fit for it."""


def sql_string(value: object) -> str:
    """A value as an SQL string literal, for the statements that take no parameters."""
    return "'" + str(value).replace("'", "''") + "'"


def first_line(error: object) -> str:
    """The first line of a library's message, fit to be shown: damaged files put any bytes into it.

    The error's type where it has no message.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return "".join(character if character.isprintable() else "?" for character in lines[0][:500])
