"""LiSA-style: a fixed guard and a memory of its failures that is used where evidence backs it.

Only the abstract of LiSA is public to us; steps and constants here are ours. Call it LiSA-style
wherever a figure of it is shown.

1. Base guard. The model judges an event alone, without any policy; it never changes. Each distinct
   event is asked once.
2. Retrieval. An event is decided by a local rule near it; else by the gated broad policy that is
   most alike; else by the base guard. Whatever decides, that is the standing decision.
3. Failure reports. Feedback on which the standing decision was wrong becomes a report: the visible
   event and the label that feedback gave.
4. Groups. The distinct events of all reports are joined by average linkage over the cosines of
   their embeddings while two groups are at least `GROUPED` alike. A report alone waits.
5. Broad policy. For a group of two reports or more that all have one label, the model writes title
   and description; the label is the decision. Key is the embedding of its words; it reaches as far
   as the report of its own group that is least like them.
6. Local rules. A group with both labels gets a rule for each side, whose cases are its reports. An
   event falls to the side of the nearest case, if that is at least `NEAR` alike; to both sides
   where they are equally near.
7. Evidence. All feedback so far, right or wrong, counts for every policy and rule that it falls to:
   support where the label is its decision, else a contradiction.
8. Gate. A broad policy decides when the 5th percentile of Beta(1 + support, 1 + contradictions) is
   at least `GATE`; a local rule when more speaks for it than against it.
9. Refresh. After `REFRESH` new reports groups, policies and rules are made anew, at the end of the
   round: nothing is decided in between. A group of the same reports keeps its policy; the
   `WRITTEN` largest others are written about.
10. Fail-closed. Without a readable verdict the base guard refuses; where equals disagree, refuse;
    without a readable policy the group has none, and that is noted.
"""

from vepa.bench.baselines.asked.lisa.guard import LiSA

__all__ = ["LiSA"]
