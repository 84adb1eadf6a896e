"""Many requests to one model through a vendor's batch API, by the vendor's own client.

A batch costs about half and takes up to a day. Meanwhile processes are killed and connections are
lost, and a request that is sent twice is paid twice. What holds:

**Nothing that the vendor may have taken is sent again before it is known that it was not taken.**

1. A request is known by the hash of what is sent for it (`key`). A journal (SQLite, synced at
   every change, held by one process) knows every key that is on its way, answered or given up.
2. Before a batch is sent it stands in the journal with its keys and a token drawn for it
   (`intended`). What is free comes next: OpenAI's file of requests is uploaded; of Anthropic the id
   of its newest batch is asked for. Both are written down with the time (`sending`).
3. Then comes the one call that costs, without retries by the client. Its answer, the vendor's id,
   is written down at once (`submitted`).
4. A call that the vendor refused (4xx) or that never left (no connection) is `void`: its keys are
   free. Every other end of it, a lost connection, a 5xx, a kill, leaves `sending`: **in doubt**.
   The keys of a batch in doubt are not sent again. The vendor's list says more:

   - OpenAI: each batch carries our token as metadata. Found: `submitted`. Not found for
     `Pace.doubt` seconds: its file is deleted, so that a call that is still on its way finds none,
     and the list is read once more; only then `void`.
   - Anthropic takes no metadata, but the id of each request is ours and begins with the token.
     Batches that are newer than the one noted before the call and have as many requests are looked
     at: one that has ended shows in its results whose it is; as long as one is still being worked
     on, nothing is sent again. None for `Pace.doubt` seconds: `void`.

5. A batch that has ended is fetched whole, as often as needed. Its answers are written to the
   ledger (a line names batch and request, and is written once even if this is done again after a
   kill) and then, with the new state, to the journal in one transaction (`collected`).
6. Only what the vendor says it did not charge is asked again, in a next batch and
   `ModelSettings.max_attempts` times at most: errored on its side, expired, canceled. What it
   refuses is given up at once; so is an answer that may have been charged and cannot be read.

What is left: a vendor that takes a call and shows it in its list later than `Pace.doubt` seconds
afterwards (five minutes unless told otherwise) could, at Anthropic, be paid twice; and a run that
goes on with the key of another account does not find there what is in doubt.
"""

from vepa.llm.batch.asking import BatchModel, Outcome, open_batch_model
from vepa.llm.batch.pace import Pace
from vepa.llm.batch.vendors import VENDORS, vendor_of

__all__ = ["VENDORS", "BatchModel", "Outcome", "Pace", "open_batch_model", "vendor_of"]
