"""Constrained answers of a real network, against the same probabilities worked out one by one."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="NOT RUN: the extra train is not installed")
transformers = pytest.importorskip(
    "transformers", reason="NOT RUN: the extra train is not installed"
)

from vepa.llm.local.choosing import choose  # noqa: E402 - only with torch
from vepa.llm.local.options import Question  # noqa: E402 - only with torch

END = 3
QUESTIONS = (
    Question("one", (10, 11), {"a": (20, END), "b": (21, 22, END), "c": (21, 23, END)}),
    Question("two", (12,), {"x": (30, 31, 32, END), "y": (30, 31, 33, END)}),
    Question("three", (13, 14), {"only": (40, END)}),
    Question("four", (15,), {"p": (50, END), "q": (51, END), "r": (52, END)}),
)
PROMPTS = ([5, 6, 7, 8, 9, 5, 6], [8], [9, 9, 4, 4])


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def model(request):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, initializer_range=0.5,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).to(getattr(torch, request.param)).eval()


def by_hand(model, prompt, questions):
    """No cache, no batch, no tree: one pass over all that was read for each place of a way."""
    read, found = list(prompt), []
    for question in questions:
        read += question.head
        scores = {}
        for name, ids in question.options.items():
            score, ways = 0.0, list(question.options.values())
            for at, id_ in enumerate(ids):
                open_ = sorted({way[at] for way in ways if way[:at] == ids[:at]})
                if len(open_) > 1:
                    with torch.inference_mode():
                        logits = model(torch.tensor([[*read, *ids[:at]]])).logits[0, -1].double()
                    score += float(torch.log_softmax(logits[open_], 0)[open_.index(id_)])
            scores[name] = score
        best = max(scores, key=scores.__getitem__)
        found.append((best, {name: math.exp(score) for name, score in scores.items()}))
        read += question.options[best]
    return found


def test_answers_and_probabilities_are_those_worked_out_one_by_one(model):
    near = 1e-4 if model.dtype == torch.float32 else 0.1
    for prompt, answers in zip(PROMPTS, choose(model, PROMPTS, QUESTIONS), strict=True):
        assert [answer.name for answer in answers] == [each.name for each in QUESTIONS]
        for answer, question, (value, shares) in zip(
            answers, QUESTIONS, by_hand(model, prompt, QUESTIONS), strict=True
        ):
            assert answer.probabilities == pytest.approx(list(shares.values()), abs=near)
            assert sum(answer.probabilities) == pytest.approx(1)
            assert answer.confidence == max(answer.probabilities)
            assert answer.value in question.options
            if model.dtype == torch.float32:
                assert answer.value == value


def test_a_prompt_is_answered_the_same_alone_and_among_others(model):
    if model.dtype != torch.float32:
        pytest.skip("bfloat16 rounds by the shape of a batch")
    together = choose(model, PROMPTS, QUESTIONS)
    for prompt, answers in zip(PROMPTS, together, strict=True):
        [alone] = choose(model, [prompt], QUESTIONS)
        for one, other in zip(alone, answers, strict=True):
            assert one.value == other.value
            assert one.probabilities == pytest.approx(other.probabilities, abs=1e-4)


def test_nothing_asked_and_nobody_asked(model):
    assert choose(model, [], QUESTIONS) == []
    assert choose(model, [[5]], []) == [[]]
