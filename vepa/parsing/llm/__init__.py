"""Trace to event by a language model: one structured answer, label-blind, the trace as data."""

from vepa.parsing.llm.parser import TRACE_TOKENS, LLMParser, Parsed
from vepa.parsing.llm.shape import TEMPLATE, answer_shape, item_of

__all__ = ["TEMPLATE", "TRACE_TOKENS", "LLMParser", "Parsed", "answer_shape", "item_of"]
