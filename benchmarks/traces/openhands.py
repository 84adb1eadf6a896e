"""Lines of an OpenHands evaluation, made from a number."""

from __future__ import annotations

from typing import Any

__all__ = ["example"]

_FILE = "def area(width, height):\n    return width * height\n\n\n"


def example(number: int) -> dict[str, Any]:
    """One evaluated case of about 8 KB."""
    history: list[dict[str, Any]] = [
        {"id": 0, "timestamp": "2025-01-02T03:04:05", "source": "agent", "message": "",
         "action": "system", "args": {"content": "You work in a box. " * 20}},
        {"id": 1, "timestamp": "2025-01-02T03:04:05", "source": "user", "message": "",
         "action": "message", "args": {"content": f"Mend case {number}.", "image_urls": None}},
    ]  # fmt: skip
    for turn in range(5):
        own = 2 + 2 * turn
        call = {"id": f"t{number}-{turn}", "type": "function",
                "function": {"name": "execute_bash",
                             "arguments": f'{{"command": "cat file{turn}.py"}}'}}  # fmt: skip
        answer = {"role": "assistant", "content": "I read on.", "tool_calls": [call]}
        metadata = {
            "function_name": "execute_bash",
            "tool_call_id": call["id"],
            "total_calls_in_response": 1,
            "model_response": {"id": f"r{number}-{turn}", "model": "lab/model-b",
                               "choices": [{"message": answer}]},
        }  # fmt: skip
        history += [
            {"id": own, "timestamp": "2025-01-02T03:04:06", "source": "agent", "message": "run",
             "action": "run", "tool_call_metadata": metadata,
             "args": {"command": f"cat file{turn}.py", "thought": "I read on.", "hidden": False},
             "llm_metrics": {"accumulated_cost": 0.01 * (turn + 1)}},
            {"id": own + 1, "timestamp": "2025-01-02T03:04:07", "source": "agent",
             "cause": own, "message": "ran", "observation": "run", "content": _FILE * 12,
             "extras": {"command": f"cat file{turn}.py",
                        "metadata": {"exit_code": number % 2, "suffix": "\n[done]"}}},
        ]  # fmt: skip
    history.append({"id": 99, "source": "agent", "action": "finish",
                    "args": {"final_thought": "It is mended.", "outputs": {}}})  # fmt: skip
    return {
        "instance_id": f"lab__case-{number}",
        "instruction": f"Mend case {number}.",
        "test_result": {"resolved": number % 3 == 0},
        "metadata": {"agent_class": "CodeActAgent", "llm_config": {"model": "lab/model-b"}},
        "metrics": {"accumulated_cost": 0.05},
        "error": None,
        "history": history,
    }
