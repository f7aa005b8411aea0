# Shared by all stages: the configuration, where products live, and how settings reach a command.

import json
import os
import sys
from pathlib import Path

# Rules call `bpd` of the environment that runs snakemake, whether or not that is activated.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()])
)

import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import update_config

from bpd import grid
from bpd.config import Config, validate_section
from bpd.errors import BpdError
from bpd.provenance import count_cards
from bpd.stages import stage_version

REPOSITORY = Path(workflow.basedir).parent
ENVIRONMENT = str(REPOSITORY / "environment.yml")

# Jobs on this machine share its cards, one each; without a card they share its cores alone. A limit given by
# --resources or a profile stands.
if "gpu" not in workflow.global_resources and (cards := count_cards()):
    workflow.global_resources["gpu"] = cards

# Without --configfile, `scale` chooses one; a profile may set `default_scale` instead, which --config cannot wipe out.
given = [str(path) for path in workflow.config_settings.configfiles or []]
default_scale = config.pop("default_scale", "smoke")
if not given:
    chosen = REPOSITORY / "config" / f"{config.get('scale', default_scale)}.yaml"
    if not chosen.exists():
        raise WorkflowError(
            f"scale '{chosen.stem}' has no {chosen}; give one of smoke, mini and paper, or --configfile"
        )

    configfile: chosen

    config.pop("default_scale", None)


def typed(value):
    """Return a value of --config with its numbers as numbers: within nested values snakemake leaves them text."""
    if isinstance(value, dict):
        return {key: typed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [typed(part) for part in value]
    return yaml.safe_load(value) if isinstance(value, str) else value


overrides = typed(dict(workflow.config_settings.config or {}))
overrides.pop("default_scale", None)
update_config(config, overrides)

try:
    settings = validate_section(Config, dict(config), ", ".join(given) or str(chosen))
except BpdError as problem:
    raise WorkflowError(str(problem)) from None

translation = settings.translation
RESULTS = f"results/{settings.scale}"
PICTURES = f"paper_figures/{settings.scale}"
LOGS = f"{RESULTS}/logs"
CHECKPOINTS = f"{RESULTS}/checkpoints/translation"
TEXT = f"{RESULTS}/data/translation"
DISTILLED = f"{RESULTS}/data/translation_distilled"
TRANSLATION = f"{RESULTS}/translation"
HEAD_MODELS = grid.head_models(translation)


def as_json(section):
    """Return settings as one line of JSON whose changes, and no others, run a job again."""
    return json.dumps(
        section.model_dump(mode="json"), sort_keys=True, ensure_ascii=True
    )


MODEL_FILES = [
    "model.safetensors",
    "config.yaml",
    "provenance.json",
    "training.jsonl",
    "vocabulary.model",
]


def folder_of(path):
    """Return the folder that a command is to read or write, from one of the files in it."""
    return str(Path(path).parent)


def model_files(model):
    """Return the files that a finished training of `model` leaves; the weights stand for them as an input."""
    return [f"{TRANSLATION}/{model}/{name}" for name in MODEL_FILES]


def record_files(model, suffix):
    """Return the files of `model` that end in `suffix`, one for each set and criterion."""
    return [
        f"{TRANSLATION}/{model}/decode/{name}/{criterion}{suffix}"
        for role, name in grid.set_names(translation).items()
        for criterion in grid.criteria(translation, model, role)
    ]


def in_report(path, caption):
    """Mark `path` for the report, with its caption and the labels by which the report sorts."""
    return report(
        path,
        caption=f"../report/{caption}.rst",
        category="Translation",
        subcategory=f"Scale {settings.scale}",
        labels={"result": Path(path).stem, "format": Path(path).suffix.lstrip(".")},
    )


wildcard_constraints:
    shard=r"\d+",
