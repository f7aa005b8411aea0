# What jobs ask of a cluster. Included last, when all rules are known; the job on its node reads it as the main process
# does, so that both ask for the same. Rules say what they need, the profile says what the cluster is like.

GRES, GPU_MODEL = default_resource("gres"), default_resource("gpu_model")
CPUS_PER_CARD = default_number("cpus_per_gpu", 1)
LONGEST_MINUTES = default_number("longest_runtime", None)
TIMING_OPTIONS = default_resource("timing_slurm_extra")

if GRES and GRES.split(":")[-1].isdecimal():
    raise WorkflowError(
        f"default resource gres is '{GRES}', but must name the cards alone, as in gpu or gpu:a100: "
        "their number is added job by job"
    )
if GRES and GPU_MODEL:
    raise WorkflowError(
        f"give default resource gres=gpu:{GPU_MODEL} instead of gres and gpu_model"
    )


def ask_for_cards(resources, cards):
    """Say in the `resources` of a rule that it needs so many cards, all on one node and all seen by one task."""
    if cards == 0:
        # A model without a number would ask for cards all the same.
        resources.update({"gres": None, "gpu_model": None})
        return
    # Slurm may hand out --gpus=8 as four on each of two nodes.
    resources["nodes"] = 1
    # With `tasks` the plugin would start so many processes for each card.
    resources["tasks_per_gpu"] = 0
    if GRES:
        # Asked in both ways, some clusters refuse and others count twice.
        resources.update({"gres": f"{GRES}:{cards}", "gpu": 0})


def ask_for_cores(resources, cards):
    """Say in the `resources` of a rule on how many cores it computes.

    Not by its threads: those cannot be more than the cores of the machine that submits.
    """
    cores = resources.get("compute_threads").value or cards * CPUS_PER_CARD
    if cores and resources.get("cpus_per_task").raw is None:
        resources["cpus_per_task"] = cores


for one in workflow.rules:
    if here:
        break
    cards = one.resources.get("gpu").value or 0
    ask_for_cards(one.resources, cards)
    ask_for_cores(one.resources, cards)
    if LONGEST_MINUTES and one.resources.get("runtime").value:
        one.resources["runtime"] = min(one.resources["runtime"].value, LONGEST_MINUTES)
    if TIMING_OPTIONS and one.resources.get("compute_threads").value:
        given_options = [default_resource("slurm_extra"), TIMING_OPTIONS]
        one.resources["slurm_extra"] = " ".join(filter(None, given_options))
