"""Cases to other tools, and verdicts back: this project's JSON Lines, Label Studio, Argilla."""

from vepa.annotate.arbitration.exchange.exporting import FORMATS, Exported, export_cases
from vepa.annotate.arbitration.exchange.gold import GoldReport, add_gold
from vepa.annotate.arbitration.exchange.importing import ImportReport, import_verdicts

__all__ = [
    "FORMATS",
    "Exported",
    "GoldReport",
    "ImportReport",
    "add_gold",
    "export_cases",
    "import_verdicts",
]
