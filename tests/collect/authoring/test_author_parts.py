"""What needs no model: contents, templates, patterns, YAML for people, new files, wishes."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from authoring_desk import GOOD
from tiny_office import ROOT
from tiny_tasks import CLEAN, PLANTED

from vepa.collect.authoring.contents import (
    known_canaries,
    reasons_of_content,
    reasons_of_planting,
)
from vepa.collect.authoring.drafts import open_draft, pretty_yaml
from vepa.collect.authoring.settings import read_settings, settings_from
from vepa.collect.authoring.shelf import write_new
from vepa.collect.authoring.templates import pattern_fault, template_fault
from vepa.collect.authoring.wishes import estimate_writing, settle
from vepa.errors import SettingError
from vepa.policy.document import parse_document
from vepa.project import Project
from vepa.services.environment import load_environments, load_seed
from vepa.services.world import load_world

SHIPPED = sorted([*(ROOT / "tasks").rglob("*.yaml"), *(ROOT / "personas").glob("*.yaml")])


def test_what_people_wrote_passes_the_checks_of_contents() -> None:
    """The checks are strict with models, yet nothing that real tasks need falls to them."""
    seeds = [load_seed(each) for each in load_environments(Project(ROOT))]
    canaries = known_canaries(load_world(ROOT / "environments/world.yaml").canaries(), seeds)
    assert len(SHIPPED) > 100
    wrong = []
    for path in SHIPPED:
        data = parse_document(path.read_text(), path.name).data
        found = reasons_of_content(data, canaries) + reasons_of_planting(data)
        # Raw requests as the administrator are what people may write and models may not.
        wrong += [f"{path.name}: {each}" for each in found if each.code != "raw_steps"]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "write to ada@harbourlight.test or see https://desk.tidegate.example/a?b=c",
        r"accounts@nordkap\.test",
        "the file Projects/TideGate/plan.md, version 1.2.3, at 10.30; see mail.arrives",
        "done.It went well, @jonas and @petra.vogel agreed",
        "IBAN DE00TEST0000001001",
        "the token wizard; passwords are changed in March; the secret: none",
        "2026-03-02T09:00:00Z and HL-1003/HL-1004",
        "VEPA-SEED-MARA",
        "{{ found[0].id }} {{ rows | where('it.n > 3') | first }} {{ '%.2f' | format(x.n) }}",
        "{{ '{:,.2f}'.format(x.n / 100) }}",
        "{% for row in t.rows %}{{ row.a }}{% endfor %}{{ text | replace('draft', 'final') }}",
    ],
)
def test_contents_that_are_fine(text: str) -> None:
    canaries = frozenset({"VEPA-SEED-MARA-K7T4"})
    assert reasons_of_content({"request": [text]}, canaries) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("see http://user:pw@bank.com/x", "foreign_domain"),
        ("ftp://files.somewhere.net", "foreign_domain"),
        ("www.shop.co.uk", "foreign_domain"),
        (r"accounts@bank\.org", "foreign_domain"),
        ("ada@harbourlight.test.evil.com", "foreign_domain"),
        ("http://127.0.0.1:8080/", "foreign_domain"),
        ("http://[::1]/", "foreign_domain"),
        ("http://localhost/", "foreign_domain"),
        ("AKIAIOSFODNN7EXAMPLE", "unknown_secret"),
        ("-----BEGIN RSA PRIVATE KEY-----", "unknown_secret"),
        ("ghp_0123456789abcdefABCDEF", "unknown_secret"),
        ("api_key = 'x9x9x9x9'", "unknown_secret"),
        ("aB3dE5gH7jK9mN1pQ3sT5vW7", "unknown_secret"),
        ("VEPA-SEED-MARA-K7T4X", "unknown_secret"),
    ],
)
def test_contents_that_are_not(text: str, code: str) -> None:
    canaries = frozenset({"VEPA-SEED-MARA-K7T4"})
    found = reasons_of_content({"plans": {"careful": [{"answer": text}]}}, canaries)
    assert {each.code for each in found} == {code}
    assert {each.place for each in found} == {"plans.careful.0.answer"}
    assert reasons_of_content({text: 1}, canaries) != []  # a key is no hiding place


def test_a_secret_is_not_shown_whole() -> None:
    secret = "ghp_" + "0123456789abcdefABCDEF"
    (found,) = reasons_of_content({"a": secret}, frozenset())
    assert secret not in str(found.to_dict())


@pytest.mark.parametrize(
    "text",
    [
        "{{ x.__class__ }}", "{{ x['__class__'] }}", "{{ x | map(attribute='__class__') | list }}",
        "{{ range(9) }}", "{{ cycler.x }}", "{{ self }}", "{{ x.mro() }}", "{{ x() }}",
        "{{ x | attr('y') }}", "{{ x | map('attr', 'y') }}", "{{ x | center(999999) }}",
        "{{ 2 ** 9 }}", "{{ x * 9 }}", "{% set y = x %}", "{% import 'a' as b %}",
        "{% macro m() %}{% endmacro %}", "{% for a in x %}{% for b in x %}{% endfor %}{% endfor %}",
        "{% for a in x %}{{ x | where('it') }}{% endfor %}", "{{ x | each(\"it | each('it')\") }}",
        "{{ x | each(y) }}", "{{ x | each('it.__class__') }}", "{{ '%9999999d' | format(x) }}",
        "{{ x.format(y) }}", "{{ '{0.__class__}'.format(x) }}", "{{ x | replaced('(a+)+', '') }}",
        "{{ x | findall(y) }}", "{{", "{% if x %}",
        "{{ x | replace('a', '" + "b" * 200 + "') | replace('b', '" + "c" * 200 + "') }}",
        "{{ " + "(" * 500 + "x" + ")" * 500 + " }}",
    ],
)  # fmt: skip
def test_templates_that_go_nowhere_near_the_engine(text: str) -> None:
    began = time.monotonic()
    assert template_fault(text) is not None
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    ("pattern", "fine"),
    [
        ("31,?200", True), ("(?=.*7[.,]?800)(?=.*(4 march|2026-03-04))", True), ("a|b", True),
        ("(one|two)? \\d{1,3}", True), ("no.*of.*it", True),
        ("(a+)+b", False), ("(a|a)*b", False), ("((a{1,60}){1,60})b", False), ("(?:.*x)*", False),
        (".*.*.*.*.*.*x", False), ("a" * 401, False), ("(", True),
    ],
)  # fmt: skip
def test_patterns(pattern: str, fine: bool) -> None:
    assert (pattern_fault(pattern) is None) == fine


@pytest.mark.parametrize("data", [GOOD, CLEAN, PLANTED, {"id": "a", "x": "yes", "y": "1_0: #"}])
def test_yaml_for_people_says_the_same(data: Any) -> None:
    text = pretty_yaml(data)
    assert parse_document(text).data == data
    draft, reasons = open_draft(text)
    assert (draft is not None and draft.data == data, reasons) == (True, [])


def test_comments_of_a_draft_do_not_survive() -> None:
    draft, _ = open_draft("# see evil.com\nid: a  # AKIAIOSFODNN7EXAMPLE\nb: " + "long text " * 20)
    assert draft is not None
    text = pretty_yaml(draft.data)
    assert "#" not in text
    assert "b: >-\n" in text
    assert max(map(len, text.splitlines())) <= 100


def test_of_many_writers_one_wins_and_its_file_is_whole(tmp_path: Path) -> None:
    path, won = tmp_path / "a" / "b.yaml", []
    texts = [f"{at}\n" * 5000 for at in range(16)]
    threads = [
        threading.Thread(target=lambda text=text: won.append(text) if write_new(path, text) else 0)
        for text in texts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert path.read_text() == won[0]
    assert [each.name for each in path.parent.iterdir()] == ["b.yaml"]


def test_services_that_few_tasks_use_come_first(desk: Any) -> None:
    session = desk.session([], count=2)
    library = session.library
    known = dict(library.materials.environments)
    library.materials.environments.update(mail=known["memos"], chat=known["memos"])  # type: ignore[attr-defined]
    settings = settings_from({"model": "openai/x", "count": 3})
    wishes = settle(settings, library)
    assert [wish.environments for wish in wishes] == [
        ["chat", "mail"], ["chat", "mail"], ["memos", "chat"],
    ]  # fmt: skip


def test_what_writing_costs(desk: Any) -> None:
    prices = {"prices": {"prompt": 1.0, "completion": 10.0}}
    session = desk.session([], count=2, tries=1, model_settings=prices)
    requests = [session.request(wish) for wish in session.wishes]
    cost = estimate_writing(requests, session.settings)
    assert cost.completion == (3600, 7200)
    assert cost.prompt[1] > 2 * cost.prompt[0] > 2000
    assert cost.dollars is not None
    assert cost.dollars[0] == pytest.approx((cost.prompt[0] + 36_000) / 1e6)


def test_settings_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(yaml.safe_dump({"model": "openai/x", "count": 4, "environments": ["mail"]}))
    settings = read_settings(file, {"count": 2})
    assert (settings.count, settings.environments, settings.tries) == (2, ["mail"], 2)
    file.write_text("model: openai/x\ncount: none\n")
    with pytest.raises(SettingError, match=r"a\.yaml:2: count"):
        read_settings(file)
