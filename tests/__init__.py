"""The test suite; run by ``make test``."""

from hypothesis import HealthCheck, settings

# The same examples in each run, and none fails for the time it takes: others may use the processor.
settings.register_profile(
    "same", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")
