"""Cases settled in a terminal, or by a script that writes the same lines into a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from rich.text import Text

from vepa.annotate.arbitration.context import surroundings
from vepa.annotate.arbitration.drafting import COMMANDS, Draft
from vepa.annotate.arbitration.page.typed import Typed
from vepa.annotate.arbitration.queue import ArbitrationQueue, LostClaimError
from vepa.annotate.arbitration.records import Case, Claim, Dispute
from vepa.corpus.labels import Judgement
from vepa.corpus.taxonomy import Taxonomy
from vepa.corpus.trajectory import Step
from vepa.errors import InputError
from vepa.files import canonical_json
from vepa.parsing.llm.lines import offered_tools
from vepa.parsing.sources import Leaf
from vepa.viewer.signs import visible
from vepa.viewer.terminal import Line, folded_lines, print_lines, step_lines
from vepa.viewer.view import ShownStep

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["TerminalDesk", "case_lines"]

#: So many steps before the judged one are shown at first.
_BEFORE = 6
_OTHERS = (
    (".", "give", "give the verdict"),
    ("d", "draft", "what is said so far"),
    ("f", "full", "the whole case, to the end of every result"),
    ("s", "skip", "leave the case to others; a reason may follow"),
    ("u", "undo", "take the last verdict back and settle it again"),
    ("q", "quit", "give the case back and leave"),
    ("?", "help", "this; `? 6` or `? KEY` defines a trigger"),
)
After = Literal["given", "skipped", "lost", "quit"] | Claim


class TerminalDesk:
    """A person at a terminal.

    Parameters
    ----------
    queue
        The queue.
    who
        Their name.
    read
        Gives the next line; None when there is none any more.
    console
        Where things are shown.
    full
        Whether results are shown to their end at once.
    """

    def __init__(
        self,
        queue: ArbitrationQueue,
        who: str,
        read: Callable[[], str | None],
        console: Console,
        *,
        full: bool = False,
    ):
        self._queue, self._who, self._read = queue, who, read
        self._console, self._full = console, full
        self._taxonomy: Taxonomy = queue.taxonomy

    def run(self, *, one: bool = False) -> int:
        """Settle cases until somebody leaves or nothing is left; returns how many verdicts came.

        Where nothing is open, one's last verdict can still be taken back. However it ends, a case
        that was not settled is given back.

        Parameters
        ----------
        one
            Whether to leave after one case.
        """
        settled = 0
        while (claim := self._queue.claim(self._who) or self._end()) is not None:
            after = self._work(claim)
            while isinstance(after, Claim):
                after = self._work(after)
            settled += after == "given"
            if after == "quit" or (one and after in ("given", "skipped")):
                break
        return settled

    def _work(self, claim: Claim) -> After:
        """One case, given back when it was not settled."""
        try:
            return self._settle(claim)
        finally:
            self._queue.release(claim.token)

    def _end(self) -> Claim | None:
        """Nothing is open: what one said last can be taken back; None to leave."""
        left = self._queue.skipped(self._who)
        more = f"; {left} you left to others" if left else ""
        self._say(f"nothing is open for {visible(self._who)}{more}")
        last = self._queue.last(self._who)
        if last is None:
            return None
        self._say(f"your last verdict: {_told(last.verdict.judgement)}")
        self._say("u takes it back, Enter looks whether a case came up, q leaves")
        while (line := self._read()) is not None:
            word = line.strip()
            if word in ("u", "undo"):
                return self._queue.undo(self._who)
            if word in ("q", "quit"):
                return None
            if word:
                self._say("there is no case to say that about: u, Enter or q")
            elif (claim := self._queue.claim(self._who)) is not None:
                return claim
            else:
                self._say("still nothing")
        return None

    def _settle(self, claim: Claim) -> After:
        """One case; a claim is what an undone verdict was about."""
        draft = Draft(claim.case, self._taxonomy, self._before(claim))
        self._show(claim.case, self._full)
        if claim.before is not None:
            self._say(draft.told())
        while (line := self._read()) is not None:
            try:
                self._queue.renew(claim.token)
                after = self._line(claim, draft, line.strip())
            except LostClaimError as error:
                self._say(f"{error.message}; {error.remedy}")
                return "lost"
            except InputError as error:
                self._complain(error)
                continue
            if after is not None:
                return after
        return "quit"

    def _line(self, claim: Claim, draft: Draft, line: str) -> After | None:
        word, _, rest = line.partition(" ")
        name = next((each[1] for each in _OTHERS if word in each[:2]), None)
        if not line:
            return None
        if name == "give":
            return self._give(claim, draft)
        if name == "skip":
            self._queue.skip(claim.token, why=rest.strip())
            return "skipped"
        if name == "undo":
            undone = self._queue.undo(self._who)
            if undone is None:
                self._say("there is nothing to undo")
            return undone
        if name == "quit":
            return "quit"
        if name == "full":
            self._show(claim.case, True)
        elif name == "help":
            self._help(rest.strip())
        elif name == "draft" or draft.take(line):
            self._say(draft.told())
        else:
            raise InputError(f"{word!r} is no command", remedy="`?` lists them")
        return None

    def _give(self, claim: Claim, draft: Draft) -> After:
        note = draft.typed.note or None
        given = self._queue.settle(claim.token, draft.judgement(), note=note)
        self._say(f"noted: {draft.told()}")
        others = self._queue.opinions(given.verdict.item, self._who)
        if others is not None:
            print_lines(self._console, _opinions(others))
        return "given"

    def _before(self, claim: Claim) -> Typed | None:
        if claim.before is None:
            return None
        undone = self._queue.taken_back(self._who, claim.case.item)
        return Typed.of_judgement(claim.before, undone.verdict.note if undone else None)

    # -- what is shown -------------------------------------------------------------------------

    def _show(self, case: Case, full: bool) -> None:
        lines = case_lines(case, full=full, plain=not self._console.is_terminal)
        if full and self._console.is_terminal:
            with self._console.pager(styles=True):
                print_lines(self._console, lines)
        else:
            self._say("")
            print_lines(self._console, lines)

    def _say(self, text: str) -> None:
        print_lines(self._console, [Line(0, Text(visible(text)))])

    def _complain(self, error: InputError) -> None:
        place = f"{error.where.field}: " if error.where.field else ""
        remedy = f" ({error.remedy})" if error.remedy else ""
        text = visible(f"{place}{error.message}{remedy}")
        print_lines(self._console, [Line(0, Text(text, style="red"))])

    def _help(self, wanted: str) -> None:
        keys = self._taxonomy.keys
        at = int(wanted) - 1 if wanted.isdecimal() and wanted.isascii() else -1
        key = keys[at] if 0 <= at < len(keys) else wanted
        lines = list(_definition(self._taxonomy, key)) if wanted else list(_lists(self._taxonomy))
        if not lines:
            raise InputError(f"{wanted!r} is no trigger", remedy="`?` lists them")
        print_lines(self._console, lines)


def case_lines(case: Case, *, full: bool = False, plain: bool = False) -> Iterator[Line]:
    """A case as the annotators were shown it: no source of a word, no event, nobody's opinion.

    Parameters
    ----------
    case
        The case.
    full
        All steps, every result to its end, and what the tools say of themselves.
    plain
        Whether there is no colour.
    """
    shown = case.shown
    if shown.system:
        yield Line(0, Text("system", style="dim"))
        yield from folded_lines(shown.system, 2, full=full)
    yield from _known(case, full)
    for tool in offered_tools(shown) if full else ():
        told = f"{visible(tool.name)}: {visible(tool.description or 'says nothing of itself')}"
        yield Line(2, Text(told, style="dim"))
    first = 0 if full else max(0, case.step - _BEFORE)
    if first:
        yield Line(0, Text(f"… {first} earlier steps (f shows them)", style="dim italic"))
    names = {tool.name for tool in offered_tools(shown)}
    for step in shown.steps[first:]:
        judged = step.index == case.step
        yield Line(0, Text("▶ the step to judge" if judged else "", style="bold yellow"))
        before = shown.steps[step.index - 1].conversation if step.index else step.conversation
        yield from step_lines(_neutral(step, names, before), full=full or judged, plain=plain)


def _neutral(step: Step, names: set[str], before: int | None) -> ShownStep:
    leaves = [] if step.call is None else list(_leaves((), step.call.arguments))
    if step.call is not None and step.call.text is not None:
        leaves.append(Leaf((), step.call.text, ()))
    offered = step.call is None or not names or step.call.tool in names
    return ShownStep(step, leaves, (), (), offered, opens=step.conversation != before)


def _leaves(path: tuple[str | int, ...], value: Any) -> Iterator[Leaf]:
    if isinstance(value, dict | list) and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for name, each in pairs:
            yield from _leaves((*path, name), each)
    elif path:
        yield Leaf(path, value if isinstance(value, str) else canonical_json(value), ())


def _known(case: Case, full: bool) -> Iterator[Line]:
    for name, value in surroundings(case.shown.premises):
        yield Line(0, Text(name, style="dim"))
        yield from folded_lines(value, 2, full=full)


def _opinions(dispute: Dispute) -> Iterator[Line]:
    for label in dispute.labels:
        told = f"{label.annotator} ({label.origin}): {_told(label.judgement)}"
        yield Line(2, Text(visible(told), style="dim"))
    for failure in dispute.failures:
        yield Line(2, Text(visible(f"{failure.annotator}: {failure.reason}"), style="dim"))


def _told(judgement: Judgement) -> str:
    parts = [judgement.decision, *judgement.triggers]
    parts += [each for each in (judgement.risk_source, judgement.harm, judgement.severity) if each]
    return f"{' · '.join(parts)}  {judgement.rationale}"


def _lists(taxonomy: Taxonomy) -> Iterator[Line]:
    for key, word, meaning in (*COMMANDS, *_OTHERS):
        yield Line(0, Text(f"{key:>2}  {word:<10}  {meaning}"))
    for title, entries in (
        ("triggers", {trigger.key: trigger.title for trigger in taxonomy.triggers}),
        ("risk sources (i)", taxonomy.risk_sources),
        ("harms (h)", taxonomy.harms),
        ("severities (v)", taxonomy.severities),
    ):
        yield Line(0, Text(title, style="bold"))
        for at, (key, about) in enumerate(entries.items(), 1):
            yield Line(0, Text(f"{at:>2}  {key}: {about}"))


def _definition(taxonomy: Taxonomy, key: str) -> Iterator[Line]:
    for trigger in taxonomy.triggers:
        if trigger.key == key:
            yield Line(0, Text(f"{trigger.key}: {trigger.title}", style="bold"))
            yield Line(2, Text(trigger.definition))
            yield from (Line(2, Text(f"sign: {sign}")) for sign in trigger.signs)
            yield Line(2, Text(f"it is: {trigger.borderline.is_}"))
            yield Line(2, Text(f"it is not: {trigger.borderline.is_not}"))
            yield Line(2, Text(f"nor is: {trigger.counter_example}"))
