"""An agreement as one page that needs no network, no script and no other file."""

from __future__ import annotations

from pathlib import Path

from vepa.annotate.agreement.records import Agreement
from vepa.annotate.agreement.sections import sections
from vepa.annotate.agreement.tables import NOTHING, ends, percent, value
from vepa.errors import MissingExtraError

__all__ = ["agreement_page"]

_HERE = Path(__file__).parent / "templates"
#: The style of all reports.
_HOUSE = Path(__file__).parents[2] / "bench" / "report" / "templates"


def agreement_page(agreement: Agreement) -> str:
    """The page of an agreement, with pictures and the same figures as tables.

    Raises
    ------
    MissingExtraError
        Without the extra `pipeline`.
    """
    try:
        import jinja2
        from markupsafe import Markup, escape

        from vepa.annotate.agreement import pictures
    except ImportError:
        raise MissingExtraError("jinja2", "pipeline") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([_HERE, _HOUSE]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["breakable"] = lambda text: escape(text).replace("_", Markup("_<wbr>"))
    environment.filters |= {"value": value, "ends": ends, "percent": percent}
    return environment.get_template("agreement.html.j2").render(
        agreement=agreement,
        sections=list(sections(agreement)),
        pictures=pictures,
        nothing=NOTHING,
    )
