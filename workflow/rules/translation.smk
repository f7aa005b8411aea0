# Translation: base and teacher, distillation, proposal heads, decoding, timing and scores; the models of each seed.


HEAD_MODELS = grid.head_models(translation)
DECODED_MODELS = grid.decoded_models(translation)
TIMED_MODELS = grid.timed_models(translation)
RECORDS = {
    seed: [
        path for model in DECODED_MODELS for path in record_files(model, ".jsonl", seed)
    ]
    for seed in settings.seeds
}
SCORES = [
    path
    for seed in settings.seeds
    for model in DECODED_MODELS
    for path in record_files(model, ".score.json", seed)
]
HEADS = [path for model in DECODED_MODELS for path in heads_files(model)]
TIMINGS = [
    path
    for model in TIMED_MODELS
    for path in time_files("translation", model, grid.time_settings(translation))
]


for seed in settings.seeds:
    for name in ["base", "teacher"]:
        train_settings = grid.train_settings(translation, name, seed)
        cards = cards_of(train_settings.training)

        rule:
            name:
                rule_name(f"train_{name}", seed)
            input:
                data=rules.prepare_text.output,
            output:
                model_files(name, seed),
                directory(f"{root_of(seed)}/translation/{name}/tensorboard"),
            log:
                f"{LOGS}/{rule_name(f'train_{name}', seed)}.log",
            benchmark:
                f"{BENCHMARKS}/{rule_name(f'train_{name}', seed)}.jsonl"
            # What everything else waits for goes first.
            priority: 20
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
                code=stage_version("train"),
                data=lambda wildcards, input: folder_of(input.data[0]),
                folder=lambda wildcards, output: folder_of(output[0]),
                work=checkpoints_of("translation", name, seed),
            shell:
                "bpd train --settings {params.settings:q} --data {params.data} --work {params.work}"
                " --processes {resources.processes} --output {params.folder} > {log} 2>&1"


for seed in settings.seeds:

    rule:
        name:
            rule_name("distill_shard", seed)
        input:
            teacher=model_files("teacher", seed),
            data=rules.prepare_text.output,
        output:
            f"{root_of(seed)}/translation/distillation/shard_{{shard}}.jsonl",
        log:
            f"{LOGS}/{rule_name('distill_shard', seed)}_{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/{rule_name('distill_shard', seed)}_{{shard}}.jsonl"
        priority: 10
        retries: RETRIES
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

    rule:
        name:
            rule_name("merge_distillation", seed)
        input:
            shards=[
                f"{root_of(seed)}/translation/distillation/shard_{shard}.jsonl"
                for shard in range(translation.distillation.shards)
            ],
            teacher=model_files("teacher", seed),
            data=rules.prepare_text.output,
        output:
            f"{distilled_of(seed)}/manifest.json",
        log:
            f"{LOGS}/{rule_name('merge_distillation', seed)}.log",
        benchmark:
            f"{BENCHMARKS}/{rule_name('merge_distillation', seed)}.jsonl"
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


for seed in settings.seeds:
    for name in HEAD_MODELS:
        head_settings = grid.train_settings(translation, name, seed)
        distilled = head_settings.corpus == "distilled"
        cards = cards_of(head_settings.training)

        rule:
            name:
                rule_name(f"train_{name}", seed)
            input:
                base=model_files("base", seed),
                data=rules.prepare_text.output,
                distilled=f"{distilled_of(seed)}/manifest.json" if distilled else [],
            output:
                model_files(name, seed),
                directory(f"{root_of(seed)}/translation/{name}/tensorboard"),
            log:
                f"{LOGS}/{rule_name(f'train_{name}', seed)}.log",
            benchmark:
                f"{BENCHMARKS}/{rule_name(f'train_{name}', seed)}.jsonl"
            retries: RETRIES
            conda:
                ENVIRONMENT
            resources:
                gpu=cards,
                processes=cards,
                runtime=2880,
                mem_mb=16000 * cards,
            params:
                settings=as_json(head_settings),
                code=stage_version("train"),
                data=lambda wildcards, input: folder_of(input.data[0]),
                distilled=f"--distilled {distilled_of(seed)}" if distilled else "",
                base=lambda wildcards, input: folder_of(input.base[0]),
                folder=lambda wildcards, output: folder_of(output[0]),
                work=checkpoints_of("translation", name, seed),
            shell:
                "bpd train --settings {params.settings:q} --data {params.data} {params.distilled}"
                " --base {params.base} --work {params.work} --processes {resources.processes} --output {params.folder}"
                " > {log} 2>&1"


for seed in settings.seeds:
    for name in DECODED_MODELS:

        rule:
            name:
                rule_name(f"decode_{name}", seed)
            input:
                model=model_files(name, seed),
                data=rules.prepare_text.output,
            output:
                record_files(name, ".jsonl", seed),
                record_files(name, ".meta.json", seed),
                heads_files(name, seed),
            log:
                f"{LOGS}/{rule_name(f'decode_{name}', seed)}.log",
            benchmark:
                f"{BENCHMARKS}/{rule_name(f'decode_{name}', seed)}.jsonl"
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


for name in TIMED_MODELS:

    rule:
        name:
            f"time_{name}"
        input:
            model=model_files(name),
            base=model_files("base"),
            data=rules.prepare_text.output,
        output:
            time_files("translation", name, grid.time_settings(translation)),
        log:
            f"{LOGS}/time_{name}.log",
        benchmark:
            f"{BENCHMARKS}/time_{name}.jsonl"
        conda:
            ENVIRONMENT
        threads: ALL_CORES
        resources:
            gpu=1,
            runtime=2880,
            mem_mb=16000,
            compute_threads=1,
        params:
            settings=as_json(grid.time_settings(translation)),
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
            rule_name("score_translation", seed)
        input:
            records=RECORDS[seed],
            meta=[path.replace(".jsonl", ".meta.json") for path in RECORDS[seed]],
            data=rules.prepare_text.output,
        output:
            [path.replace(".jsonl", ".score.json") for path in RECORDS[seed]],
        log:
            f"{LOGS}/{rule_name('score_translation', seed)}.log",
        benchmark:
            f"{BENCHMARKS}/{rule_name('score_translation', seed)}.jsonl"
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
    benchmark:
        f"{BENCHMARKS}/trace_translation.jsonl"
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
