"""Report: tables, figures and traces, made from scores and records alone, beside the published numbers."""
