# Translation: base and teacher, distillation, proposal heads, decoding and scores.


HEAD_MODELS = grid.head_models(translation)
DECODED_MODELS = grid.decoded_models(translation)
RECORDS = [path for model in DECODED_MODELS for path in record_files(model, ".jsonl")]
SCORES = [
    path for model in DECODED_MODELS for path in record_files(model, ".score.json")
]


for name in ["base", "teacher"]:

    rule:
        name:
            f"train_{name}"
        input:
            data=rules.prepare_text.output,
        output:
            model_files(name),
            directory(f"{TRANSLATION}/{name}/tensorboard"),
        log:
            f"{LOGS}/train_{name}.log",
        # What everything else waits for goes first.
        priority: 20
        retries: 1
        conda:
            ENVIRONMENT
        resources:
            gpu=1,
            runtime=2880,
            mem_mb=16000,
        params:
            settings=as_json(grid.train_settings(translation, name)),
            code=stage_version("train"),
            data=lambda wildcards, input: folder_of(input.data[0]),
            folder=lambda wildcards, output: folder_of(output[0]),
            work=f"{CHECKPOINTS}/translation/{name}",
        shell:
            "bpd train --settings {params.settings:q} --data {params.data} --work {params.work}"
            " --output {params.folder} > {log} 2>&1"


rule distill_shard:
    input:
        teacher=model_files("teacher"),
        data=rules.prepare_text.output,
    output:
        f"{TRANSLATION}/distillation/shard_{{shard}}.jsonl",
    log:
        f"{LOGS}/distill_shard_{{shard}}.log",
    priority: 10
    retries: 1
    conda:
        ENVIRONMENT
    resources:
        gpu=1,
        runtime=720,
        mem_mb=16000,
    params:
        settings=as_json(grid.distill_settings(translation)),
        code=stage_version("distill"),
        data=lambda wildcards, input: folder_of(input.data[0]),
        teacher=lambda wildcards, input: folder_of(input.teacher[0]),
    shell:
        "bpd distill shard --settings {params.settings:q} --teacher {params.teacher} --data {params.data}"
        " --shard {wildcards.shard} --output {output} > {log} 2>&1"


rule merge_distillation:
    input:
        shards=[
            f"{TRANSLATION}/distillation/shard_{shard}.jsonl"
            for shard in range(translation.distillation.shards)
        ],
        teacher=model_files("teacher"),
        data=rules.prepare_text.output,
    output:
        f"{DISTILLED}/manifest.json",
    log:
        f"{LOGS}/merge_distillation.log",
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=60,
        mem_mb=16000,
    params:
        settings=as_json(grid.distill_settings(translation)),
        code=stage_version("distill"),
        data=lambda wildcards, input: folder_of(input.data[0]),
        teacher=lambda wildcards, input: folder_of(input.teacher[0]),
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd distill merge --settings {params.settings:q} --teacher {params.teacher} --data {params.data}"
        " --output {params.folder} {input.shards} > {log} 2>&1"


for name in HEAD_MODELS:
    head_settings = grid.train_settings(translation, name)
    distilled = head_settings.corpus == "distilled"

    rule:
        name:
            f"train_{name}"
        input:
            base=model_files("base"),
            data=rules.prepare_text.output,
            distilled=rules.merge_distillation.output if distilled else [],
        output:
            model_files(name),
            directory(f"{TRANSLATION}/{name}/tensorboard"),
        log:
            f"{LOGS}/train_{name}.log",
        retries: 1
        conda:
            ENVIRONMENT
        resources:
            gpu=1,
            runtime=2880,
            mem_mb=16000,
        params:
            settings=as_json(head_settings),
            code=stage_version("train"),
            data=lambda wildcards, input: folder_of(input.data[0]),
            distilled=f"--distilled {DISTILLED}" if distilled else "",
            base=lambda wildcards, input: folder_of(input.base[0]),
            folder=lambda wildcards, output: folder_of(output[0]),
            work=f"{CHECKPOINTS}/translation/{name}",
        shell:
            "bpd train --settings {params.settings:q} --data {params.data} {params.distilled}"
            " --base {params.base} --work {params.work} --output {params.folder} > {log} 2>&1"


for name in DECODED_MODELS:

    rule:
        name:
            f"decode_{name}"
        input:
            model=model_files(name),
            data=rules.prepare_text.output,
        output:
            record_files(name, ".jsonl"),
            record_files(name, ".meta.json"),
        log:
            f"{LOGS}/decode_{name}.log",
        conda:
            ENVIRONMENT
        resources:
            gpu=1,
            runtime=240,
            mem_mb=16000,
        params:
            settings=as_json(grid.decode_settings(translation, name)),
            code=stage_version("decode"),
            data=lambda wildcards, input: folder_of(input.data[0]),
            model=lambda wildcards, input: folder_of(input.model[0]),
        shell:
            "bpd decode --settings {params.settings:q} --model {params.model} --data {params.data}"
            " --output {params.model}/decode > {log} 2>&1"


rule score_translation:
    input:
        records=RECORDS,
        meta=[path.replace(".jsonl", ".meta.json") for path in RECORDS],
        data=rules.prepare_text.output,
    output:
        SCORES,
    log:
        f"{LOGS}/score_translation.log",
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=60,
        mem_mb=4000,
    params:
        code=stage_version("score"),
        data=lambda wildcards, input: folder_of(input.data[0]),
    shell:
        "bpd score --data {params.data} {input.records} > {log} 2>&1"


rule trace_translation:
    input:
        model=model_files(grid.trace_model(translation)),
        data=rules.prepare_text.output,
    output:
        f"{TRANSLATION}/trace.json",
    log:
        f"{LOGS}/trace_translation.log",
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=30,
        mem_mb=8000,
    params:
        settings=as_json(grid.trace_settings(translation)),
        code=stage_version("trace"),
        data=lambda wildcards, input: folder_of(input.data[0]),
        model=lambda wildcards, input: folder_of(input.model[0]),
    shell:
        "bpd trace --settings {params.settings:q} --model {params.model} --data {params.data}"
        " --output {output} > {log} 2>&1"
