"""The whole workflow on a tiny config: what it leaves, and what it would run again."""

import json
import re
import shutil
from pathlib import Path

import pandas
import pytest

from bpd.config import load_config
from bpd.planning.jobs import STAGES, jobs_of
from bpd.provenance import count_cards
from tests.workflow.driver import ROOT, planned_jobs, snakemake

pytestmark = pytest.mark.xdist_group("finished_run")


# What is made of the tables, and of both halves.
LATER = ("speed_tables", "speed_figures", "scorecard", "cost", "results_page")


def plan(run, *words, clone: Path = ROOT, config: Path | None = None) -> dict[str, int]:
    snakefile = clone / "workflow" / "Snakefile"
    words = ("--dry-run", "--configfile", config or run.config, *words)
    return planned_jobs(snakemake(*words, folder=run.folder, snakefile=snakefile, clone=clone))


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """The checkout again in another place, all its files younger than any product."""
    folder = tmp_path_factory.mktemp("clone") / "again"
    for name in ("bpd", "workflow", "config"):
        shutil.copytree(
            ROOT / name, folder / name, copy_function=shutil.copyfile, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copyfile(ROOT / "environment.yml", folder / "environment.yml")
    return folder


def test_tables_and_figures_are_there_and_agree_with_the_records(finished_run):
    tables = finished_run.folder / "results" / "tiny" / "tables"
    table = pandas.read_csv(tables / "table1.csv").set_index(["k", "setting"])
    for setting in ("regular", "both"):
        folder = finished_run.folder / "results" / "tiny" / "translation" / f"{setting}_k3" / "decode" / "dev"
        records = [json.loads(line) for line in (folder / "exact.jsonl").read_text(encoding="utf-8").splitlines()]
        block = sum(len(record["token_ids"]) for record in records) / sum(record["iterations"] for record in records)
        assert table.loc[(3, setting), "mean_accepted_block_size"] == pytest.approx(block)
    for name in ("table1.md", "table1.tex", "approximate.csv", "approximate.md", "scores.csv", "trace.md"):
        assert (tables / name).stat().st_size > 0
    figures = finished_run.folder / "paper_figures" / "tiny"
    assert len(list(figures.glob("*.pdf"))) == len(list(figures.glob("*.png"))) == 11


def test_table_2_agrees_with_the_records(finished_run):
    results = finished_run.folder / "results" / "tiny"
    table = pandas.read_csv(results / "tables" / "table2.csv").set_index(["k", "setting"])
    for setting, model, criterion in (
        ("regular", "regular_k3", "exact"),
        ("approximate", "regular_k3", "distance2"),
        ("both", "fine_tuning_k3", "distance2"),
    ):
        path = results / "super_resolution" / model / "decode" / "dev" / f"{criterion}.jsonl"
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert all(len(record["token_ids"]) == 8 * 8 * 3 for record in records)
        block = sum(len(record["token_ids"]) for record in records) / sum(record["iterations"] for record in records)
        assert table.loc[(3, setting), "mean_accepted_block_size"] == pytest.approx(block)
    assert "not collected" in (results / "tables" / "table3.md").read_text(encoding="utf-8")
    assert (results / "super_resolution" / "survey" / "survey.html").stat().st_size > 0


def test_votes_in_their_folder_fill_table_3(finished_run, tmp_path):
    survey = finished_run.folder / "results" / "tiny" / "super_resolution" / "survey"
    assert plan(finished_run) == {}
    (survey / "votes").mkdir()
    try:
        (survey / "votes" / "ada.csv").write_text("")
        assert plan(finished_run) == {
            "score_survey": 1, "table3": 1, "scorecard": 1, "cost": 1, "results_page": 1,
        }  # fmt: skip
    finally:
        shutil.rmtree(survey / "votes")
    assert plan(finished_run) == {}


def test_every_job_left_a_log_with_what_it_said(finished_run):
    logs = {path.stem: path for path in (finished_run.folder / "results" / "tiny" / "logs").glob("*.log")}
    text = {"prepare_text", "train_base", "distill_shard_1", "decode_both_k3", "score_translation", "tables"}
    images = {
        "prepare_images",
        "train_images_base",
        "decode_images_regular_k1",
        "score_images",
        "build_survey",
        "table3",
    }
    assert text | images <= set(logs)
    assert "dev_bleu" in logs["train_base"].read_text(encoding="utf-8")


def test_every_job_left_a_record_and_the_cost_is_their_sum(finished_run):
    results = finished_run.folder / "results" / "tiny"
    records = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (results / "benchmarks").glob("*.jsonl")
    }
    jobs = jobs_of(load_config(finished_run.config))
    assert set(records) == {job.name for job in jobs}
    table = pandas.read_csv(results / "tables" / "cost.csv").set_index("stage")
    counted = [job for job in jobs if job.name not in ("cost", "results_page")]
    for stage in [*STAGES, "all"]:
        mine = [records[job.name] for job in counted if stage in (job.stage, "all")]
        assert table.loc[stage, "jobs"] == table.loc[stage, "recorded"] == len(mine)
        assert table.loc[stage, "wall_hours"] == pytest.approx(sum(record["s"] for record in mine) / 3600)
        sampled = [record["max_rss"] for record in mine if record["max_rss"] != "NA"]
        assert table.loc[stage, "peak_memory_gigabytes"] == pytest.approx(max(sampled) * 1024**2 / 1e9)
    assert (table["gpu_hours"] == 0).all() == (not count_cards())


