"""Starting a command in several processes on this machine, by `torchrun`'s own launcher, and telling how they ended."""

from __future__ import annotations

import logging
import os
import signal
import sys
import uuid
from collections.abc import Sequence

from bpd.errors import BpdError, Interrupted

_SAVING_SECONDS = 120


def run_in_processes(processes: int, arguments: Sequence[str]) -> None:
    """Run `bpd` with `arguments` in `processes` processes that know of each other, until all have ended.

    Raises `Interrupted` when they were asked to stop and saved their work, and `BpdError` naming the first one that
    failed or was killed; the others are then stopped.
    """
    from torch.distributed.elastic.multiprocessing.api import DefaultLogsSpecs, SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    # The launcher would print tables and tracebacks of its own; the processes have said what is to be said.
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        run_id=uuid.uuid4().hex,
        max_restarts=0,
        monitor_interval=0.1,
        logs_specs=DefaultLogsSpecs(log_dir=os.devnull),
        signals_to_handle="SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1",
        shutdown_timeout=_SAVING_SECONDS,
    )
    try:
        elastic_launch(config, sys.executable)("-m", "bpd.cli", *arguments)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode == os.EX_TEMPFAIL:
            raise Interrupted(
                f"{arguments[0]}: stopped as asked, and saved; the same command goes on from there"
            ) from None
        how = f"was killed by {_signal_name(-failure.exitcode)}" if failure.exitcode < 0 else "failed, see above"
        raise BpdError(
            f"{arguments[0]}: process {rank} of {processes} (number {failure.pid}) {how}; the others were stopped. "
            "The same command goes on from the last checkpoint"
        ) from None
    except SignalException as stopped:
        raise Interrupted(
            f"{arguments[0]}: stopped by {_signal_name(stopped.sigval)}; the same command goes on from what was saved"
        ) from None


def wanted_here(processes: int) -> bool:
    """Return whether this process is to start others: it is asked for several and is not one of them itself."""
    return processes > 1 and not started_by_torchrun()


def started_by_torchrun() -> bool:
    """Return whether `torchrun`, or what is like it, has started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ and "MASTER_ADDR" in os.environ


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
