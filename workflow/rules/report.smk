# Tables, figures, scorecard and page: made from scores, timings, journals and the trace alone.

FIGURE_NAMES = ["table1_scatter", "trace", "training_curves", "accepted_blocks"]
TABLES = [
    *table_files("table1", "approximate", "table4"),
    f"{RESULTS}/tables/scores.csv",
    f"{RESULTS}/tables/trace.md",
    f"{RESULTS}/tables/trace.html",
    f"{MADE}/tables",
]
ANIMATION = f"{PICTURES}/trace.gif"
FIGURES = [*figure_files(FIGURE_NAMES), ANIMATION, f"{MADE}/figures"]


rule tables:
    input:
        scores=SCORES,
        timings=TIMINGS,
        trace=rules.trace_translation.output,
    output:
        table_outputs("table1", "approximate", "table4", category="Translation"),
        in_report(f"{RESULTS}/tables/scores.csv", "scores"),
        f"{RESULTS}/tables/trace.md",
        in_report(f"{RESULTS}/tables/trace.html", "trace"),
        touch(f"{MADE}/tables"),
    log:
        f"{LOGS}/tables.log",
    benchmark:
        f"{BENCHMARKS}/tables.jsonl"
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
        ANIMATION,
        touch(f"{MADE}/figures"),
    log:
        f"{LOGS}/figures.log",
    benchmark:
        f"{BENCHMARKS}/figures.jsonl"
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
    *table_files("table2", "table3"),
    f"{RESULTS}/tables/image_scores.csv",
    f"{MADE}/image_tables",
    f"{MADE}/table3",
]
IMAGE_FIGURE_NAMES = [
    "gallery",
    "acceptance_map",
    "image_training_curves",
    "image_accepted_blocks",
]
IMAGE_FIGURES = [*figure_files(IMAGE_FIGURE_NAMES), f"{MADE}/image_figures"]


rule image_tables:
    input:
        scores=IMAGE_SCORES,
    output:
        table_outputs("table2", category="Super-resolution"),
        in_report(
            f"{RESULTS}/tables/image_scores.csv", "image_scores", "Super-resolution"
        ),
        touch(f"{MADE}/image_tables"),
    log:
        f"{LOGS}/image_tables.log",
    benchmark:
        f"{BENCHMARKS}/image_tables.jsonl"
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
        table_outputs("table3", category="Super-resolution"),
        touch(f"{MADE}/table3"),
    log:
        f"{LOGS}/table3.log",
    benchmark:
        f"{BENCHMARKS}/table3.jsonl"
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
        records=IMAGE_RECORDS[1],
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
        touch(f"{MADE}/image_figures"),
    log:
        f"{LOGS}/image_figures.log",
    benchmark:
        f"{BENCHMARKS}/image_figures.jsonl"
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


SPEED_TABLE_NAMES = ["figure4", "speed_by_batch", "time_shares", "head_accuracy"]
SPEED_FIGURE_NAMES = ["figure4", "speed_by_batch", "head_accuracy"]
SPEED_TABLES = [*table_files(*SPEED_TABLE_NAMES), f"{MADE}/speed_tables"]
SPEED_FIGURES = [*figure_files(SPEED_FIGURE_NAMES), f"{MADE}/speed_figures"]


rule speed_tables:
    input:
        scores=SCORES + IMAGE_SCORES,
        timings=TIMINGS + IMAGE_TIMINGS,
        heads=HEADS + IMAGE_HEADS,
    output:
        table_outputs(*SPEED_TABLE_NAMES, category="Speed"),
        touch(f"{MADE}/speed_tables"),
    log:
        f"{LOGS}/speed_tables.log",
    benchmark:
        f"{BENCHMARKS}/speed_tables.jsonl"
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=15,
        mem_mb=2000,
    params:
        settings=as_json(image_grid.speed_settings(settings)),
        code=stage_version("report_speed"),
        results=lambda wildcards, output: RESULTS,
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd tables --task speed --settings {params.settings:q} --results {params.results}"
        " --output {params.folder} > {log} 2>&1"