def test_a_lost_or_changed_record_of_a_job_runs_nothing_again(finished_run, tmp_path):
    benchmarks = finished_run.folder / "results" / "tiny" / "benchmarks"
    kept = tmp_path / "kept"
    shutil.copytree(benchmarks, kept)
    try:
        (benchmarks / "train_base.jsonl").unlink()
        (benchmarks / "train_teacher.jsonl").write_text("{}")
        assert plan(finished_run) == {}
        shutil.rmtree(benchmarks)
        assert plan(finished_run) == {}
    finally:
        shutil.copytree(kept, benchmarks, dirs_exist_ok=True)
    assert plan(finished_run) == {}


def test_a_second_run_plans_nothing(finished_run):
    assert plan(finished_run) == {}


def test_another_clone_plans_nothing(finished_run, clone):
    assert plan(finished_run, "--cores", "1", clone=clone) == {}


def test_a_comment_in_the_config_plans_nothing(finished_run):
    commented = finished_run.folder / "commented.yaml"
    commented.write_text("# A remark.\n" + finished_run.config.read_text())
    assert plan(finished_run, config=commented) == {}


def test_a_comment_in_the_code_plans_nothing_and_an_edit_runs_what_it_can_change(finished_run, clone, tmp_path):
    edited = tmp_path / "edited"
    shutil.copytree(clone, edited)
    path = edited / "bpd" / "decoding" / "blockwise.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n# A remark.\n", encoding="utf-8")
    assert plan(finished_run, clone=edited) == {}
    path.write_text(path.read_text(encoding="utf-8") + "\nREMARK = 1\n", encoding="utf-8")
    assert set(plan(finished_run, clone=edited)) == {
        "decode_images_base",
        "decode_images_regular_k1",
        "decode_images_regular_k3",
        "decode_images_fine_tuning_k3",
        "score_images",
        "build_survey",
        "image_tables",
        "image_figures",
        "table3",
        "decode_base",
        "decode_both_k3",
        "decode_regular_k3",
        "time_both_k3",
        "time_images_fine_tuning_k3",
        "score_translation",
        "trace_translation",
        "tables",
        "figures",
        "speed_tables",
        "speed_figures",
        "scorecard",
        "cost",
        "results_page",
    }


def test_a_changed_criterion_runs_decoding_and_later_only(finished_run):
    override = "translation={decoding: {approximate_criteria: [top3]}}"
    assert set(plan(finished_run, "--config", override)) == {
        "decode_both_k3",
        "score_translation",
        "tables",
        "figures",
        *LATER,
    }


def test_a_changed_distance_decodes_images_and_reports_only(finished_run):
    override = "super_resolution={decoding: {approximate_criteria: [distance3]}}"
    assert set(plan(finished_run, "--config", override)) == {
        "decode_images_regular_k3",
        "decode_images_fine_tuning_k3",
        "score_images",
        "build_survey",
        "time_images_fine_tuning_k3",
        "image_tables",
        "image_figures",
        "table3",
        *LATER,
    }


def test_another_seed_leaves_what_is_there_alone(finished_run):
    jobs = set(plan(finished_run, "--config", "seeds=[1, 2]"))
    reports = {"tables", "figures", "image_tables", "image_figures", *LATER}
    assert reports <= jobs and all(name.endswith("_seed2") for name in jobs - reports)


def test_a_changed_timing_times_and_reports_only(finished_run):
    override = "translation={timing: {repeats: 4}}"
    assert set(plan(finished_run, "--config", override)) == {"time_both_k3", "tables", *LATER}


def test_a_changed_tolerance_is_judged_again_and_no_more(finished_run):
    assert set(plan(finished_run, "--config", "scorecard={same_bleu: 0.25}")) == {"scorecard", "cost", "results_page"}


def test_a_changed_base_seed_leaves_the_data_and_the_teacher_alone(finished_run):
    jobs = plan(finished_run, "--config", "translation={base: {seed: 9}}")
    assert {"train_base", "train_regular_k3", "train_both_k3", "decode_base"} <= set(jobs)
    assert not {"prepare_text", "train_teacher", "distill_shard", "merge_distillation"} & set(jobs)


def test_the_offline_report_holds_tables_and_figures(finished_run, tmp_path):
    page = tmp_path / "report.html"
    result = snakemake("--configfile", finished_run.config, "--report", page, folder=finished_run.folder)
    assert result.returncode == 0, result.stdout + result.stderr
    text = page.read_text(encoding="utf-8")
    results, figures = finished_run.folder / "results" / "tiny", finished_run.folder / "paper_figures" / "tiny"
    names = {path.name for kind in ("csv", "html") for path in (results / "tables").glob(f"*.{kind}")}
    names |= {path.name for path in figures.glob("*.png")} | {"config.yaml", "survey.html"}
    assert len(names) >= 12 + 11 + 11 and {name for name in names if name not in text} == set()
    captions = {path.name for path in (ROOT / "workflow" / "report").glob("*.rst")}
    assert len(captions) > 20 and "every number and claim of the paper against ours" in " ".join(text.split())
    assert re.search(r"Translation", text) and re.search(r"Super-resolution", text)
