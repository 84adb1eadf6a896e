"""Settings, prices and the door itself."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys

import pytest
from model_servers import FAKE_KEY
from pydantic import BaseModel, ValidationError

from vepa.errors import SettingError
from vepa.llm import (
    Message,
    ModelRequest,
    ModelSettings,
    Prices,
    Shape,
    ToolCall,
    ToolOffer,
    count_tokens,
    estimate,
    open_model,
)


@pytest.mark.parametrize(
    "name",
    ["api_key", "key", "token", "openai_api_key", "secret", "password", "headers", "Authorization"],
)
def test_a_key_is_no_setting(name):
    with pytest.raises(SettingError) as caught:
        ModelSettings.model_validate({name: FAKE_KEY})
    assert FAKE_KEY not in str(caught.value)
    assert "environment" in str(caught.value)


def test_not_even_within_a_profile():
    class Profile(BaseModel):
        model: ModelSettings

    with pytest.raises(SettingError, match="api_key"):
        Profile.model_validate({"model": {"api_key": FAKE_KEY}})


@pytest.mark.parametrize(
    "address",
    [
        f"https://user:{FAKE_KEY}@models.example/v1",
        f"https://models.example/v1?key={FAKE_KEY}",
        f"https://models.example/v1#{FAKE_KEY}",
        FAKE_KEY,
        "ftp://models.example",
        "http://",
        "http://[::1",
    ],
)
def test_an_address_carries_no_key(address):
    with pytest.raises(SettingError) as caught:
        ModelSettings(api_base=address)
    assert FAKE_KEY not in str(caught.value)


def test_the_name_of_a_variable_is_no_key():
    assert ModelSettings(key_variable="MY_KEY_2").key_variable == "MY_KEY_2"
    with pytest.raises(SettingError) as caught:
        ModelSettings(key_variable=FAKE_KEY)
    assert FAKE_KEY not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        {"temprature": 0.1},
        {"temperature": FAKE_KEY},
        {"temperature": 3},
        {"max_tokens": 0},
        {"timeout": float("inf")},
        {"stream": "yes"},
        {"rates": {"requests": 0}},
        {"prices": {"prompt": -1, "completion": 0}},
        {"structured": "somehow"},
    ],
)
def test_settings_that_are_refused(data):
    with pytest.raises(ValidationError) as caught:
        ModelSettings.model_validate(data)
    assert FAKE_KEY not in str(caught.value)


def test_whole_numbers_do_for_numbers_as_yaml_has_them():
    settings = ModelSettings.model_validate(
        {"temperature": 1, "timeout": 30, "prices": {"prompt": 1, "completion": 2}}
    )
    assert (settings.temperature, settings.timeout) == (1.0, 30.0)


@pytest.mark.parametrize("name", ["gpt-of-nobody", "nobody/model", "", "scripted/", "scripted"])
def test_names_that_lead_nowhere(name):
    with pytest.raises(SettingError):
        open_model(name)


def test_a_scripted_model_needs_its_script():
    with pytest.raises(SettingError, match="script"):
        open_model("scripted/careful")


def test_a_script_gets_the_request_and_speaks_as_the_assistant(hello):
    seen = []

    class Clerk:
        def reply(self, request: ModelRequest) -> Message:
            seen.append(request)
            call = ToolCall(id="c1", name="look", arguments="{}")
            return Message(role="assistant", content="", calls=(call,))

    reply = open_model("scripted/careful", script=Clerk()).ask(hello)
    assert seen == [hello]
    assert (reply.finish, reply.source, reply.model) == ("tools", "scripted", "scripted/careful")

    class Odd:
        def reply(self, request: ModelRequest) -> Message:
            return Message(role="user", content="x")

    with pytest.raises(TypeError, match="assistant"):
        open_model("scripted/odd", script=Odd()).ask(hello)


def test_the_door_is_cheap_to_import():
    code = (
        "import sys, vepa.llm\n"
        "from vepa.llm import Message, ModelRequest, estimate, open_model\n"
        "class S:\n"
        "    def reply(self, request):\n"
        "        return Message(role='assistant', content='x')\n"
        "said = ModelRequest(messages=(Message(role='user', content='u'),))\n"
        "open_model('scripted/s', script=S()).ask(said)\n"
        "assert estimate('openai/gpt-4o-mini', 1000, 1000) > 0\n"
        "heavy = {'litellm', 'httpx', 'openai', 'anthropic', 'tenacity', 'jsonschema'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_estimates():
    cheap = estimate("openai/gpt-4o-mini", 1_000_000, 0)
    dear = estimate("openai/gpt-4o-mini", 0, 1_000_000)
    assert cheap is not None
    assert dear is not None
    assert 0 < cheap < dear
    assert estimate("anthropic/claude-sonnet-4-5", 1000, 1000) == pytest.approx(0.018)
    assert estimate("openai/nobody-knows-it", 1, 1) is None
    # A model of another provider with the same name is another model.
    assert estimate("groq/gpt-4o-mini", 1, 1) is None
    assert estimate("scripted/x", 10**6, 10**6) == estimate("recorded/x", 10**6, 10**6) == 0.0
    own = ModelSettings(prices=Prices(prompt=2, completion=4))
    assert estimate("openai/gpt-4o-mini", 500_000, 250_000, own) == pytest.approx(2.0)


def test_long_prompts_have_their_own_price():
    model = "azure_ai/grok-4.3"
    short, long = estimate(model, 200_000, 0), estimate(model, 200_001, 0)
    assert short is not None
    assert long is not None
    assert long > 1.5 * short


TEXTS = {
    "english": "Please send the signed contract to the customer before noon, and tell me. " * 30,
    "finnish": "Lähetä allekirjoitettu sopimus asiakkaalle ennen puoltapäivää, ja ilmoita. " * 30,
    "chinese": "请在中午之前把签好的合同发给客户，然后告诉我。" * 40,
    "emoji": "🦉🚀👩‍💻✅ " * 60,
    "hex": "3f7a9b0c1d2e4f5061728394a5b6c7d8" * 30,
    "code": "def f(x):\n    return [y**2 for y in range(x) if y % 3 == 0]\n" * 30,
    "base64": base64.b64encode(hashlib.sha512(b"x").digest() * 12).decode(),
    "camel": "parseDocumentFromText(theFileName, MAX_DOCUMENT_BYTES) " * 20,
    "json": json.dumps([{"id": n, "at": f"2025-03-{n:02}T10:00:00Z"} for n in range(60)]),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_guessed_tokens_are_on_the_high_side_but_not_absurd(kind):
    """Against the tokenizer of real models that litellm brings along; no network is needed."""
    from vepa.llm.engine import load_litellm

    request = ModelRequest(messages=(Message(role="user", content=TEXTS[kind]),))
    real = load_litellm().token_counter(model="gpt-4o-mini", text=TEXTS[kind])
    guess = count_tokens(request, "openai/gpt-4o-mini")
    assert real <= guess <= 4.5 * real + 50


def test_tools_and_calls_are_counted():
    plain = ModelRequest(messages=(Message(role="user", content="u"),))
    offer = ToolOffer(name="n", description="d" * 500, parameters={"type": "object"})
    assert count_tokens(plain.model_copy(update={"tools": (offer,)}), "m") > (
        count_tokens(plain, "m") + 200
    )
    shape = Shape(name="s", schema={"description": "d" * 500})
    assert count_tokens(plain.model_copy(update={"shape": shape}), "m") > (
        count_tokens(plain, "m") + 200
    )


SESSION = """
import logging, pathlib, sys
sys.path.insert(0, {support!r})
folder = pathlib.Path(sys.argv[1])
logging.basicConfig(filename=folder / "debug.log", level=logging.DEBUG, force=True)
from model_servers import Cut, Data, Fail, ModelServer, Say, Slow
from vepa.errors import ModelError
from vepa.llm import AnswerCache, Ledger, Message, ModelRequest, ModelSettings, Shape, open_model
ledger, cache = Ledger(folder / "ledger.jsonl"), AnswerCache(folder / "cache.sqlite")
shape = Shape(name="s", schema={{"type": "object", "required": ["a"]}})
key = {key!r}
plans = [[Say("ok")], [Fail(401, message=key)], [Fail(429, message=key), Say("ok")], [Cut("body")],
         [Data([])], [Fail(400, message=key + " canary-text")]]
