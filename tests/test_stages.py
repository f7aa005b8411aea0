"""Versions of the code behind a stage: complete, and blind to what changes no result."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bpd import stages

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "prepare": "bpd.data.prepare",
    "train": "bpd.commands.train",
    "distill": "bpd.commands.distill",
    "decode": "bpd.commands.decode",
    "trace": "bpd.commands.trace",
    "time": "bpd.commands.time",
    "score": "bpd.evaluation.score",
    "report": "bpd.commands.report",
    "prepare_images": "bpd.data.prepare_images",
    "train_images": "bpd.commands.train_images",
    "decode_images": "bpd.commands.decode_images",
    "score_images": "bpd.evaluation.image_score",
    "survey": "bpd.commands.survey",
    "report_images": "bpd.commands.image_report",
    "report_speed": "bpd.commands.speed_report",
    "scorecard": "bpd.commands.scorecard",
    "cost": "bpd.commands.cost",
    "results_page": "bpd.commands.results_page",
}
# What `bpd train` imports besides its stage: it composes the run, stores its model, and decodes to watch it.
AROUND_TRAINING = {
    "bpd.commands.train",
    "bpd.commands.training_run",
    "bpd.commands.dev_evaluation",
    "bpd.commands.text_set",
    "bpd.commands.train_images",
    "bpd.commands.image_evaluation",
    "bpd.commands.prepared_images",
    "bpd.models.image_model",
    "bpd.models.image_transformer",
    "bpd.models.likelihood",
    "bpd.models.local_attention",
    "bpd.models.model_folder",
    "bpd.models.transformer",
    "bpd.models.translation_model",
    "bpd.data.parallel_text",
    "bpd.data.folder",
    "bpd.evaluation.bleu",
    "bpd.evaluation.image_quality",
}


def really_imported(module: str) -> set[str]:
    """Return the package's modules, packages themselves left out, that a fresh Python loads for `module`."""
    code = (
        f"import importlib, json, sys; importlib.import_module({module!r});"
        "print(json.dumps([name for name, loaded in sys.modules.items()"
        " if name.startswith('bpd.') and not hasattr(loaded, '__path__')]))"
    )
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(json.loads(said))


@pytest.mark.parametrize("stage", COMMANDS)
def test_a_stage_knows_every_module_that_its_command_imports(stage):
    unknown = really_imported(COMMANDS[stage]) - stages.stage_modules(stage) - stages.NEUTRAL
    unknown = {name for name in unknown if not name.startswith("bpd.config.")}
    if stage.startswith("train"):
        decoders = {
            "cache",
            "transformer_decoder",
            "local_cache",
            "image_decoder",
            "recomputing_decoder",
            "head_scores",
        }
        unknown -= AROUND_TRAINING | {f"bpd.models.{name}" for name in decoders}
        unknown = {name for name in unknown if not name.startswith("bpd.decoding.")}
    # A model folder of either kind is read by one module, which knows both.
    other = "bpd.models.translation_model" if stage.endswith("images") else "bpd.models.image_model"
    unknown -= stages.modules_behind(other)
    assert unknown == set()


def test_every_stage_is_covered_and_every_rule_names_one():
    assert set(COMMANDS) == set(stages.ROOTS)
    rules = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    for stage in stages.ROOTS:
        assert f'stage_version("{stage}")' in rules
    assert rules.count("    shell:") == rules.count("code=stage_version(")


@pytest.mark.parametrize(
    ("stage", "inside", "outside"),
    [
        ("prepare", "bpd.data.vocabulary", "bpd.models.transformer"),
        ("train", "bpd.models.proposal_heads", "bpd.decoding.blockwise"),
        ("train", "bpd.training.head_loss", "bpd.report.tables"),
        ("decode", "bpd.decoding.acceptance", "bpd.training.loop"),
        ("score", "bpd.evaluation.bleu", "bpd.decoding.blockwise"),
        ("report", "bpd.report.scatter", "bpd.models.transformer"),
        ("train_images", "bpd.models.local_attention", "bpd.models.transformer"),
        ("train_images", "bpd.training.head_loss", "bpd.data.batches"),
        ("train", "bpd.data.batches", "bpd.models.image_transformer"),
        ("decode", "bpd.models.cache", "bpd.models.image_transformer"),
        ("decode_images", "bpd.models.local_cache", "bpd.models.transformer"),
        ("report_images", "bpd.report.table2", "bpd.report.scatter"),
        ("time", "bpd.evaluation.timing", "bpd.training.loop"),
        ("report_speed", "bpd.evaluation.speedup", "bpd.evaluation.timing"),
        ("scorecard", "bpd.report.scorecard", "bpd.report.figure4"),
        ("cost", "bpd.planning.jobs", "bpd.planning.rates"),
    ],
)
def test_a_stage_holds_what_can_change_it_and_leaves_out_what_cannot(stage, inside, outside):
    modules = stages.stage_modules(stage)
    assert inside in modules and outside not in modules


ORIGINAL = '''"""What it is."""


def double(number):
    """Return it."""
    return 2 * number
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("What it is.", "Something else."),
        ("Return it.", "Return twice `number`."),
        ("    return", "    # Why.\n    return"),
        ("2 * number", "(2  *\n        number)"),
        ('    """Return it."""\n', ""),
    ],
)
def test_comments_docstrings_and_line_breaks_change_nothing(old, new, tmp_path):
    assert old in ORIGINAL
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(ORIGINAL)
    after.write_text(ORIGINAL.replace(old, new))
    assert stages.normalised_source(before) == stages.normalised_source(after)


@pytest.mark.parametrize(
    ("old", "new"), [("2 * number", "3 * number"), ("double", "treble"), ("2 * number", '"""2"""')]
)
def test_another_program_changes_it(old, new, tmp_path):
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(ORIGINAL)
    after.write_text(ORIGINAL.replace(old, new))
    assert stages.normalised_source(before) != stages.normalised_source(after)


def test_imports_within_functions_count(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("import numpy\nfrom bpd.data import lines\n\ndef late():\n    import bpd.data.batches\n")
    assert stages.imported_modules(path) >= {"bpd.data.lines", "bpd.data.batches"}
    assert not any("numpy" in name for name in stages.imported_modules(path))


def test_an_edited_data_file_changes_the_stages_that_read_it(monkeypatch, tmp_path):
    others = {
        str(path.relative_to(ROOT / "bpd")) for path in (ROOT / "bpd").rglob("*") if path.suffix in (".yaml", ".html")
    }
    assert set(stages.DATA_FILES.values()) == others
    before = {stage: stages.stage_version(stage) for stage in stages.ROOTS}
    shutil.copytree(ROOT / "bpd", tmp_path / "bpd", ignore=shutil.ignore_patterns("__pycache__"))
    page = tmp_path / "bpd" / "report" / "survey_page.html"
    page.write_text(page.read_text(encoding="utf-8") + "<!-- -->", encoding="utf-8")
    monkeypatch.setattr(stages, "PACKAGE", tmp_path / "bpd")
    stages.stage_version.cache_clear()
    changed = {stage for stage in stages.ROOTS if stages.stage_version(stage) != before[stage]}
    stages.stage_version.cache_clear()
    assert changed == {"survey"}
