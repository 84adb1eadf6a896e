"""Numbers of the LiSA-style baseline, all of them ours."""

from __future__ import annotations

__all__ = ["GATE", "GROUPED", "NEAR", "PERCENTILE", "REFRESH", "SHOWN", "WRITTEN"]

#: Average cosine at which two groups of reports become one. Chosen, not tuned: for `hashing/1024`
#: it is about six of the seventeen fields of the bundled schema that differ.
GROUPED = 0.80
#: Cosine from which a case is near: with `hashing/1024`, at most one of those fields differs.
NEAR = 0.95
#: Of the posterior that the gate looks at.
PERCENTILE = 0.05
#: What the percentile has to reach. Tuned in a synthetic setting (tests/bench/asked): of 0 to 0.8
#: in steps of 0.1 the best mean macro-F1 over 0, 10 and 20 % flips, five seeds each.
GATE = 0.4
#: New reports after which the memory is made anew. Chosen, not tuned, like the two below.
REFRESH = 5
#: Groups that the model is asked to write about in one refresh, at most.
WRITTEN = 8
#: Distinct events of a group that the model is shown, at most.
SHOWN = 12
