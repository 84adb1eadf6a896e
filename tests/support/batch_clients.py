"""A client of a batch API as a process of its own, made to be killed."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

from vepa.llm import Ledger, Message, ModelRequest, ModelSettings, Shape
from vepa.llm.batch import Pace, open_batch_model
from vepa.llm.batch.vendors import Limits

__all__ = ["FAST", "KEY", "MODELS", "WORD", "asked", "client", "gather", "opened", "start"]

KEY = "sk-canary-of-the-batch-tests"
MODELS = {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-sonnet-4-5"}
WORD = Shape(
    name="word",
    schema={
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
        "additionalProperties": False,
    },
)
FAST = Pace(first=0.005, longest=0.02, doubt=0.15, patience=20)


def asked(number):
    return ModelRequest(
        messages=(
            Message(role="system", content="You are a clerk."),
            Message(role="user", content=f"request {number}"),
        ),
        shape=WORD,
    )


def client(wire, base, folder, limits=None, **more):
    """A model behind a server of `batch_servers`, in a hurry."""
    known = {"max_tokens": 200, "first_wait": 0.002, "longest_wait": 0.01, "max_attempts": 3}
    known |= {name: more.pop(name) for name in list(more) if name in ModelSettings.model_fields}
    settings = ModelSettings(api_base=base, **known)
    path = folder / "bulk.sqlite"
    model = open_batch_model(MODELS[wire], path, settings=settings, pace=FAST, **more)
    if limits is not None:
        model._sender._vendor.limits = limits
    return model


def opened(server, wire, folder, limits=None, **more):
    """A client of a server of this process."""
    return client(wire, server.base(wire), folder, limits, **more)


def gather(model, numbers, seconds=20):
    """Every outcome, as a caller gets them who steps until all are there."""
    wanted = {model.key_of(asked(n)): (lambda n=n: asked(n)) for n in numbers}
    names = dict(zip(wanted, numbers, strict=True))
    found, until = {}, time.monotonic() + seconds
    while wanted:
        for key, outcome in model.step(wanted).items():
            found[names[key]] = outcome
            del wanted[key]
        assert time.monotonic() < until, f"{len(wanted)} are missing: {model.trouble}"
        if wanted:
            time.sleep(model.idle())
    return found


def _run(wire, base, folder, count, size):
    os.environ["OPENAI_API_KEY"] = os.environ["ANTHROPIC_API_KEY"] = KEY
    folder = Path(folder)
    ledger = Ledger(folder / "ledger.jsonl")
    with client(wire, base, folder, Limits(size, 10**6), ledger=ledger) as model:
        gather(model, range(count), seconds=60)


def start(wire, base, folder, count, size):
    """Start one; forked from a process that has loaded the vendors' clients already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["openai", "anthropic", "batch_clients"])
    process = context.Process(target=_run, args=(wire, base, str(folder), count, size))
    process.start()
    return process
