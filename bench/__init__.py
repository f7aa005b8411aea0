"""The benchmark suite: ratios between ways of doing the same work, measured side by side in one run."""
