"""The one exception that reaches a person: what was wrong, where, and what to do."""


class BpdError(Exception):
    """A problem that a person can mend; commands print its message, without a traceback, and exit with status 1."""
