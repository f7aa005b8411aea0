# Tables and figures: made from scores, journals and the trace alone.

TABLES = [
    f"{RESULTS}/tables/{name}"
    for name in [
        "table1.csv",
        "table1.md",
        "table1.tex",
        "approximate.csv",
        "approximate.md",
        "approximate.tex",
        "scores.csv",
        "trace.md",
    ]
]
FIGURE_NAMES = ["table1_scatter", "trace", "training_curves", "accepted_blocks"]
FIGURES = [
    f"{PICTURES}/{name}.{kind}" for name in FIGURE_NAMES for kind in ["pdf", "png"]
]


rule tables:
    input:
        scores=SCORES,
        trace=rules.trace_translation.output,
    output:
        in_report(f"{RESULTS}/tables/table1.csv", "table1"),
        f"{RESULTS}/tables/table1.md",
        f"{RESULTS}/tables/table1.tex",
        in_report(f"{RESULTS}/tables/approximate.csv", "approximate"),
        f"{RESULTS}/tables/approximate.md",
        f"{RESULTS}/tables/approximate.tex",
        in_report(f"{RESULTS}/tables/scores.csv", "scores"),
        f"{RESULTS}/tables/trace.md",
    log:
        f"{LOGS}/tables.log",
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=15,
        mem_mb=2000,
    params:
        settings=as_json(grid.report_settings(settings)),
        code=stage_version("report"),
        results=lambda wildcards, output: RESULTS,
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd tables --settings {params.settings:q} --results {params.results} --output {params.folder} > {log} 2>&1"


rule figures:
    input:
        scores=SCORES,
        trace=rules.trace_translation.output,
        journals=[
            f"{TRANSLATION}/{model}/training.jsonl"
            for model in grid.trained_models(translation)
        ],
    output:
        [f"{PICTURES}/{name}.pdf" for name in FIGURE_NAMES],
        [in_report(f"{PICTURES}/{name}.png", name) for name in FIGURE_NAMES],
    log:
        f"{LOGS}/figures.log",
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=15,
        mem_mb=2000,
    params:
        settings=as_json(grid.report_settings(settings)),
        code=stage_version("report"),
        results=lambda wildcards, output: RESULTS,
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd figures --settings {params.settings:q} --results {params.results} --output {params.folder} > {log} 2>&1"


IMAGE_TABLES = [
    f"{RESULTS}/tables/{name}.{kind}"
    for name in ["table2", "table3"]
    for kind in ["csv", "md", "tex"]
] + [f"{RESULTS}/tables/image_scores.csv"]
IMAGE_FIGURE_NAMES = [
    "gallery",
    "acceptance_map",
    "image_training_curves",
    "image_accepted_blocks",
]
IMAGE_FIGURES = [
    f"{PICTURES}/{name}.{kind}"
    for name in IMAGE_FIGURE_NAMES
    for kind in ["pdf", "png"]
]


rule image_tables:
    input:
        scores=IMAGE_SCORES,
    output:
        in_report(f"{RESULTS}/tables/table2.csv", "table2", "Super-resolution"),
        f"{RESULTS}/tables/table2.md",
        f"{RESULTS}/tables/table2.tex",
        in_report(
            f"{RESULTS}/tables/image_scores.csv", "image_scores", "Super-resolution"
        ),
    log:
        f"{LOGS}/image_tables.log",
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=15,
        mem_mb=2000,
    params:
        settings=as_json(image_grid.report_settings(settings)),
        code=stage_version("report_images"),
        results=lambda wildcards, output: RESULTS,
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd tables --task super_resolution --settings {params.settings:q} --results {params.results}"
        " --output {params.folder} > {log} 2>&1"


# Table 3 stands without our numbers until people have voted: their files go into the folder `votes`.
rule table3:
    input:
        survey=f"{SURVEY}/survey.json",
        preference=rules.score_survey.output if VOTES else [],
    output:
        in_report(f"{RESULTS}/tables/table3.csv", "table3", "Super-resolution"),
        f"{RESULTS}/tables/table3.md",
        f"{RESULTS}/tables/table3.tex",
    log:
        f"{LOGS}/table3.log",
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=15,
        mem_mb=2000,
    params:
        code=stage_version("report_images"),
        preference=f"--preference {SURVEY}/preference.json" if VOTES else "",
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd survey table --survey {input.survey} {params.preference} --output {params.folder} > {log} 2>&1"


rule image_figures:
    input:
        scores=IMAGE_SCORES,
        records=IMAGE_RECORDS,
        data=rules.prepare_images.output,
        journals=[
            f"{SUPER_RESOLUTION}/{model}/training.jsonl"
            for model in image_grid.trained_models(super_resolution)
        ],
    output:
        [f"{PICTURES}/{name}.pdf" for name in IMAGE_FIGURE_NAMES],
        [
            in_report(f"{PICTURES}/{name}.png", name, "Super-resolution")
            for name in IMAGE_FIGURE_NAMES
        ],
    log:
        f"{LOGS}/image_figures.log",
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=30,
        mem_mb=4000,
    params:
        settings=as_json(image_grid.report_settings(settings)),
        code=stage_version("report_images"),
        results=lambda wildcards, output: RESULTS,
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd figures --task super_resolution --settings {params.settings:q} --results {params.results}"
        " --output {params.folder} > {log} 2>&1"
