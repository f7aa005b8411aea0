"""Faults seen in the field, injected as they happened there: one file for each, named after it."""

from tests.data.conftest import local_data, server

__all__ = ["local_data", "server"]
