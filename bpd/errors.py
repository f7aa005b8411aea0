"""What reaches a person when a command does not end well: what was wrong, where, and what to do."""


class BpdError(Exception):
    """A problem that a person can mend; commands print its message, without a traceback, and exit with status 1."""


class Interrupted(BpdError):
    """A job stopped as it was asked to, with its work saved; commands exit with status 75, "try again later"."""
