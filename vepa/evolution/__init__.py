"""Verified evolution: archives, proposers, the search of an update."""

from vepa.evolution.archive import Archive
from vepa.evolution.proposers import proposer
from vepa.evolution.scoring import Score, Scorer
from vepa.evolution.settings import EvolutionSettings
from vepa.evolution.update import Update, rebuild, update

__all__ = [
    "Archive",
    "EvolutionSettings",
    "Score",
    "Scorer",
    "Update",
    "proposer",
    "rebuild",
    "update",
]
