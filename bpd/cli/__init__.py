"""The command line: one command per kind of job."""

from __future__ import annotations

import os
import sys

from bpd.cli import making, planning, reporting, using
from bpd.cli.application import Stopped, app
from bpd.errors import BpdError, Interrupted

__all__ = ["app", "main", "making", "planning", "reporting", "using"]


def main() -> None:
    """Run the command line.

    A `BpdError` is printed without a traceback and ends with status 1, or with 75 where it is an `Interrupted`.
    """
    try:
        app(prog_name="bpd")
    except BpdError as error:
        # Of several processes that were asked to stop, one speaks for all.
        if not isinstance(error, Interrupted) or os.environ.get("RANK", "0") == "0":
            print(f"bpd: {error}", file=sys.stderr)
        sys.exit(os.EX_TEMPFAIL if isinstance(error, Interrupted) else 1)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"bpd: {place}{error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except Stopped:
        print("bpd: interrupted; the same command resumes or starts again", file=sys.stderr)
        sys.exit(130)
