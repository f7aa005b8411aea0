"""Kill a run on the test cluster again and again at random moments, and hold what it ends with to an undisturbed run.

    make smoke && tests/cluster/start
    python -m tests.cluster.kills --expected results/smoke --folder /tmp/kills --kills 10
    tests/cluster/stop

`--expected` is what the same configuration gave undisturbed, on this machine or on the cluster. Each kill is of one
running job (`scancel`) or of the run itself (SIGKILL; its jobs run on, and are cancelled as docs/cluster.md says), and
each run that ended is followed by the same command. Fails where a table, a record or a model differs. The seed is
printed: it draws the same moments again.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.cluster.driver import jobs, wait_until_gone
from tests.cluster.profile import QUICK, edited_profile
from tests.workflow.driver import SNAKEFILE, environment, snakemake, snakemake_command
from tests.workflow.fingerprints import differences, fingerprints


class KilledRun:
    """One run of a scale in `folder`, its driver a process of its own, that can be killed and goes on."""

    def __init__(self, folder: Path, scale: str) -> None:
        self.folder, self.words = folder, ("--config", f"scale={scale}")
        self.profile = edited_profile(folder, "slurm-status-command", "slurm-no-account", gpu_per_training=2)
        self.driver: subprocess.Popen | None = None

    def start(self) -> None:
        """Call the command, the same each time; its words are added to driver.log."""
        with open(self.folder / "driver.log", "a", encoding="utf-8") as log:
            self.driver = subprocess.Popen(
                snakemake_command(*self.words, "--profile", self.profile, *QUICK, snakefile=SNAKEFILE),
                cwd=self.folder,
                env=environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def ended_within(self, seconds: float) -> bool:
        """Return whether the run ends by itself within so many seconds."""
        try:
            self.driver.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill_driver(self) -> str:
        """Kill the driver with SIGKILL, cancel the jobs it leaves behind and unlock the folder."""
        os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait()
        left = jobs(self.folder)
        if left:
            subprocess.run(["scancel", *left], check=True)
            wait_until_gone(self.folder)
        unlocked = snakemake(*self.words, "--unlock", folder=self.folder)
        assert unlocked.returncode == 0, unlocked.stdout + unlocked.stderr
        return f"the driver, {len(left)} jobs left behind"

    def kill_job(self, chance: random.Random) -> str | None:
        """Cancel one of the running jobs and return its number; None where none runs."""
        running = jobs(self.folder, "running")
        if not running:
            return None
        number = chance.choice(running)
        subprocess.run(["scancel", number], check=True)
        return f"job {number}, one of {len(running)}"


def kill_until_done(run: KilledRun, kills: int, chance: random.Random, longest: float) -> None:
    """Run to the end through so many kills, `longest` seconds apart at most."""
    done = 0
    run.start()
    while True:
        ended = run.ended_within(chance.uniform(1, longest)) if done < kills else run.ended_within(7200)
        if ended and run.driver.returncode == 0:
            break
        if ended:
            print(f"the run ended with {run.driver.returncode}; the same command again", flush=True)
            run.start()
            continue
        # Of every three kills, one is of the driver.
        said = run.kill_driver() if chance.random() < 1 / 3 else run.kill_job(chance)
        if said is None:
            continue
        done += 1
        print(f"{time.strftime('%H:%M:%S')} kill {done} of {kills}: {said}", flush=True)
        if run.driver.returncode is not None:
            run.start()
    assert done == kills, f"the run was done after {done} of {kills} kills: let less time pass between them"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expected", type=Path, required=True, help="the results of an undisturbed run")
    parser.add_argument("--folder", type=Path, required=True, help="where to run; must not exist")
    parser.add_argument("--scale", default="smoke")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--longest", type=float, default=60, help="seconds between kills, at most")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    words = parser.parse_args()
    expected = fingerprints(words.expected)
    if not expected:
        parser.error(f"--expected {words.expected} holds no results")
    words.folder.mkdir(parents=True)
    print(f"seed {words.seed}", flush=True)
    run = KilledRun(words.folder.resolve(), words.scale)
    began = time.monotonic()
    kill_until_done(run, words.kills, random.Random(words.seed), words.longest)
    different = differences(expected, run.folder / "results" / words.scale)
    print(f"{words.kills} kills in {time.monotonic() - began:.0f} s; {len(expected)} files compared", flush=True)
    if different:
        sys.exit("different from the undisturbed run: " + ", ".join(different))
    print("all as in the undisturbed run")


if __name__ == "__main__":
    main()
