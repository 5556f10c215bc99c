"""Hypothesis' limits of time for a machine that others use: imported by `conftest.py`, `-p` elsewhere."""

from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared machine")
