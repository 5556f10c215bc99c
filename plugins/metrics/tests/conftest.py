"""The broker on a clock that only the test moves, as tests of the kernel's broker have it."""

from broker.conftest import run

__all__ = ["run"]
