"""litellm, loaded when it is first needed: offline, quiet, without files of keys, untold."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from typing import Any

from vepa.errors import MissingExtraError, SettingError

__all__ = ["load_litellm", "provider_of"]

_LOCK = threading.Lock()
#: Their debug lines hold requests, and an address may hold a key.
_TALKATIVE = (
    "LiteLLM",
    "LiteLLM Router",
    "LiteLLM Proxy",
    "anthropic",
    "httpcore",
    "httpx",
    "httpx2",
    "openai",
)
_BEFORE_IMPORT = {
    # The price map that comes with the package; otherwise every import downloads one.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_TELEMETRY": "False",
    # In its other mode litellm reads keys from any `.env` file that it finds.
    "LITELLM_MODE": "PRODUCTION",
}
_loaded: Any = None


def load_litellm() -> Any:
    """The module, set up. The first call takes seconds.

    Raises
    ------
    MissingExtraError
        When it is not installed.
    """
    global _loaded
    if _loaded is None:
        with _LOCK:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def _load() -> Any:
    os.environ.update(_BEFORE_IMPORT)
    # Of pydantic, about litellm's own types, and shown to whoever runs the program.
    warnings.filterwarnings("ignore", ".*ReadOnly.*qualifier", UserWarning)
    try:
        import litellm
        import tenacity  # noqa: F401 - litellm and our retries need it
    except ImportError as error:
        raise MissingExtraError(error.name or "litellm", "pipeline") from None
    module: Any = litellm
    module.telemetry = False
    module.suppress_debug_info = True
    module.turn_off_message_logging = True
    module.set_verbose = False
    # It would put every stream together a second time, for callbacks that nobody set.
    module.disable_streaming_logging = True
    # A parameter that a provider does not take is an error, not dropped.
    module.drop_params = False
    module.num_retries = 0
    # Its call for embeddings takes a 0 that it is given for no number, and this one instead.
    module.DEFAULT_MAX_RETRIES = 0
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.CRITICAL if "LLM" in name else logging.WARNING))
    return module


def provider_of(name: str) -> str:
    """The provider of a model, as litellm calls it.

    Raises
    ------
    SettingError
        When litellm knows none by that name.
    """
    litellm = load_litellm()
    try:
        return str(litellm.get_llm_provider(name)[1])
    except Exception:  # noqa: BLE001 - whatever it is, the name leads nowhere
        raise SettingError(
            f"no provider is known for the model {name!r}",
            remedy="write PROVIDER/MODEL, for example openai/gpt-4o-mini, "
            "anthropic/claude-sonnet-4-5 or ollama/llama3.2; scripted/NAME and recorded/NAME "
            "work offline",
        ) from None
