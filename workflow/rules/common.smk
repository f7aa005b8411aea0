# What every rule shares: the configuration, where products live, and how settings reach a command.

import json
import os
import sys
from pathlib import Path

# Rules call `bpd` of the environment that runs snakemake, whether or not that is activated.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)

import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import update_config

from bpd import grid
from bpd.config import Config, validate_section
from bpd.errors import BpdError
from bpd.stages import stage_version

REPOSITORY = Path(workflow.basedir).parent

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
    """Return settings as one line of JSON whose changes, and no others, re-run a rule."""
    return json.dumps(section.model_dump(mode="json"), sort_keys=True, ensure_ascii=True)


wildcard_constraints:
    shard=r"\d+",
