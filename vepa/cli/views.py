"""How policies and what is said about them look to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
        ("rule", "decision", "status", "when", "for", "against", "P(precision ≥ 0.95)"),
        rows,
        title=f"{len(policy)} rules, {len(policy.active)} active, unit {policy.unit}",
        right=("for", "against"),
    )
    out.text(f"policy_hash {policy.policy_hash}")


def confidence(rule: Rule) -> float | None:
    """P(precision >= 0.95) of a rule's evidence under the `paper` gate; None without evidence."""
    from vepa.policy.authority import posterior

    if rule.evidence is None:
        return None
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
    if rule.evidence is None:
        return ""
    return f" [{rule.evidence.support} for, {rule.evidence.contradictions} against]"


def show_difference(out: Output, found: Difference, counted: Comparison | None) -> None:
    """Changed rules, changed decisions, and counts on events."""
    for change in found.rules:
        rule: Any = change.after or change.before
        name = rule.id
        if change.kind == "renamed" and change.before is not None:
            name = f"{change.before.id} → {rule.id}"
        told = f"now {rule.status}" if change.kind == "status" else rule.describe()
        out.text(f"rule {change.kind}: {name}: {told}")
    for part in found.changes:
        more = "" if part.exact else "at least "
        share = part.events / found.space
        out.text(f"{part.before} → {part.after}: {more}{part.events} events ({share:.2%} of all)")
        for region in part.regions[:5]:
            data = region.to_dict(found.schema)
            witness = ", ".join(f"{name}: {value}" for name, value in data["witness"].items())
            rules = " → ".join(rule or "none" for rule in (region.before, region.after))
            out.text(f"  {data['events']} events, rules {rules}; witness {{{witness}}}")
    verdict = {
        True: "both decide every event alike",
        False: "decisions differ",
        None: "the budget of work was spent before equivalence was settled",
    }
    out.text(verdict[found.equivalent])
    if counted is not None:
        data = counted.to_dict()
        out.text(f"on {data['total']} events {data['changed']} decisions change")
        for row in data["transitions"]:
            ids = row.get("ids", [])
            shown = f": {', '.join(ids[:10])}{' …' if len(ids) > 10 else ''}" if ids else ""
            out.text(f"  {row['from']} → {row['to']}: {row['count']}{shown}")


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
    out.text(f"{passed} of {len(report.results)} tests passed")
    fired = report.active - len(report.untested)
    out.text(f"{fired} of {report.active} active rules fired by a test")
    if report.untested:
        out.text(f"  never fired: {', '.join(report.untested)}")
