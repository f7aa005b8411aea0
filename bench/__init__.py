"""Benchmarks: ratios measured in one run, arms in turns, with what they were measured on. `python -m bench --help`."""
