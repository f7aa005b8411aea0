"""The paper's own numbers as if they were ours, and the scorecard of any values."""

from bpd.config import ScorecardSettings, TolerancesConfig
from bpd.report.result_values import Values, published_values
from bpd.report.scorecard import judged

TOLERANCES = TolerancesConfig(bleu=0.5, mean_accepted_block_size=0.25, speedup=0.5, preference_percent=2.0)
PAPER = ScorecardSettings(scale="paper", tolerances=TOLERANCES, same_bleu=0.5, slight_bleu=1.5)
MINI = ScorecardSettings(scale="mini", tolerances=None, same_bleu=0.5, slight_bleu=1.5)
# Section 7.1 describes minimum block sizes without numbers: these would fit its words.
MINIMUM = {
    (k, f"minimum{least}"): (bleu, block)
    for k, least, bleu, block in ((2, 2, 20.0, 2.0), (4, 2, 20.0, 3.6), (4, 3, 15.0, 3.9), (10, 2, 18.0, 5.2),
                                  (10, 3, 14.0, 5.4))
}  # fmt: skip


def paper_values():
    """Return the paper's own numbers as if they were ours, with what it describes filled in."""
    values = published_values()
    for key, (bleu, block) in MINIMUM.items():
        values["approximate", key, "bleu"], values["approximate", key, "mean_accepted_block_size"] = bleu, block
    for k, speedup, block in ((2, 1.5, 1.96), (10, 3.2, 6.79)):
        values["figure4", ("super_resolution", k, "recompute"), "speedup"] = speedup
        values["figure4", ("super_resolution", k, "recompute"), "mean_accepted_block_size"] = block
    return values


def by_item(values, settings=PAPER):
    return {entry.item: entry for entry in judged(Values(values), settings)}
