"""The formal core: schema, events, rules, verification, matching, patches, authority.

Pure and deterministic: no input or output, no model, no clock, no randomness of its own.
"""

from vepa.policy.authority import Authority, Threshold, authority, posterior
from vepa.policy.bitsets import ExampleIndex, RuleIndex
from vepa.policy.event import UNITS, Event, Unit
from vepa.policy.feedback import Feedback
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE, CompiledPolicy, Decision, Verdict
from vepa.policy.patches import Edit, Patch, apply, check_patch, edit_size
from vepa.policy.policy import Policy
from vepa.policy.reading import load_policy, read_policy
from vepa.policy.rule import Evidence, Predicate, Provenance, Rule
from vepa.policy.schema import UNKNOWN, Schema, SchemaField, bundled_schema
from vepa.policy.verifier import Verification, conflicts, verify, witness

__all__ = [
    "ABSTAIN",
    "ALLOW",
    "REFUSE",
    "UNITS",
    "UNKNOWN",
    "Authority",
    "CompiledPolicy",
    "Decision",
    "Edit",
    "Event",
    "Evidence",
    "ExampleIndex",
    "Feedback",
    "Patch",
    "Policy",
    "Predicate",
    "Provenance",
    "Rule",
    "RuleIndex",
    "Schema",
    "SchemaField",
    "Threshold",
    "Unit",
    "Verdict",
    "Verification",
    "apply",
    "authority",
    "bundled_schema",
    "check_patch",
    "conflicts",
    "edit_size",
    "load_policy",
    "posterior",
    "read_policy",
    "verify",
    "witness",
]