rule speed_figures:
    input:
        scores=SCORES + IMAGE_SCORES,
        timings=TIMINGS + IMAGE_TIMINGS,
        heads=HEADS + IMAGE_HEADS,
    output:
        [f"{PICTURES}/{name}.pdf" for name in SPEED_FIGURE_NAMES],
        [
            in_report(f"{PICTURES}/{name}.png", f"{name}_plot", "Speed")
            for name in SPEED_FIGURE_NAMES
        ],
        touch(f"{MADE}/speed_figures"),
    log:
        f"{LOGS}/speed_figures.log",
    benchmark:
        f"{BENCHMARKS}/speed_figures.jsonl"
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=15,
        mem_mb=2000,
    params:
        settings=as_json(image_grid.speed_settings(settings)),
        code=stage_version("report_speed"),
        results=lambda wildcards, output: RESULTS,
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd figures --task speed --settings {params.settings:q} --results {params.results}"
        " --output {params.folder} > {log} 2>&1"


SCORECARD = [*table_files("scorecard"), f"{MADE}/scorecard"]


rule scorecard:
    input:
        tables=[
            f"{RESULTS}/tables/{name}.csv"
            for name in [
                "table1",
                "approximate",
                "table2",
                "table3",
                "table4",
                "figure4",
            ]
        ],
        trace=rules.trace_translation.output,
        made=[
            f"{MADE}/{name}"
            for name in ["tables", "image_tables", "table3", "speed_tables"]
        ],
    output:
        table_outputs("scorecard", category="Scorecard"),
        touch(f"{MADE}/scorecard"),
    log:
        f"{LOGS}/scorecard.log",
    benchmark:
        f"{BENCHMARKS}/scorecard.jsonl"
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=15,
        mem_mb=2000,
    params:
        settings=as_json(grid.scorecard_settings(settings)),
        code=stage_version("scorecard"),
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd scorecard --settings {params.settings:q} --tables {params.folder} --trace {input.trace} > {log} 2>&1"


COST = [*table_files("cost"), f"{MADE}/cost"]


# The records of jobs are no input: one that is lost, or older than they are, is no reason to run a job again.
rule cost:
    input:
        TABLES,
        IMAGE_TABLES,
        SPEED_TABLES,
        SCORECARD,
        FIGURES,
        IMAGE_FIGURES,
        SPEED_FIGURES,
    output:
        table_outputs("cost", category="Cost"),
        touch(f"{MADE}/cost"),
    log:
        f"{LOGS}/cost.log",
    benchmark:
        f"{BENCHMARKS}/cost.jsonl"
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=15,
        mem_mb=2000,
    params:
        settings=as_json(settings),
        code=stage_version("cost"),
        results=lambda wildcards, output: RESULTS,
        folder=lambda wildcards, output: folder_of(output[0]),
    shell:
        "bpd cost --settings {params.settings:q} --results {params.results} --output {params.folder} > {log} 2>&1"


rule results_page:
    input:
        TABLES,
        IMAGE_TABLES,
        SPEED_TABLES,
        SCORECARD,
        FIGURES,
        IMAGE_FIGURES,
        SPEED_FIGURES,
        COST,
    output:
        f"{RESULTS}/README.md",
        in_report(f"{RESULTS}/config.yaml", "config", "Configuration"),
        touch(f"{MADE}/results_page"),
    log:
        f"{LOGS}/results_page.log",
    benchmark:
        f"{BENCHMARKS}/results_page.jsonl"
    conda:
        ENVIRONMENT
    resources:
        gpu=0,
        runtime=15,
        mem_mb=2000,
    params:
        settings=as_json(settings),
        code=stage_version("results_page"),
        results=lambda wildcards, output: RESULTS,
        figures=lambda wildcards, output: PICTURES,
    shell:
        "bpd page --settings {params.settings:q} --results {params.results} --figures {params.figures} > {log} 2>&1"
