# Data: fetched, cleaned and encoded.


rule prepare_text:
    output:
        report=f"{TEXT}/report.json",
        vocabulary=f"{TEXT}/vocabulary.model",
        manifest=f"{TEXT}/train/manifest.json",
    log:
        f"{LOGS}/prepare_text.log",
    benchmark:
        f"{BENCHMARKS}/prepare_text.jsonl"
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=240,
        mem_mb=8000,
    params:
        settings=as_json(grid.prepare_settings(translation)),
        code=stage_version("prepare"),
        folder=lambda wildcards, output: folder_of(output.report),
    shell:
        "bpd prepare text --settings {params.settings:q} --output {params.folder} > {log} 2>&1"


rule prepare_images:
    output:
        report=f"{IMAGES}/report.json",
        train=f"{IMAGES}/train/manifest.json",
        dev=f"{IMAGES}/dev/manifest.json",
    log:
        f"{LOGS}/prepare_images.log",
    benchmark:
        f"{BENCHMARKS}/prepare_images.jsonl"
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=240,
        mem_mb=8000,
    params:
        settings=as_json(image_grid.prepare_settings(super_resolution)),
        code=stage_version("prepare_images"),
        folder=lambda wildcards, output: folder_of(output.report),
    shell:
        "bpd prepare images --settings {params.settings:q} --output {params.folder} > {log} 2>&1"
