"""What a broker does from one look at its group to the next: the stories of turns.txt."""

from __future__ import annotations

import pytest
from election.state_tables import Checker
from election.traces import Story, play, stories


@pytest.mark.parametrize("story", stories("turns.txt"), ids=lambda story: story.title)
def test_story(story: Story) -> None:
    play(story, Checker())
