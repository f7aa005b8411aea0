"""Write the README's summary of the mini scale from its scorecard, so that the two cannot part.

`make docs` runs it; a test holds the README to it.
"""

import csv
from collections import Counter
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
README, RESULTS = ROOT / "README.md", ROOT / "results" / "mini"
BEGIN, END = "<!-- scorecard: written by `make docs` -->\n", "<!-- end of the scorecard -->\n"
VERDICTS = ("holds", "fails", "not measured")


def main() -> None:
    """Put the summary between the README's two marks."""
    README.write_text(with_summary(README.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")


def with_summary(page: str, results: Path) -> str:
    """Return `page` with the summary of `results` between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + summary(results) + END + after


def summary(results: Path) -> str:
    """Return how many claims of the paper hold at a scale, by section, and which fail, as Markdown."""
    with open(results / "tables" / "scorecard.csv", encoding="utf-8", newline="") as stream:
        claims = [row for row in csv.DictReader(stream) if row["kind"] == "claim"]
    config = yaml.safe_load((results / "config.yaml").read_text(encoding="utf-8"))
    seeds = ", ".join(map(str, config["seeds"]))
    grids = ", ".join(
        f"k = {', '.join(map(str, config[task]['heads']['block_sizes']))} for {name}"
        for task, name in (("translation", "translation"), ("super_resolution", "images"))
    )
    lines = [
        f"{len(claims)} claims of the paper, judged on our own numbers ({grids}; seed {seeds}):",
        "",
        "| section | " + " | ".join(VERDICTS) + " |",
        "| --- |" + " ---: |" * len(VERDICTS),
    ]
    counts: dict[str, Counter[str]] = {}
    for claim in claims:
        counts.setdefault(claim["section"], Counter())[claim["verdict"]] += 1
    counts["all"] = sum(counts.values(), Counter())
    for section, found in counts.items():
        lines.append(f"| {section} | " + " | ".join(str(found[verdict]) for verdict in VERDICTS) + " |")
    failing = [f"- {claim['item']}: {claim['ours']}" for claim in claims if claim["verdict"] == "fails"]
    if failing:
        lines += ["", "What fails, and our numbers:", "", *failing]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
