"""The command line: one command per kind of job."""

from __future__ import annotations

import sys

from bpd.cli import making, reporting, using
from bpd.cli.application import app
from bpd.errors import BpdError

__all__ = ["app", "main", "making", "reporting", "using"]


def main() -> None:
    """Run the command line; a `BpdError` is printed without a traceback and ends with status 1."""
    try:
        app()
    except BpdError as error:
        print(f"bpd: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"bpd: {place}{error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("bpd: interrupted; the same command resumes or starts again", file=sys.stderr)
        sys.exit(130)
