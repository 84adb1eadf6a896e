"""Who decides an event on which the policy abstains."""

from vepa.guard.fallback.judge import Judgement, ModelJudge, question_of

__all__ = ["Judgement", "ModelJudge", "question_of"]
