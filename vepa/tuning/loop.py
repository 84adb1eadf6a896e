"""The loop of a training: steps, validation, checkpoints, and when it stops."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.errors import RunError
from vepa.tuning.checkpoints import State, write_checkpoint
from vepa.tuning.encoding import Encoded, batches, encoded
from vepa.tuning.examples import Example
from vepa.tuning.learner import Learner
from vepa.tuning.manifest import DataManifest
from vepa.tuning.schedules import rate_at

if TYPE_CHECKING:  # pragma: no cover
    from vepa.tuning.recipe import Recipe

__all__ = ["Progress", "Run"]

#: Steps between checkpoints where the recipe evaluates more seldom.
_KEEP_EVERY = 20


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a training stands after a step.

    Attributes
    ----------
    step, steps
        Done, and of how many.
    loss
        Mean over the learned tokens of this step.
    validation
        Loss in validation, where this step was followed by one.
    learning_rate
        Of this step.
    tokens_per_second
        Read tokens a second of this start, validation left out.
    cpu_seconds, wall_seconds
        Of all starts together.
    """

    step: int
    steps: int
    loss: float
    validation: float | None
    learning_rate: float
    tokens_per_second: float
    cpu_seconds: float
    wall_seconds: float


class Run:
    """A training from its start, or from its checkpoint, to its end.

    Parameters
    ----------
    recipe, learner
        How, and what learns.
    examples, held
        Of the train split and of the validation split.
    folder
        Gets the checkpoint.
    kept
        What the checkpoint before held, if there is one.
    of
        Hash of what is trained; a checkpoint keeps it.

    Attributes
    ----------
    steps
        Of the whole training.
    state
        How far it has come.
    """

    def __init__(
        self,
        recipe: Recipe,
        learner: Learner,
        examples: Sequence[Example],
        held: Sequence[Example],
        folder: Path,
        kept: tuple[State, dict[str, Any]] | None,
        of: str,
    ):
        self._recipe, self._learner, self._folder = recipe, learner, folder
        self._encoded = [encoded(each, learner.tokenizer) for each in examples]
        self._held = [encoded(each, learner.tokenizer) for each in held]
        self._examples = examples
        a_step = recipe.batch * recipe.accumulation
        self.steps = recipe.steps or math.ceil((recipe.epochs or 1) * len(examples) / a_step)
        self._best: dict[str, Any] = {}
        self.state = State(of=of)
        if kept is not None:
            self.state, tensors = kept
            self.state.starts += 1
            self._best = tensors["best"]
            learner.restore(tensors)
        self._before = (self.state.cpu_seconds, self.state.wall_seconds)
        self._began = (time.process_time(), time.monotonic())
        self._read = [0, 0.0]  # tokens, and seconds, of this start's steps

    def to_the_end(self, progress: Callable[[Progress], None]) -> str:
        """Every step that is left; returns why it stopped."""
        every, recipe = self._recipe.evaluation.every, self._recipe
        for examples in self._groups():
            state = self.state
            rate = rate_at(
                state.step, self.steps, recipe.learning_rate, recipe.warmup, recipe.schedule
            )
            self._step(examples, rate)
            self._clock()
            why = "all steps done" if state.step == self.steps else self._why_stop()
            valid = None
            if self._held and (why or (every and state.step % every == 0)):
                valid = self._validate()
                self._clock()
                why = why or self._why_stop()
            if valid is not None or why or state.step % _KEEP_EVERY == 0:
                tensors = {**self._learner.tensors(), "best": self._best}
                write_checkpoint(self._folder, state, tensors)
            progress(self._progress(rate, valid))
            if why:
                return why
        return self._why_stop() or "all steps done"  # it was stopped just before its products

    def _groups(self) -> Iterator[list[list[Encoded]]]:
        """The batches of each step that is left."""
        recipe = self._recipe
        if self._why_stop():
            return
        order = batches(
            self._examples,
            [len(each) for each in self._encoded],
            recipe.batch,
            recipe.seed,
            balanced=recipe.balanced,
        )
        many = recipe.accumulation
        order = islice(order, self.state.step * many, self.steps * many)
        while group := list(islice(order, many)):
            yield [[self._encoded[at] for at in batch] for batch in group]

    def _step(self, examples: Sequence[Sequence[Encoded]], rate: float) -> None:
        began = time.monotonic()
        try:
            loss, tokens = self._learner.step(examples, rate)
        except FloatingPointError as error:
            raise RunError(
                f"step {self.state.step + 1}: {error}; the checkpoint before it is kept; a smaller "
                "learning rate, or fp32, may help"
            ) from None
        self._read[0] += tokens
        self._read[1] += time.monotonic() - began
        self.state.losses.append(loss)
        self.state.tokens += tokens
        self.state.step += 1

    def _validate(self) -> float:
        state = self.state
        loss = self._learner.validation(self._held, self._recipe.batch)
        state.validations.append((state.step, loss))
        if state.best is None or loss < state.best:
            state.best, state.best_step, state.waited = loss, state.step, 0
            self._best = self._learner.adapter()
        else:
            state.waited += 1
        return loss

    def _why_stop(self) -> str:
        patience, limit = self._recipe.evaluation.patience, self._recipe.limits.cpu_minutes
        if patience and self.state.waited >= patience:
            return "validation does not get better"
        if limit is not None and self.state.cpu_seconds >= limit * 60:
            return "its processor time is used up"
        return ""

    def _clock(self) -> None:
        self.state.cpu_seconds = self._before[0] + time.process_time() - self._began[0]
        self.state.wall_seconds = self._before[1] + time.monotonic() - self._began[1]

    def _speed(self) -> float:
        return self._read[0] / self._read[1] if self._read[1] else 0.0

    def _progress(self, rate: float, valid: float | None) -> Progress:
        return Progress(
            step=self.state.step,
            steps=self.steps,
            loss=self.state.losses[-1],
            validation=valid,
            learning_rate=rate,
            tokens_per_second=self._speed(),
            cpu_seconds=self.state.cpu_seconds,
            wall_seconds=self.state.wall_seconds,
        )

    def metrics(self, stopped: str, manifest: DataManifest) -> dict[str, Any]:
        """The figures of it all; the learner then holds the best adapter."""
        state = self.state
        if self._best:
            self._learner.set_adapter(self._best)
        return {
            "form": 1,
            "of": state.of,
            "kind": manifest.kind,
            "data": manifest.content_sha256,
            "stopped": stopped,
            "steps": state.step,
            "planned": self.steps,
            "starts": state.starts,
            "loss": state.losses[-1],
            "validation_loss": state.best,
            "best_step": state.best_step if self._best else state.step,
            "tokens": state.tokens,
            "tokens_per_second": round(self._speed(), 1),
            "cpu_seconds": round(state.cpu_seconds, 2),
            "wall_seconds": round(state.wall_seconds, 2),
            "gpu_bytes": self._learner.memory(),
            "losses": state.losses,
            "validations": [list(each) for each in state.validations],
        }
