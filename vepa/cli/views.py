"""How policies and what is said about them look to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vepa.cli.findings import counted

if TYPE_CHECKING:
    from vepa.cli.console import Output
    from vepa.corpus.comparison import Comparison
    from vepa.policy.diff import Difference
    from vepa.policy.explain import Explanation
    from vepa.policy.policy import Policy
    from vepa.policy.rule import Rule
    from vepa.policy.testing import Report

__all__ = ["show_difference", "show_explanation", "show_policy", "show_tests"]

_BAR = 10


def show_policy(out: Output, policy: Policy) -> None:
    """The rules with their evidence, as a table and as a document."""
    out.document(
        {
            "policy_hash": policy.policy_hash,
            "document_hash": policy.document_hash,
            "schema": {"version": policy.schema.version, "sha256": policy.schema.sha256},
            "unit": policy.unit,
            "rules": [{**rule.to_dict(), "confidence": confidence(rule)} for rule in policy.rules],
        }
    )
    rows = [
        (
            rule.id,
            rule.decision,
            rule.status,
            conditions(rule),
            rule.evidence.support if rule.evidence else "",
            rule.evidence.contradictions if rule.evidence else "",
            bar(confidence(rule)),
        )
        for rule in policy.rules
    ]
    out.table(
        ("rule", "decision", "status", "when", "for", "against", _measure(policy)),
        rows,
        title=f"{counted(len(policy), 'rule')}, {len(policy.active)} active, unit {policy.unit}",
        right=("for", "against"),
    )
    for sentence in gate(policy):
        out.text(sentence)
    out.text(f"policy_hash {policy.policy_hash}")


def gate(policy: Policy) -> list[str]:
    """By what its rules are active, in words: a run's probabilities, or the counts."""
    from vepa.policy.authority import DEFAULT, authority

    judge = authority("paper")
    asked = judge.thresholds["refuse"]
    carried = [rule.evidence.probability for rule in policy.rules if rule.evidence is not None]
    found = []
    if any(probability is not None for probability in carried):
        found.append(
            "P(precise enough): that a rule is as precise as its run asks, as the run worked it "
            f"out; under {DEFAULT!r}, the default, on true labels, with wrong feedback allowed "
            f"for; active from {asked.confidence:g} on unless the run asks for more"
        )
    if not carried or None in carried:
        without = "a rule with evidence" + (" and no probability" if found else "")
        found.append(
            f"by counts alone ({judge.name!r}), {without} is active when "
            f"P(precision ≥ {asked.target:g}) ≥ {asked.confidence:g}: {judge.needed('refuse', 0)} "
            f"supports with no contradiction, {judge.needed('refuse', 1)} with one"
        )
    return found


def _measure(policy: Policy) -> str:
    carried = (rule.evidence.probability for rule in policy.rules if rule.evidence is not None)
    known = any(probability is not None for probability in carried)
    return "P(precise enough)" if known else "P(precision ≥ 0.95)"


def confidence(rule: Rule) -> float | None:
    """Probability that a rule is precise enough; None without evidence.

    As its run worked it out, where the evidence carries it; else P(precision >= 0.95) by counts.
    """
    from vepa.policy.authority import posterior

    if rule.evidence is None:
        return None
    if rule.evidence.probability is not None:
        return rule.evidence.probability
    return posterior(rule.evidence.support, rule.evidence.contradictions, 0.95)


def bar(share: float | None) -> str:
    """A share as a bar with its number."""
    if share is None:
        return "no evidence"
    full = round(share * _BAR)
    return f"{'█' * full}{'░' * (_BAR - full)} {share:.2f}"


def conditions(rule: Rule) -> str:
    """A rule's predicates, one a line."""
    return "\n".join(
        f"{name} {predicate.operator.replace('_', ' ')} {{{', '.join(predicate.values)}}}"
        for name, predicate in rule.when.items()
    )


