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
