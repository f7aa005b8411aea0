"""Which config a call means, what is refused before any job, and the complete list at the paper's scale."""

import pytest
import yaml

from bpd import grid, image_grid
from bpd.config import load_config
from bpd.planning.plan import make_plan
from bpd.planning.rates import read_assumed
from tests.workflow.driver import ROOT, SNAKEFILE, planned_jobs, snakemake

PROFILE = ROOT / "slurm"


def said(result) -> str:
    return result.stdout + result.stderr


@pytest.mark.parametrize(
    ("words", "scale"),
    [
        ([], "smoke"),
        (["--configfile", ROOT / "config" / "mini.yaml"], "mini"),
        (["--config", "scale=mini"], "mini"),
        (["--config", "default_scale=mini"], "mini"),
        (["--config", "default_scale=mini", "scale=smoke"], "smoke"),
        (["--configfile", ROOT / "config" / "mini.yaml", "--config", "default_scale=paper"], "mini"),
    ],
)
def test_the_config_that_a_call_means(words, scale, tmp_path):
    result = snakemake("--dry-run", *words, folder=tmp_path)
    assert planned_jobs(result)
    assert f"results/{scale}/tables/table1.csv" in said(result)
    assert all(f"results/{other}/" not in said(result) for other in {"smoke", "mini", "paper"} - {scale})


@pytest.mark.parametrize(
    ("words", "scale"),
    [
        ([], "paper"),
        (["--configfile", ROOT / "config" / "mini.yaml"], "mini"),
        (["--config", "scale=smoke"], "smoke"),
    ],
)
@pytest.mark.parametrize("place", ["root", "elsewhere", "directory"])
def test_the_config_that_a_call_with_the_slurm_profile_means(words, scale, place, tmp_path):
    words = ["--dry-run", "--force", "prepare_text", *words, "--profile"]
    if place == "root":
        result = snakemake(*words, "slurm", folder=ROOT, snakefile=None)
    elif place == "elsewhere":
        result = snakemake(*words, PROFILE, folder=tmp_path)
    else:
        result = snakemake(*words, "slurm", "--directory", tmp_path, folder=ROOT)
    assert planned_jobs(result) == {"prepare_text": 1}
    assert f"results/{scale}/data/translation/report.json" in said(result)
    assert all(f"results/{other}/" not in said(result) for other in {"smoke", "mini", "paper"} - {scale})


def test_from_the_repository_root_no_snakefile_need_be_named():
    result = snakemake("--dry-run", "--forceall", folder=ROOT, snakefile=None)
    assert "results/smoke/tables/table1.csv" in said(result) and planned_jobs(result)["train_base"] == 1


def test_the_paper_scale_lists_every_job(tmp_path):
    config = load_config(ROOT / "config" / "paper.yaml")
    models, image_models = grid.head_models(config.translation), image_grid.head_models(config.super_resolution)
    assert (len(models), len(image_models)) == (22, 11)
    jobs = planned_jobs(snakemake("--dry-run", "--profile", PROFILE, folder=tmp_path))
    expected = {"prepare_text": 1, "train_base": 1, "train_teacher": 1, "distill_shard": 64, "merge_distillation": 1}
    expected |= {f"train_{model}": 1 for model in models} | {f"decode_{model}": 1 for model in ["base", *models]}
    expected |= {"score_translation": 1, "trace_translation": 1, "tables": 1, "figures": 1}
    expected |= {f"{job}_images_{model}": 1 for job in ("train", "decode") for model in ["base", *image_models]}
    expected |= {"prepare_images": 1, "score_images": 1, "build_survey": 1, "table3": 1}
    expected |= {"image_tables": 1, "image_figures": 1, "speed_tables": 1, "speed_figures": 1}
    expected |= {f"time_both_k{size}": 1 for size in (2, 4, 6, 8, 10)}
    expected |= {f"time_images_fine_tuning_k{size}": 1 for size in (2, 4, 6, 8, 10)}
    expected |= {"scorecard": 1, "cost": 1, "results_page": 1}
    assert jobs == expected


