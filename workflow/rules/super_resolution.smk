# Super-resolution: base, proposal heads, decoding, scores and the preference study.


DECODED_IMAGE_MODELS = image_grid.decoded_models(super_resolution)
IMAGE_RECORDS = [
    path
    for model in DECODED_IMAGE_MODELS
    for path in image_record_files(model, ".jsonl")
]
IMAGE_SCORES = [
    path
    for model in DECODED_IMAGE_MODELS
    for path in image_record_files(model, ".score.json")
]
SURVEY = f"{SUPER_RESOLUTION}/survey"
VOTES = sorted(str(path) for path in Path(f"{SURVEY}/votes").glob("*.csv"))


for name in image_grid.trained_models(super_resolution):

    rule:
        name:
            f"train_images_{name}"
        input:
            base=[] if name == "base" else image_model_files("base"),
            data=rules.prepare_images.output,
        output:
            image_model_files(name),
            directory(f"{SUPER_RESOLUTION}/{name}/tensorboard"),
        log:
            f"{LOGS}/train_images_{name}.log",
        # What everything else waits for goes first.
        priority: 20 if name == "base" else 0
        retries: 1
        conda:
            ENVIRONMENT
        resources:
            gpu=1,
            runtime=2880,
            mem_mb=16000,
        params:
            settings=as_json(image_grid.train_settings(super_resolution, name)),
            code=stage_version("train_images"),
            data=lambda wildcards, input: folder_of(input.data[0]),
            base="" if name == "base" else f"--base {SUPER_RESOLUTION}/base",
            folder=lambda wildcards, output: folder_of(output[0]),
            work=f"{CHECKPOINTS}/super_resolution/{name}",
        shell:
            "bpd train --settings {params.settings:q} --data {params.data} {params.base} --work {params.work}"
            " --output {params.folder} > {log} 2>&1"


for name in DECODED_IMAGE_MODELS:

    rule:
        name:
            f"decode_images_{name}"
        input:
            model=image_model_files(name),
            data=rules.prepare_images.output,
        output:
            image_record_files(name, ".jsonl"),
            image_record_files(name, ".meta.json"),
            likelihood_file(name),
        log:
            f"{LOGS}/decode_images_{name}.log",
        conda:
            ENVIRONMENT
        resources:
            gpu=1,
            runtime=1440,
            mem_mb=16000,
        params:
            settings=as_json(image_grid.decode_settings(super_resolution, name)),
            code=stage_version("decode_images"),
            data=lambda wildcards, input: folder_of(input.data[0]),
            model=lambda wildcards, input: folder_of(input.model[0]),
        shell:
            "bpd decode --settings {params.settings:q} --model {params.model} --data {params.data}"
            " --output {params.model}/decode > {log} 2>&1"


rule score_images:
    input:
        records=IMAGE_RECORDS,
        meta=[path.replace(".jsonl", ".meta.json") for path in IMAGE_RECORDS],
        likelihoods=[likelihood_file(model) for model in DECODED_IMAGE_MODELS],
        data=rules.prepare_images.output,
    output:
        IMAGE_SCORES,
        [path.replace(".jsonl", ".quality.jsonl") for path in IMAGE_RECORDS],
    log:
        f"{LOGS}/score_images.log",
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
        records=IMAGE_RECORDS,
        meta=[path.replace(".jsonl", ".meta.json") for path in IMAGE_RECORDS],
    output:
        in_report(f"{SURVEY}/survey.html", "survey", "Super-resolution"),
        f"{SURVEY}/survey.json",
    log:
        f"{LOGS}/build_survey.log",
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
