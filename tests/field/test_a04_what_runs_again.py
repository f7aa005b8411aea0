"""A04: everything re-runs for no reason, or nothing re-runs when it should.

Kind: the dependency record contains noise, or misses what matters. After a whole run, test_finished_run.py of
tests/workflow holds another clone, another number of cores, a comment, an edited module, and each kind of changed
setting to the jobs that they plan. Here the run is stood for by empty files that Snakemake was told are up to date, so
that the record alone is seen. Further cases: what differs between two calls of the same command (hash seed, locale,
time zone), the same config written differently, and a rule whose command was edited.
"""

import shutil

import pytest
import yaml

from tests.field.tiny_training import config_with
from tests.workflow.driver import ROOT, planned_jobs, snakemake

pytestmark = pytest.mark.xdist_group("a04")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder in which all products of the translation half are recorded as up to date."""
    folder = tmp_path_factory.mktemp("a04")
    values = config_with()
    values["translation"]["heads"]["block_sizes"] = [3]
    (folder / "tiny.yaml").write_text(yaml.safe_dump(values))
    words = ["translation", "--configfile", "tiny.yaml"]
    planned = snakemake(*words, "--dry-run", folder=folder)
    said = planned.stdout + planned.stderr
    for line in said.splitlines():
        kind, _, names = line.strip().partition(": ")
        for name in names.split(", ") if kind == "output" else []:
            path = folder / name.removesuffix(" (directory)")
            path.mkdir(parents=True) if path.name == "tensorboard" else _make(path)
    # Forced: of files that it finds, Snakemake would otherwise record nothing.
    touched = snakemake(*words, "--touch", "--forceall", folder=folder)
    assert touched.returncode == 0, touched.stdout + touched.stderr
    return folder


def _make(path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def plan(folder, *words, config: str = "tiny.yaml", clone=ROOT) -> set[str]:
    words = ("translation", "--dry-run", "--configfile", config, *words)
    snakefile = clone / "workflow" / "Snakefile"
    return set(planned_jobs(snakemake(*words, folder=folder, snakefile=snakefile, clone=clone))) - {"translation"}


def test_a04_the_same_config_plans_nothing_whatever_differs_between_two_calls(run, monkeypatch):
    values = yaml.safe_load((run / "tiny.yaml").read_text())

    def turned(value):
        return {key: turned(value[key]) for key in reversed(value)} if isinstance(value, dict) else value

    text = "# A remark.\n" + yaml.safe_dump(turned(values), sort_keys=False, default_flow_style=True)
    assert "1.0e-09" in text
    (run / "turned.yaml").write_text(text.replace("1.0e-09", "0.000000001"))
    for name, value in {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "TMPDIR": str(run)}.items():
        monkeypatch.setenv(name, value)
    assert plan(run, "--cores", "5", config="turned.yaml") == set()


def test_a04_a_changed_decode_setting_plans_no_data_and_no_training(run):
    """One that gives a file another name, and one that only the record knows of."""
    planned = plan(
        run, "--config", "translation={decoding: {approximate_criteria: [top3], baseline_length_penalty: 0.7}}"
    )
    later = {"score_translation", "tables", "figures"}
    assert {"decode_both_k3", "decode_base"} | later <= planned
    assert all(name.startswith("decode_") for name in planned - later)


def test_a04_another_seed_of_the_base_plans_its_training_and_all_that_follows_but_no_data(run):
    planned = plan(run, "--config", "translation={base: {seed: 9}}")
    assert {"train_base", "train_regular_k3", "train_both_k3", "decode_base", "decode_both_k3", "tables"} <= planned
    assert not {"prepare_text", "train_teacher", "distill_shard", "merge_distillation"} & planned


def test_a04_an_edited_command_of_a_rule_runs_that_rule_and_what_follows(run, tmp_path):
    clone = tmp_path / "edited"
    for name in ("bpd", "workflow", "config"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "environment.yml", clone / "environment.yml")
    rules = clone / "workflow" / "rules" / "translation.smk"
    text = rules.read_text(encoding="utf-8")
    assert text.count("bpd score --data") == 1
    rules.write_text(text.replace("bpd score --data", "bpd score --task translation --data"), encoding="utf-8")
    assert plan(run, clone=clone) == {"score_translation", "tables", "figures"}
