"""How far labels can be trusted: agreement of annotators, drift, and triggers against people.

    agreement(labels, trajectories=None, *, taxonomy, against, marked, settled, resamples, seed)
        all figures, as an `Agreement` (`model_dump_json` writes it, `model_validate_json` reads it)
    agreement_markdown(agreement)
        the same as Markdown: a report's artifact
    agreement_page(agreement)
        the same as one HTML page with pictures, which needs no other file

docs/agreement.md says what each figure means. The first needs scikit-learn, scipy and krippendorff,
the page jinja2: the extra `pipeline`.
"""

from vepa.annotate.agreement.markdown import agreement_markdown
from vepa.annotate.agreement.measuring import RESAMPLES, agreement
from vepa.annotate.agreement.page import agreement_page
from vepa.annotate.agreement.records import Agreement

__all__ = ["RESAMPLES", "Agreement", "agreement", "agreement_markdown", "agreement_page"]