@pytest.mark.parametrize(
    ("scale", "overrides"), [("smoke", {}), ("mini", {}), ("paper", {}), ("smoke", {"seeds": (1, 3)})], ids=str
)
def test_bpd_plan_lists_the_jobs_that_the_workflow_runs(scale, overrides, tmp_path):
    changed = [f"{key}={list(value)}" for key, value in overrides.items()]
    jobs = planned_jobs(snakemake("--dry-run", "--config", f"scale={scale}", *changed, folder=tmp_path))
    config = load_config(ROOT / "config" / f"{scale}.yaml").model_copy(update=overrides)
    counted = {}
    for stage in make_plan(config, read_assumed()).as_json()["stages"]:
        assert not counted.keys() & stage["jobs"].keys()
        counted |= stage["jobs"]
    assert counted == jobs


def test_mini_plans_every_table_figure_scorecard_and_page(tmp_path):
    override = ("translation={heads: {block_sizes: [1, 4]}}", "super_resolution={heads: {block_sizes: [1, 4]}}")
    result = snakemake("--dry-run", "--config", "scale=mini", *override, folder=tmp_path)
    jobs = planned_jobs(result)
    assert {"time_both_k4", "time_images_fine_tuning_k4", "speed_tables", "scorecard", "results_page"} <= set(jobs)
    for name in ("tables/scorecard.csv", "README.md", "config.yaml", "tables/table4.tex", "tables/figure4.html"):
        assert f"results/mini/{name}" in said(result)


def test_every_seed_gets_models_of_its_own_and_shares_the_data(tmp_path):
    once = planned_jobs(snakemake("--dry-run", folder=tmp_path))
    jobs = planned_jobs(snakemake("--dry-run", "--config", "seeds=[1, 3]", folder=tmp_path))
    second = {name.removesuffix("_seed3"): count for name, count in jobs.items() if name.endswith("_seed3")}
    repeated = ("train_", "decode_", "distill_", "merge_", "score_")
    assert second == {name: count for name, count in once.items() if name.startswith(repeated)}
    assert {name: count for name, count in jobs.items() if not name.endswith("_seed3")} == once


def test_tables_that_a_clone_brings_along_are_made_anew(tmp_path):
    brought = tmp_path / "results" / "mini" / "tables"
    brought.mkdir(parents=True)
    result = snakemake("--dry-run", "--config", "scale=mini", folder=tmp_path)
    for name in {line.split("/tables/")[1].split(",")[0].split(" ")[0] for line in said(result).splitlines()
                 if "results/mini/tables/" in line}:  # fmt: skip
        (brought / name.strip()).write_text("committed\n")
    pictures = tmp_path / "paper_figures" / "mini"
    pictures.mkdir(parents=True)
    for path in (ROOT / "paper_figures" / "mini").glob("*"):
        (pictures / path.name).write_bytes(b"committed")
    jobs = planned_jobs(snakemake("--dry-run", "--config", "scale=mini", folder=tmp_path))
    assert jobs == planned_jobs(result)


def test_a_timing_takes_all_cores_and_nothing_else_does(tmp_path):
    result = snakemake("--dry-run", "--cores", "7", folder=tmp_path)
    blocks = [block for block in said(result).split("\nrule ") if "    output:" in block]
    alone = {block.split(":")[0] for block in blocks if "threads: 7" in block}
    assert alone == {"time_both_k2", "time_both_k4", "time_images_fine_tuning_k2", "time_images_fine_tuning_k4"}
    assert not any("threads: " in block for block in blocks if not block.startswith("time_"))


