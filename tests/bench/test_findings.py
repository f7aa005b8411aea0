"""Targets and the values that go into the JSON file."""

import json

import pytest

from bench.findings import Findings
from bench.interleave import Ratio
from bench.report import target_of


@pytest.mark.parametrize(
    ("bounds", "verdict", "target"),
    [
        ({}, None, ""),
        ({"at_most": 1.1}, "met", "≤ 1.1"),
        ({"at_most": 1.0}, "missed", "≤ 1"),
        ({"at_least": 1.05}, "met", "≥ 1.05"),
        ({"at_least": 1.2, "at_most": 2.0}, "missed", "≥ 1.2 and ≤ 2"),
    ],
)
def test_the_median_is_held_against_the_target(bounds, verdict, target):
    findings = Findings()
    findings.add("a ÷ b", Ratio(1.05, 0.5, 3.0), **bounds)
    (found,) = findings.as_json()["ratios"]
    assert (found["verdict"], target_of(found)) == (verdict, target)


def test_findings_become_plain_values():
    findings = Findings()
    findings.add("a ÷ b", Ratio(1.0 / 3.0, 0.25, 0.5), at_most=1.0)
    findings.add("pairs a second", 1234.567, limit=2000.0001)
    findings.record(arm="a", seconds=0.5)
    findings.skipped.append("c: not installed")
    values = json.loads(json.dumps(findings.as_json()))
    first, second = values["ratios"]
    assert first == {
        "name": "a ÷ b", "value": 0.33333, "low": 0.25, "high": 0.5, "at_most": 1.0, "at_least": None, "limit": None,
        "verdict": "met",
    }  # fmt: skip
    assert second["value"] == second["low"] == 1234.6 and second["verdict"] is None
    assert second["limit"] == 2000.0
    assert values["measurements"] == [{"arm": "a", "seconds": 0.5}] and values["skipped"] == ["c: not installed"]
