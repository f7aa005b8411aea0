"""Kill a random process of a run with SIGKILL at a random moment, and hold its end to an undisturbed run's.

    make test-kill
    python -m tests.workflow.kills --expected results/smoke --folder /tmp/kills --rounds 20

`--expected` is what the same configuration gave undisturbed on this machine. Each round is a run of its own in a new
folder: one process of it, the driver, a shell or a command, is killed at a moment of the run, and the same command is
given again until it succeeds, after `--unlock` where the driver died, as the README says. What the driver leaves behind
runs on beside it. Fails where a table, a record or a model differs. The seed is printed: it draws the same moments
again.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.workflow.driver import ROOT, SNAKEFILE, environment, snakemake, snakemake_command
from tests.workflow.fingerprints import differences, fingerprints

# So often is the command given again: what a killed driver left behind may hold a folder for a while.
ATTEMPTS = 20


class Round:
    """One run in `folder` with `words` of snakemake's, of which one process is killed."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self.folder, self.words = folder, words
        self.driver: subprocess.Popen | None = None

    def start(self) -> None:
        """Give the command, the same each time; its words are added to driver.log."""
        with open(self.folder / "driver.log", "a", encoding="utf-8") as log:
            self.driver = subprocess.Popen(
                snakemake_command(*self.words, snakefile=SNAKEFILE),
                cwd=self.folder,
                env=environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill_one(self, chance: random.Random) -> str:
        """Kill one process of the run with SIGKILL and return which."""
        driver = psutil.Process(self.driver.pid)
        processes = [driver, *driver.children(recursive=True)]
        victim = chance.choice(processes)
        told = "the driver" if victim == driver else " ".join(victim.cmdline())[:60]
        os.kill(victim.pid, signal.SIGKILL)
        if victim == driver:
            self.driver.wait()
            unlocked = snakemake(*self.words, "--unlock", folder=self.folder)
            assert unlocked.returncode == 0, unlocked.stdout + unlocked.stderr
        return f"{told}, one of {len(processes)}"

    def finish(self) -> int:
        """Give the command again until it succeeds; return how often."""
        again = 0
        while self.driver.wait() != 0:
            again += 1
            assert again <= ATTEMPTS, f"it does not succeed again; see {self.folder / 'driver.log'}"
            # After the first time, what was left behind has a moment to end.
            time.sleep(0 if again == 1 else 5)
            self.start()
        return again


def one_round(folder: Path, words: list[str], chance: random.Random, longest: float) -> str:
    """Run, kill and finish; return what was killed and when. A run that ends before its moment is killed sooner."""
    while True:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        run = Round(folder, words)
        run.start()
        moment = chance.uniform(1, longest)
        try:
            run.driver.wait(timeout=moment)
        except subprocess.TimeoutExpired:
            told = run.kill_one(chance)
            return f"after {moment:.0f} s {told}; given again {run.finish()} times"
        longest = moment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expected", type=Path, required=True, help="the results of an undisturbed run")
    parser.add_argument("--folder", type=Path, required=True, help="where to run, a folder a round")
    parser.add_argument("--scale", default="smoke")
    parser.add_argument("--configfile", type=Path, help="instead of a scale's own")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--longest", type=float, default=180, help="seconds until the kill, at most")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    asked = parser.parse_args()
    expected = fingerprints(asked.expected)
    if not expected:
        parser.error(f"--expected {asked.expected} holds no results")
    words = ["--configfile", str(asked.configfile)] if asked.configfile else ["--config", f"scale={asked.scale}"]
    print(f"seed {asked.seed}; {len(expected)} files to be as in {asked.expected}", flush=True)
    chance = random.Random(asked.seed)
    for count in range(1, asked.rounds + 1):
        folder = asked.folder.resolve() / f"round_{count}"
        began = time.monotonic()
        told = one_round(folder, words, chance, asked.longest)
        different = differences(expected, folder / "results" / asked.scale)
        print(f"round {count} of {asked.rounds}, {time.monotonic() - began:.0f} s: {told}", flush=True)
        if different:
            sys.exit(f"{folder}: different from the undisturbed run: " + ", ".join(different))
        shutil.rmtree(folder)
    print(f"all {asked.rounds} rounds ended as the undisturbed run in {ROOT}")


if __name__ == "__main__":
    main()