@pytest.mark.parametrize(("half", "other"), [("translation", "images"), ("super_resolution", "text")])
def test_either_half_can_be_asked_for_alone(half, other, tmp_path):
    jobs = planned_jobs(snakemake("--dry-run", half, folder=tmp_path))
    assert jobs and f"prepare_{other}" not in jobs


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("translation={heads: {sead: 1}}", "translation.heads.sead: unknown key"),
        ("translation={base: {training: {schedule: {peak: 4e-3}}}}", "YAML read this number as text"),
        ("translation={heads: {block_sizes: [2, 2]}}", "block_sizes names a value twice"),
        ("translation={distillation: {teacher_seed: 1}}", "the teacher must be another model"),
        ("translation={decoding: {approximate_criteria: [top0]}}", "approximate_criteria.0"),
        ("super_resolution={decoding: {approximate_criteria: [top2]}}", "no approximate criterion for images"),
        ("super_resolution={image_transformer: {local_blocks: 1}}", "image_transformer.local_blocks: unknown key"),
        ("threads=4", "threads: unknown key"),
        ("seeds=[2, 3]", "seeds ([2, 3]) lacks 1"),
        ("seeds=[1, 1]", "seeds names a value twice"),
        ("scorecard={slight_bleu: 0.1}", "is below same_bleu"),
        ("translation={timing: {repeats: 2}}", "translation.timing.repeats"),
        ("translation={timing: {batches: {sizes: [1, 99]}}}", "batches of 99, but inputs is 16"),
        ("scale=huge", "scale 'huge' has no"),
    ],
)
def test_a_bad_override_is_refused_by_name_in_a_dry_run(override, message, tmp_path):
    result = snakemake("--dry-run", "--config", override, folder=tmp_path)
    assert result.returncode != 0 and message in said(result)
    assert "Job stats" not in said(result) and "Traceback" not in said(result)


def test_a_nested_override_keeps_its_numbers_and_its_neighbours(tmp_path):
    override = "translation={heads: {block_sizes: [6], settings: [both]}}"
    jobs = planned_jobs(snakemake("--dry-run", "--config", override, folder=tmp_path))
    trained = {name for name in jobs if name.startswith("train_") and "images" not in name}
    assert trained == {"train_base", "train_teacher", "train_both_k6"}


def test_a_wrong_profile_is_refused_by_name(tmp_path):
    result = snakemake("--dry-run", "--profile", "nowhere", folder=tmp_path)
    assert result.returncode != 0 and "nowhere" in said(result)


def test_a_profile_keeps_its_scale_where_the_command_line_changes_a_key(tmp_path):
    words = ["--dry-run", "train_both_k6", "--config", "translation={heads: {block_sizes: [6]}}", "--profile"]
    for result in (
        snakemake(*words, "slurm", folder=ROOT, snakefile=None),
        snakemake(*words, PROFILE, "--directory", tmp_path, folder=ROOT),
    ):
        assert "train_both_k6" in planned_jobs(result) and "results/paper/translation/both_k6/" in said(result)
    elsewhere = snakemake(*words, "slurm", "--directory", tmp_path, folder=ROOT)
    assert elsewhere.returncode != 0 and "give the profile's absolute path" in said(elsewhere)


def test_the_default_profile_holds_nothing_that_would_replace_another_profiles():
    values = yaml.safe_load((SNAKEFILE.parent / "profiles" / "default" / "config.yaml").read_text(encoding="utf-8"))
    replaced = {"config", "configfile", "configfiles", "resources", "default-resources", "executor", "cores", "jobs"}
    assert values["rerun-incomplete"] is True and not replaced & set(values)


def test_the_slurm_profile_is_patient_and_holds_no_science():
    values = yaml.safe_load((PROFILE / "config.yaml").read_text(encoding="utf-8"))
    assert values["executor"] == "slurm" and values["latency-wait"] >= 60 and values["retries"] >= 1
    assert values["config"] == ["default_scale=paper"] and not {"configfile", "configfiles", "cores"} & set(values)


def test_without_distilled_settings_no_teacher_is_trained(tmp_path):
    override = "translation={heads: {settings: [regular, fine_tuning]}}"
    jobs = planned_jobs(snakemake("--dry-run", "--config", override, folder=tmp_path))
    assert "train_teacher" not in jobs and "distill_shard" not in jobs and "train_fine_tuning_k4" in jobs


def test_the_snakefile_is_a_table_of_contents():
    assert len(SNAKEFILE.read_text(encoding="utf-8").splitlines()) <= 60
