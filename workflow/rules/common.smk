# Shared by all stages: the configuration, where products live, and how settings reach a command.

import argparse
import json
import os
import sys
from pathlib import Path

# Rules call `bpd` of the environment that runs snakemake, whether or not that is activated.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()])
)

# A time limit, a preemption or a `kill` of the whole group reaches every process of a job. The shell waits for its
# command, which saves and exits; ended at once, it would leave that alone, and a retry would start beside it.
shell.prefix("set -euo pipefail; trap : TERM USR1; ")

import yaml
from snakemake.cli import get_profile_dir
from snakemake.exceptions import WorkflowError
from snakemake.utils import update_config

from bpd import grid, image_grid
from bpd.config import Config, read_config_values, validate_section
from bpd.errors import BpdError
from bpd.provenance import count_cards
from bpd.stages import stage_version

REPOSITORY = Path(workflow.basedir).parent
ENVIRONMENT = str(REPOSITORY / "environment.yml")

# Where jobs run on this machine, every one computes on its first card: they take turns. Without a card they share the
# cores. With --jobs a cluster runs them; a limit given by --resources or a profile stands.
here = workflow.is_main_process and workflow.resource_settings.nodes is None
if here and "gpu" not in workflow.global_resources and count_cards():
    workflow.global_resources["gpu"] = 1


def profile_scale():
    """Return the scale in the `config: [default_scale=…]` of the last --profile that has one, or None.

    Snakemake does not tell: a --config on the command line has replaced the profiles' whole `config`.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--profile", action="append", default=[])
    names = parser.parse_known_args()[0].profile or [os.getenv("SNAKEMAKE_PROFILE")]
    scale = None
    for name in names:
        if name in (None, "none"):
            continue
        found = get_profile_dir(name)
        if found is None:
            raise WorkflowError(
                f"profile '{name}' cannot be found from {Path.cwd()}, and --config hides its default scale: "
                "give the profile's absolute path, or a scale as in --config scale=paper"
            )
        values = yaml.safe_load(found[1].read_text(encoding="utf-8")).get("config")
        if isinstance(values, list):
            values = dict(value.split("=", 1) for value in values)
        scale = (values or {}).get("default_scale", scale)
    return scale


# Without --configfile, `scale` chooses one, or else the profile. The jobs are told which, on a cluster too.
given = workflow.config_settings.configfiles
default_scale = config.pop("default_scale", None)
if not given:
    scale = config.get("scale") or default_scale or (config and profile_scale())
    chosen = REPOSITORY / "config" / f"{scale or 'smoke'}.yaml"
    if not chosen.exists():
        raise WorkflowError(
            f"scale '{chosen.stem}' has no {chosen}; give one of smoke, mini and paper, or --configfile"
        )

    configfile: chosen

    config.pop("default_scale", None)
    given.append(chosen)


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
    for path in given:
        read_config_values(path)
    settings = validate_section(Config, dict(config), ", ".join(map(str, given)))
except BpdError as problem:
    raise WorkflowError(str(problem)) from None

translation, super_resolution = settings.translation, settings.super_resolution
RESULTS = f"results/{settings.scale}"
PICTURES = f"paper_figures/{settings.scale}"
LOGS = f"{RESULTS}/logs"
# Of each job its time, CPU time and memory, as Snakemake records them.
BENCHMARKS = f"{RESULTS}/benchmarks"
CHECKPOINTS = f"{RESULTS}/checkpoints"
TEXT = f"{RESULTS}/data/translation"
TRANSLATION = f"{RESULTS}/translation"
IMAGES = f"{RESULTS}/data/super_resolution"
SUPER_RESOLUTION = f"{RESULTS}/super_resolution"
# Report rules leave a marker here, which is never committed: tables and figures that a clone brings along are made anew.
MADE = f"{RESULTS}/made"

# A timing takes the whole machine, so that it runs alone; what it computes with is its resource `compute_threads`.
ALL_CORES = (here and workflow.resource_settings.cores) or 1


def root_of(seed):
    """Return the folder of a seed's models: of seed 1, the results themselves."""
    return str(grid.replica_folder(Path(RESULTS), seed))


def rule_name(name, seed):
    """Return the name of a rule, which tells its seed unless it is 1."""
    return name if seed == 1 else f"{name}_seed{seed}"


