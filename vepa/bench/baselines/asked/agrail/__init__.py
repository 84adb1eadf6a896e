"""AGrail (arXiv 2502.11448) on typed events: a guard that keeps a memory of checks.

An event takes three questions and two calls of the embedder:

1. `agrail-key`: the event as a generic sentence and as a command form; together the retrieval key.
2. The memory is one list; an entry is a key and the checks, each with a name, a definition and one
   of the categories that the caller gives.
3. The entry with the nearest key is retrieved; without any, a fixed example is shown instead.
4. `agrail-analyse`: checks are added, revised or merged, or written anew; a flag says whether the
   case is in memory, and a sentence sums the event up.
5. In memory: the cosine between that sentence and the sentence of the retrieved key exceeds 0.80,
   or the flag is set.
6. `agrail-execute`: every check is deleted, left to a local look-up, or judged true or false.
7. The checks that are kept go under the retrieved key when in memory, else under the new one; they
   replace what stood there. Nothing is written when none is left.
8. Unsafe when a kept check is false. No label enters: `learn` does nothing.

What differs from the original, and has to be said beside its figures: it sees typed fields, no
action as text and no principles of an agent's use; its tools are one inert look-up; one embedder
does for retrieval and for step 5; answers are structured, and one that cannot be read refuses.
"""

from vepa.bench.baselines.asked.agrail.memory import Check, Entry, Key, Memory
from vepa.bench.baselines.asked.agrail.method import AGrail, Verdict
from vepa.bench.baselines.asked.agrail.steps import CATEGORIES, AGrailPrompts

__all__ = ["CATEGORIES", "AGrail", "AGrailPrompts", "Check", "Entry", "Key", "Memory", "Verdict"]
