"""Policy files to policies: every finding with its line, nothing half-read."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from vepa.errors import PolicyError
from vepa.policy.collector import paused
from vepa.policy.document import Document, Path, parse_document, plain_words
from vepa.policy.event import Unit
from vepa.policy.feedback import Code, Feedback
from vepa.policy.policy import Policy
from vepa.policy.remedies import remedy_of
from vepa.policy.rule import Evidence, Predicate, Provenance, Rule, Status, masks_of
from vepa.policy.schema import Schema, bundled_schema, nearest
from vepa.policy.verifier import MAX_ID, MAX_RULES, Verification, verify

__all__ = ["PolicyFile", "RuleFile", "load_policy", "read_policy", "rules_from_data"]


#: Entries of a list inside a rule: more are refused before one is looked at.
MAX_LISTED = 1_000
#: Examples that a rule's evidence counts, at most: the posterior is worked out in floats.
MAX_COUNT = 1_000_000_000_000


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class PredicateFile(_Strict):
    """`{in: [...]}` or `{not_in: [...]}`."""

    in_: list[str] | None = Field(default=None, alias="in", max_length=MAX_LISTED)
    not_in: list[str] | None = Field(default=None, max_length=MAX_LISTED)

    @model_validator(mode="after")
    def _exactly_one(self) -> PredicateFile:
        if (self.in_ is None) == (self.not_in is None):
            raise ValueError("a predicate is either `in: [values]` or `not_in: [values]`")
        return self

    def predicate(self) -> Predicate:
        """The predicate that is meant."""
        if self.in_ is not None:
            return Predicate("in", tuple(self.in_))
        return Predicate("not_in", tuple(self.not_in or ()))


class ProvenanceFile(_Strict):
    """Round, operation and parents of a rule."""

    round: int | None = None
    operation: str | None = None
    parents: list[str] = Field(default=[], max_length=MAX_LISTED)
    source: str | None = Field(default=None, max_length=MAX_ID)


class EvidenceFile(_Strict):
    """Counts of labelled examples that a rule covers."""

    support: int = Field(ge=0, le=MAX_COUNT)
    contradictions: int = Field(ge=0, le=MAX_COUNT)
    probability: float | None = Field(default=None, ge=0.0, le=1.0)


class RuleFile(_Strict):
    """One rule of a policy file."""

    id: str
    decision: Literal["allow", "refuse"]
    when: dict[str, PredicateFile] = Field(max_length=MAX_LISTED)
    rationale: str = ""
    provenance: ProvenanceFile | None = None
    evidence: EvidenceFile | None = None
    status: Status | None = None
    held: bool = False

    @model_validator(mode="after")
    def _held_or_active(self) -> RuleFile:
        if self.held and self.status == "active":
            raise ValueError("a rule that is `held: true` is inactive; drop one of the two")
        return self


class SchemaReference(_Strict):
    """Which schema a policy was written for."""

    version: int
    sha256: str


class PolicyFile(_Strict):
    """The shape of a policy file, format 1."""

    policy: Literal[1]
    schema_: SchemaReference | None = Field(default=None, alias="schema")
    unit: Unit = "trajectory"
    rules: list[RuleFile] = Field(max_length=MAX_RULES)

    @field_validator("policy", mode="before")
    @classmethod
    def _is_a_number(cls, given: object) -> object:
        if isinstance(given, (bool, float)):  # equal to 1 in Python, not in a file
            raise ValueError(f"1 belongs here, not {json.dumps(given)}")
        return given


def read_policy(text: str, file: str = "<policy>", schema: Schema | None = None) -> Verification:
    """Parse and verify the text of a policy file (YAML or JSON).

    Parameters
    ----------
    text
        Content of the file.
    file
        Its name, for messages.
    schema
        The schema to hold it against; the bundled one when left out.

    Returns
    -------
    Verification
        The policy, or every finding with its line.

    Raises
    ------
    PolicyError
        When the text is not even YAML or JSON.
    """
    with paused():
        document = parse_document(text, file, PolicyError)
        return _from_document(document, schema or bundled_schema())


def load_policy(text: str, file: str = "<policy>", schema: Schema | None = None) -> Policy:
    """Like `read_policy`, but raises what rejects the policy.

    Raises
    ------
    PolicyError
        When the text is no policy file, or (`VerificationError`) the verifier rejects it.
    """
    return read_policy(text, file, schema).unwrap(file)


def rules_from_data(data: object, schema: Schema) -> tuple[list[Rule], list[Feedback]]:
    """Rules from plain data (a list of rules in file form), as a proposer hands them in."""
    document = Document({"policy": 1, "rules": data}, "<proposal>", None, {})
    shape, found = _shape(document)
    if shape is None:
        return [], found
    return _rules(shape, schema, document)


def _from_document(document: Document, schema: Schema) -> Verification:
    shape, found = _shape(document)
    if shape is None:
        return Verification(None, tuple(found))
    if shape.schema_ is not None and shape.schema_.sha256 != schema.sha256:
        mismatch = Feedback(
            "schema_mismatch",
            f"the policy was written for schema version {shape.schema_.version} "
            f"({shape.schema_.sha256[:12]}…), not for version {schema.version} "
            f"({schema.sha256[:12]}…)",
            field="schema",
            line=document.line(("schema",)),
            remedy="name its schema with --schema, or `vepa schema migrate OLD NEW POLICY`",
        )
        return Verification(None, (mismatch,))
    rules, found = _rules(shape, schema, document)
    if found:
        return Verification(None, tuple(found))
    policy = Policy(schema, tuple(rules), shape.unit)
    verification = verify(policy)
    if verification.ok:
        return verification
    at = {rule.id: ("rules", i) for i, rule in enumerate(rules)}
    lines = {rule: document.line(path) or 1 for rule, path in at.items()}
    return verify(policy, lines)


def _shape(document: Document) -> tuple[PolicyFile | None, list[Feedback]]:
    try:
        return PolicyFile.model_validate(document.data), []
    except ValidationError as error:
        return None, [_malformed(item, document) for item in error.errors(include_url=False)]


def _malformed(item: Any, document: Document) -> Feedback:
    path: Path = tuple(item["loc"])
    ids: tuple[str, ...] = ()
    if len(path) >= 2 and path[0] == "rules" and isinstance(path[1], int):
        rule = document.data["rules"][path[1]]
        if isinstance(rule, dict) and isinstance(rule.get("id"), str):
            ids = (rule["id"],)
    return Feedback(
        "malformed",
        plain_words(item),
        rules=ids,
        field=".".join(map(str, path)) or None,
        line=document.line(path),
        remedy=remedy_of(item),
    )


def _rules(
    shape: PolicyFile, schema: Schema, document: Document
) -> tuple[list[Rule], list[Feedback]]:
    rules: list[Rule] = []
    found: list[Feedback] = []
    carries_evidence = any(rule.evidence is not None for rule in shape.rules)
    for i, rule in enumerate(shape.rules):
        faults = list(_domain_faults(rule, schema, document, i))
        found += faults
        if not faults:
            rules.append(_rule(rule, schema, carries_evidence))
    return rules, found


def _rule(rule: RuleFile, schema: Schema, carries_evidence: bool) -> Rule:
    when = {name: predicate.predicate() for name, predicate in rule.when.items()}
    # A file without evidence was written by people, and its rules are meant. In a file with
    # evidence a rule earns its authority, so one that does not say its status has none.
    status = rule.status or ("inactive" if carries_evidence or rule.held else "active")
    born = rule.provenance
    return Rule(
        rule.id,
        rule.decision,
        when,
        masks_of(schema, when),
        rule.rationale,
        Provenance(born.round, born.operation, tuple(born.parents), born.source) if born else None,
        Evidence(**rule.evidence.model_dump()) if rule.evidence else None,
        status,
        rule.held,
    )


def _domain_faults(
    rule: RuleFile, schema: Schema, document: Document, position: int
) -> list[Feedback]:
    found: list[Feedback] = []

    def fault(code: Code, message: str, field: str, path: Path, remedy: str) -> None:
        line = document.line(("rules", position, "when", *path))
        found.append(Feedback(code, message, (rule.id,), field, None, line, remedy))

    for name, shape in rule.when.items():
        if name not in schema:
            fault(
                "unknown_field",
                f"rule {rule.id!r}: the schema has no field {name!r}",
                name,
                (name,),
                nearest(name, schema.names, "fields"),
            )
            continue
        predicate = shape.predicate()
        for i, value in enumerate(predicate.values):
            if value not in schema[name].codes:
                fault(
                    "unknown_value",
                    f"rule {rule.id!r}: {value!r} is not in the domain of {name!r}",
                    name,
                    (name, predicate.operator, i),
                    nearest(value, schema[name].values, "values"),
                )
    return found