def show_explanation(out: Output, id: str, label: str | None, why: Explanation) -> None:
    """Verdict, fired rules and near misses of one event."""
    known = f" (label: {label})" if label else ""
    out.text(f"{id}: {why.verdict}{known}")
    for rule in why.fired:
        out.text(f"  fired: {rule.id}: {rule.describe()}{_evidence(rule)}")
    for rule in why.inactive:
        out.text(f"  matched but inactive: {rule.id}: {rule.describe()}{_evidence(rule)}")
    for miss in why.nearest:
        out.text(f"  not fired: {miss.rule.id} ({miss.rule.decision}), for want of")
        for failure in miss.failures:
            ((operator, values),) = failure.predicate.items()
            out.text(
                f"    {failure.field} {operator.replace('_', ' ')} {{{', '.join(values)}}}: "
                f"it is {failure.value!r}"
            )


def _evidence(rule: Rule) -> str:
    from vepa.policy.explain import evidence_words

    return "" if rule.evidence is None else f" [{evidence_words(rule.evidence)}]"


def show_difference(out: Output, found: Difference, compared: Comparison | None) -> None:
    """Changed rules, changed decisions, and counts on events."""
    for change in found.rules:
        rule: Any = change.after or change.before
        name = rule.id
        if change.kind == "renamed" and change.before is not None:
            name = f"{change.before.id} → {rule.id}"
        told = rule.describe()
        if change.kind == "status":
            told = f"now {rule.status}{_evidence(rule)}"
        out.text(f"rule {change.kind}: {name}: {told}")
    for part in found.changes:
        more = "" if part.exact else "at least "
        out.text(
            f"{part.before} → {part.after}: {more}{counted(part.events, 'event')} "
            f"({_share(part.events, found.space)} of all)"
        )
        for region in part.regions[:5]:
            data = region.to_dict(found.schema)
            witness = ", ".join(f"{name}: {value}" for name, value in data["witness"].items())
            rules = " → ".join(rule or "none" for rule in (region.before, region.after))
            events = counted(data["events"], "event")
            out.text(f"  {events}, rules {rules}; witness {{{witness}}}")
    if any(part.regions for part in found.changes):
        out.text("fields that a witness leaves out are `unknown` in it")
    alike = "though their rules differ (see above)" if found.rules else "by the same rules"
    verdict = {
        True: f"both decide every event alike, {alike}",
        False: "decisions differ",
        None: "the budget of work was spent before equivalence was settled",
    }
    out.text(verdict[found.equivalent])
    if compared is not None:
        _show_comparison(out, compared)


def _share(part: int, whole: int) -> str:
    share = part / whole
    return "less than 0.01%" if 0 < share < 0.0001 else f"{share:.2%}"


def _show_comparison(out: Output, compared: Comparison) -> None:
    """What changes on a table of events, the most dangerous first; then what stays."""
    data = compared.to_dict()
    verb = "changes" if data["changed"] == 1 else "change"
    out.text(f"on {counted(data['total'], 'event')} {counted(data['changed'], 'decision')} {verb}")
    stays = False
    for row in data["transitions"]:
        if row["from"] == row["to"] and not stays:
            out.text("unchanged:")
            stays = True
        labels = ", ".join(f"{number:,} {label}" for label, number in row["labelled"].items())
        known = f" (labelled: {labels})" if compared.labelled else ""
        ids = row.get("ids", [])
        shown = f": {', '.join(ids[:10])}{' …' if len(ids) > 10 else ''}" if ids else ""
        out.text(f"  {row['from']} → {row['to']}: {row['count']:,}{known}{shown}")


def show_tests(out: Output, report: Report, file: str) -> None:
    """Failed tests, the count, and rules that no test fires."""
    for result in report.results:
        if not result.passed:
            wanted: str = result.expected
            if result.expected_rules is not None:
                wanted += f" by {', '.join(result.expected_rules) or 'no rule'}"
            got: str = result.verdict
            if result.rules:
                got += f" by {', '.join(result.rules)}"
            place = f"{file}:{result.line}" if result.line else file
            out.text(f"FAILED {place}: {result.name}: expected {wanted}, got {got}")
    passed = sum(result.passed for result in report.results)
    out.text(f"{passed} of {counted(len(report.results), 'test')} passed")
    fired = report.active - len(report.untested)
    out.text(f"{fired} of {counted(report.active, 'active rule')} fired by a test")
    if report.untested:
        out.text(f"  never fired: {', '.join(report.untested)}")
