# What jobs ask of a cluster. The rules say what they need, the default resources of a profile what the cluster is like.
# A job on its node reads this as the main process does, so that both ask for the same.

from snakemake.exceptions import WorkflowError

# As many as `bpd decode` takes at once.
IMAGES_PER_BATCH = 64


def default_resource(name):
    """Return what --default-resources or a profile's `default-resources` gives for `name`, as text, or None."""
    resource = (workflow.resource_settings.default_resources or {}).get(name)
    return (
        None
        if resource is None or resource.raw is None
        else str(resource.raw).strip("'\"")
    )


def default_number(name, otherwise):
    """Return the whole number, at least 1, that the default resources give for `name`, or else `otherwise`."""
    text = default_resource(name)
    if text is None:
        return otherwise
    if not text.isdecimal() or int(text) < 1:
        raise WorkflowError(
            f"default resource {name} is '{text}', but must be a whole number, 1 or more"
        )
    return int(text)


def cards_of(training):
    """Return how many cards a training asks for: at most `gpu_per_training`, each with as many micro-batches a step."""
    most = min(default_number("gpu_per_training", 1), training.micro_batches)
    return max(
        count for count in range(1, most + 1) if training.micro_batches % count == 0
    )


def cards_of_decoding(images):
    """Return how many cards share the decoding of `images` dev images, None for all: at most `gpu_per_decoding`."""
    most = default_number("gpu_per_decoding", 1)
    return most if images is None else min(most, -(-images // IMAGES_PER_BATCH))


# A training that dies of something passing is started once more and goes on; --retries, as in a profile, may give it more
# starts (see `allow_retries`). Not by the job itself, whose time is running out.
RETRIES = 1 if workflow.is_main_process else 0

GRES, GPU_MODEL = default_resource("gres"), default_resource("gpu_model")
CPUS_PER_CARD = default_number("cpus_per_gpu", 1)
CPU_PARTITION = default_resource("cpu_partition")
LONGEST_MINUTES = default_number("longest_runtime", None)
TIMING_OPTIONS = default_resource("timing_slurm_extra")

if GRES and GRES.split(":")[-1].isdecimal():
    raise WorkflowError(
        f"default resource gres is '{GRES}', but must name the cards alone, as in gpu or gpu:a100: "
        "their number is added job by job"
    )
if GRES and GPU_MODEL:
    raise WorkflowError(
        f"give default resource gres={GRES}:{GPU_MODEL} instead of gres and gpu_model"
    )


def number(resources, name):
    """Return a resource's number; 0 without one, or where only an expression of --set-resources will tell."""
    resource = resources.get(name)
    return 0 if resource.is_evaluable() else resource.value or 0


def ask_for_cards(resources, cards):
    """Say in the `resources` of a rule that it needs so many cards, all on one node and all seen by one task."""
    if cards == 0:
        # A model without a number would ask for cards all the same.
        resources.update({"gres": None, "gpu_model": None})
        if CPU_PARTITION:
            resources["slurm_partition"] = CPU_PARTITION
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
    cores = number(resources, "compute_threads") or cards * CPUS_PER_CARD
    if cores and resources.get("cpus_per_task").raw is None:
        resources["cpus_per_task"] = cores


def ask_cluster(resources):
    """Word the `resources` of a rule, which say what it needs, as its cluster wants to be asked."""
    cards = number(resources, "gpu")
    if number(resources, "processes") and not resources["gpu"].is_evaluable():
        # Each worker has a card of its own, however many --set-resources leaves.
        resources["processes"] = max(cards, 1)
    ask_for_cards(resources, cards)
    ask_for_cores(resources, cards)
    if LONGEST_MINUTES and number(resources, "runtime") > LONGEST_MINUTES:
        resources["runtime"] = LONGEST_MINUTES
    # Timings, the rules with threads of their own, want a node to themselves.
    if TIMING_OPTIONS and number(resources, "compute_threads"):
        options = [default_resource("slurm_extra"), TIMING_OPTIONS]
        resources["slurm_extra"] = " ".join(filter(None, options))


def ask_cluster_for(rules):
    """Word what each of `rules` needs as the cluster wants to be asked."""
    for one in rules:
        ask_cluster(one.resources)


def allow_retries():
    """Let --retries raise the number that a rule has of its own, which Snakemake would take in its stead.

    The option is not known before the run starts.
    """
    if workflow.is_main_process:
        for one in workflow.rules:
            one.restart_times = max(
                one.restart_times, workflow.execution_settings.retries
            )


onstart:
    allow_retries()
