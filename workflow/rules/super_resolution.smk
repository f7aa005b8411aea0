# Super-resolution: base, proposal heads, decoding, timing, scores and the preference study; the models of each seed.


DECODED_IMAGE_MODELS = image_grid.decoded_models(super_resolution)
TIMED_IMAGE_MODELS = image_grid.timed_models(super_resolution)
IMAGE_RECORDS = {
    seed: [
        path
        for model in DECODED_IMAGE_MODELS
        for path in image_record_files(model, ".jsonl", seed)
    ]
    for seed in settings.seeds
}
IMAGE_SCORES = [
    path
    for seed in settings.seeds
    for model in DECODED_IMAGE_MODELS
    for path in image_record_files(model, ".score.json", seed)
]
IMAGE_HEADS = [
    path for model in DECODED_IMAGE_MODELS for path in image_heads_files(model)
]
IMAGE_TIMINGS = [
    path
    for model in TIMED_IMAGE_MODELS
    for path in time_files(
        "super_resolution", model, image_grid.time_settings(super_resolution)
    )
]
SURVEY = f"{SUPER_RESOLUTION}/survey"
DRAWN_FACES = super_resolution.data.drawn_faces
DECODING_CARDS = cards_of_decoding(
    super_resolution.decoding.images or (DRAWN_FACES and DRAWN_FACES.dev_images)
)
VOTES = sorted(str(path) for path in Path(f"{SURVEY}/votes").glob("*.csv"))


for seed in settings.seeds:
    for name in image_grid.trained_models(super_resolution):
        train_settings = image_grid.train_settings(super_resolution, name, seed)
        cards = cards_of(train_settings.training)

        rule:
            name:
                rule_name(f"train_images_{name}", seed)
            input:
                base=[] if name == "base" else image_model_files("base", seed),
                data=rules.prepare_images.output,
            output:
                image_model_files(name, seed),
                directory(f"{root_of(seed)}/super_resolution/{name}/tensorboard"),
            log:
                f"{LOGS}/{rule_name(f'train_images_{name}', seed)}.log",
            benchmark:
                f"{BENCHMARKS}/{rule_name(f'train_images_{name}', seed)}.jsonl"
            # What everything else waits for goes first.
            priority: 20 if name == "base" else 0
            retries: RETRIES
            conda:
                ENVIRONMENT
            resources:
                gpu=cards,
                processes=cards,
                runtime=2880,
                mem_mb=16000 * cards,
            params:
                settings=as_json(train_settings),
                code=stage_version("train_images"),
                data=lambda wildcards, input: folder_of(input.data[0]),
                base=(
                    ""
                    if name == "base"
                    else f"--base {root_of(seed)}/super_resolution/base"
                ),
                folder=lambda wildcards, output: folder_of(output[0]),
                work=checkpoints_of("super_resolution", name, seed),
            shell:
                "bpd train --settings {params.settings:q} --data {params.data} {params.base} --work {params.work}"
                " --processes {resources.processes} --output {params.folder} > {log} 2>&1"


for seed in settings.seeds:
    for name in DECODED_IMAGE_MODELS:

        rule:
            name:
                rule_name(f"decode_images_{name}", seed)
            input:
                model=image_model_files(name, seed),
                data=rules.prepare_images.output,
            output:
                image_record_files(name, ".jsonl", seed),
                image_record_files(name, ".meta.json", seed),
                likelihood_file(name, seed),
                image_heads_files(name, seed),
            log:
                f"{LOGS}/{rule_name(f'decode_images_{name}', seed)}.log",
            benchmark:
                f"{BENCHMARKS}/{rule_name(f'decode_images_{name}', seed)}.jsonl"
            conda:
                ENVIRONMENT
            resources:
                gpu=DECODING_CARDS,
                processes=DECODING_CARDS,
                runtime=1440,
                mem_mb=16000 * DECODING_CARDS,
            params:
                settings=as_json(image_grid.decode_settings(super_resolution, name)),
                code=stage_version("decode_images"),
                data=lambda wildcards, input: folder_of(input.data[0]),
                model=lambda wildcards, input: folder_of(input.model[0]),
            shell:
                "bpd decode --settings {params.settings:q} --model {params.model} --data {params.data}"
                " --processes {resources.processes} --output {params.model}/decode > {log} 2>&1"