with ModelServer() as server:
    for name, base in (("openai/gpt-4o-mini", server.openai),
                       ("anthropic/claude-sonnet-4-5", server.anthropic)):
        for stream in (False, True):
            for number, plan in enumerate(plans):
                server.play(plan)
                settings = ModelSettings(api_base=base, stream=stream, max_attempts=2,
                                         first_wait=0.01, structured="json")
                said = Message(role="user", content=f"canary-text {{number}}")
                try:
                    open_model(name, settings=settings, ledger=ledger, cache=cache).ask(
                        ModelRequest(messages=(said,), shape=shape if number == 4 else None))
                except ModelError as error:
                    logging.getLogger("vepa").exception("failed")
                    print(error)
logging.info("done")
"""


def test_no_key_in_any_file_or_output(tmp_path, keys):
    from pathlib import Path

    support = str(Path(__file__).resolve().parent.parent / "support")
    code = SESSION.format(support=support, key=FAKE_KEY)
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {"debug.log", "ledger.jsonl", "cache.sqlite"} <= set(written)
    assert b"done" in written["debug.log"]
    assert written["ledger.jsonl"].count(b"\n") == 24
    for name, raw in {**written, "out": done.stdout.encode(), "err": done.stderr.encode()}.items():
        assert FAKE_KEY.encode() not in raw, name
        assert b"canary-text" not in raw, name
    assert "LiteLLM" not in done.stderr
    assert "litellm.info" not in done.stdout
