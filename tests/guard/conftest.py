"""A judge behind a loopback server that plays a plan."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from errands import MODEL, asked_at
from loopback_model import key, server, warm
from model_servers import ModelServer, Plan

from vepa.guard.fallback import ModelJudge
from vepa.llm import open_model
from vepa.llm.prompts import load_prompt
from vepa.project import Project

__all__ = ["judge", "key", "server", "warm"]


@pytest.fixture
def judge(server: ModelServer) -> Callable[[Plan], ModelJudge]:
    def made(plan: Plan) -> ModelJudge:
        server.play(plan)
        return ModelJudge(
            open_model(MODEL, settings=asked_at(server)), load_prompt(Project(), "judge")
        )

    return made