for name in TIMED_IMAGE_MODELS:

    rule:
        name:
            f"time_images_{name}"
        input:
            model=image_model_files(name),
            base=image_model_files("base"),
            data=rules.prepare_images.output,
        output:
            time_files(
                "super_resolution", name, image_grid.time_settings(super_resolution)
            ),
        log:
            f"{LOGS}/time_images_{name}.log",
        benchmark:
            f"{BENCHMARKS}/time_images_{name}.jsonl"
        conda:
            ENVIRONMENT
        threads: ALL_CORES
        resources:
            gpu=1,
            runtime=2880,
            mem_mb=16000,
            compute_threads=1,
        params:
            settings=as_json(image_grid.time_settings(super_resolution)),
            code=stage_version("time"),
            data=lambda wildcards, input: folder_of(input.data[0]),
            model=lambda wildcards, input: folder_of(input.model[0]),
            base=lambda wildcards, input: folder_of(input.base[0]),
        shell:
            "bpd time --settings {params.settings:q} --model {params.model} --base {params.base} --data {params.data}"
            " --threads {resources.compute_threads} --output {params.model}/time > {log} 2>&1"


for seed in settings.seeds:

    rule:
        name:
            rule_name("score_images", seed)
        input:
            records=IMAGE_RECORDS[seed],
            meta=[path.replace(".jsonl", ".meta.json") for path in IMAGE_RECORDS[seed]],
            likelihoods=[likelihood_file(model, seed) for model in DECODED_IMAGE_MODELS],
            data=rules.prepare_images.output,
        output:
            [path.replace(".jsonl", ".score.json") for path in IMAGE_RECORDS[seed]],
            [path.replace(".jsonl", ".quality.jsonl") for path in IMAGE_RECORDS[seed]],
        log:
            f"{LOGS}/{rule_name('score_images', seed)}.log",
        benchmark:
            f"{BENCHMARKS}/{rule_name('score_images', seed)}.jsonl"
        conda:
            ENVIRONMENT
        resources:
            gpu=0,
            runtime=120,
            mem_mb=8000,
        params:
            code=stage_version("score_images"),
            data=lambda wildcards, input: folder_of(input.data[0]),
        shell:
            "bpd score --task super_resolution --data {params.data} {input.records} > {log} 2>&1"


rule build_survey:
    input:
        records=IMAGE_RECORDS[1],
        meta=[path.replace(".jsonl", ".meta.json") for path in IMAGE_RECORDS[1]],
    output:
        in_report(f"{SURVEY}/survey.html", "survey", "Super-resolution"),
        f"{SURVEY}/survey.json",
    log:
        f"{LOGS}/build_survey.log",
    benchmark:
        f"{BENCHMARKS}/build_survey.jsonl"
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=30,
        mem_mb=8000,
    params:
        settings=as_json(image_grid.survey_settings(settings)),
        code=stage_version("survey"),
        results=lambda wildcards, output: RESULTS,
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd survey build --settings {params.settings:q} --results {params.results} --output {params.folder}"
        " > {log} 2>&1"


rule score_survey:
    input:
        survey=f"{SURVEY}/survey.json",
        votes=VOTES,
    output:
        f"{SURVEY}/preference.json",
    log:
        f"{LOGS}/score_survey.log",
    benchmark:
        f"{BENCHMARKS}/score_survey.jsonl"
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=30,
        mem_mb=4000,
    params:
        code=stage_version("survey"),
    shell:
        "bpd survey score --survey {input.survey} --output {output} {input.votes} > {log} 2>&1"
