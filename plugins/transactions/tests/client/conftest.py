"""Scenes of transactional producers, of single messages and of batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from transaction_scenes import BatchScene, TransactionScene, play_in


@pytest.fixture
def play() -> Callable[..., None]:
    """Runs an async scenario with a `TransactionScene`."""

    def run(scenario: Any, **options: Any) -> None:
        play_in(TransactionScene, scenario, 1, **options)

    return run


@pytest.fixture
def play_batches() -> Callable[..., None]:
    """Runs an async scenario with a `BatchScene`."""

    def run(scenario: Any, brokers: int = 1, **options: Any) -> None:
        play_in(BatchScene, scenario, brokers, **options)

    return run
