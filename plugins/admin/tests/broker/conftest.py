"""The scenes of the kernel's own broker tests."""

from broker.conftest import run as run
