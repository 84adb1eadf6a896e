"""The one door to language models."""

from vepa.llm.budget import Budget
from vepa.llm.cache import AnswerCache
from vepa.llm.door import open_model
from vepa.llm.embedding import Embedder, open_embedder
from vepa.llm.ledger import Ledger
from vepa.llm.messages import (
    Item,
    Message,
    Model,
    ModelReply,
    ModelRequest,
    Shape,
    ToolCall,
    ToolOffer,
    Usage,
)
from vepa.llm.prices import count_tokens, estimate
from vepa.llm.recording import Manifest, Recording
from vepa.llm.scripted import Script
from vepa.llm.settings import ModelSettings, Prices, Rates

__all__ = [
    "AnswerCache",
    "Budget",
    "Embedder",
    "Item",
    "Ledger",
    "Manifest",
    "Message",
    "Model",
    "ModelReply",
    "ModelRequest",
    "ModelSettings",
    "Prices",
    "Rates",
    "Recording",
    "Script",
    "Shape",
    "ToolCall",
    "ToolOffer",
    "Usage",
    "count_tokens",
    "estimate",
    "open_embedder",
    "open_model",
]