def checkpoints_of(task, model, seed):
    """Return where checkpoints of a running training live."""
    root = CHECKPOINTS if seed == 1 else f"{CHECKPOINTS}/seed_{seed}"
    return f"{root}/{task}/{model}"


def distilled_of(seed):
    """Return the folder of the pairs that a seed's teacher distilled."""
    return f"{root_of(seed)}/data/translation_distilled"


def as_json(section):
    """Return settings as one line of JSON whose changes, and no others, run a job again."""
    return json.dumps(
        section.model_dump(mode="json"), sort_keys=True, ensure_ascii=True
    )


MODEL_FILES = ["model.safetensors", "config.yaml", "provenance.json", "training.jsonl"]


def folder_of(path):
    """Return the folder that a command is to read or write, from one of the files in it."""
    return str(Path(path).parent)


def model_files(model, seed=1):
    """Return the files that a finished training of `model` leaves; the weights stand for them as an input."""
    return [
        f"{root_of(seed)}/translation/{model}/{name}"
        for name in [*MODEL_FILES, "vocabulary.model"]
    ]


def record_files(model, suffix, seed=1):
    """Return the files of `model` that end in `suffix`, one for each set and criterion."""
    return [
        f"{root_of(seed)}/translation/{model}/decode/{name}/{criterion}{suffix}"
        for role, name in grid.set_names(translation).items()
        for criterion in grid.criteria(translation, model, role)
    ]


def heads_files(model, seed=1):
    """Return the file of its heads' accuracy that decoding a model above k = 1 leaves, as a list."""
    folder = f"{root_of(seed)}/translation/{model}/decode/{grid.set_names(translation)['dev']}"
    return [f"{folder}/heads.json"] if proposes(model) else []


def proposes(model):
    """Return whether a model has heads that propose anything."""
    return "_k" in model and grid.parse_head_model_name(model)[1] > 1


def time_files(task, model, settings):
    """Return the files that timing a model leaves."""
    folder = f"{RESULTS}/{task}/{model}/time/{settings.set_name}"
    return [
        f"{folder}/{settings.criterion}{suffix}" for suffix in [".jsonl", ".meta.json"]
    ]


def image_model_files(model, seed=1):
    """Return the files that a finished training of an image model leaves."""
    return [f"{root_of(seed)}/super_resolution/{model}/{name}" for name in MODEL_FILES]


def image_decode_folder(model, seed=1):
    """Return the folder of an image model's decodings."""
    return f"{root_of(seed)}/super_resolution/{model}/decode/{image_grid.DEV_SET}"


def image_record_files(model, suffix, seed=1):
    """Return the files of an image model that end in `suffix`, one for each criterion."""
    return [
        f"{image_decode_folder(model, seed)}/{criterion}{suffix}"
        for criterion in image_grid.criteria(super_resolution, model)
    ]


def likelihood_file(model, seed=1):
    """Return the file of bits per intensity that decoding an image model leaves."""
    return f"{image_decode_folder(model, seed)}/likelihood.jsonl"


def image_heads_files(model, seed=1):
    """Return the file of its heads' accuracy that decoding an image model above k = 1 leaves, as a list."""
    return [f"{image_decode_folder(model, seed)}/heads.json"] if proposes(model) else []


def in_report(path, caption, category="Translation"):
    """Mark `path` for the report, with its caption and the labels by which the report sorts."""
    return report(
        path,
        caption=f"../report/{caption}.rst",
        category=category,
        subcategory=f"Scale {settings.scale}",
        labels={"result": Path(path).stem, "format": Path(path).suffix.lstrip(".")},
    )


def table_files(*names):
    """Return the three files of each table."""
    return [
        f"{RESULTS}/tables/{name}.{kind}"
        for name in names
        for kind in ["csv", "md", "tex", "html"]
    ]


def table_outputs(*names, category):
    """Return the files of tables as outputs, CSV first; data and pages are for the report."""
    return [
        *[in_report(f"{RESULTS}/tables/{name}.csv", name, category) for name in names],
        *[in_report(f"{RESULTS}/tables/{name}.html", name, category) for name in names],
        *[
            f"{RESULTS}/tables/{name}.{kind}"
            for name in names
            for kind in ["md", "tex"]
        ],
    ]


def figure_files(names):
    """Return the two files of each figure."""
    return [f"{PICTURES}/{name}.{kind}" for name in names for kind in ["pdf", "png"]]


wildcard_constraints:
    shard=r"\d+",
