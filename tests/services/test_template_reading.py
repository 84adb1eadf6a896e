"""What is known of templates without filling them: held against Jinja2's own compiler."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import TemplateSyntaxError, meta

from vepa.services import Environment
from vepa.services.environment.outside import _texts
from vepa.services.template_reading import (
    check_expression,
    check_templates,
    members_in,
    names_in,
)
from vepa.services.templates import engine

#: Statements that give names, and what only the compiler refuses or lets pass.
ODD = [
    "{% for key in args.keys() %}{{ key }}{{ loop.index }}{{ other }}{% endfor %}",
    "{% set mine = args.a %}{{ mine }} {{ yours }}",
    "{% if args.a %}{{ b }}{% else %}{{ c | upper }}{% endif %}",
    "{% macro m(x) %}{{ x }}{{ y }}{% endmacro %}{{ m(1) }}",
    "{{ args.a | nofilter }}",
    "{{ args.a is notest }} x",
    "{% if args.a %}{{ b | nofilter }}{% endif %}",
    "{% block a %}{% endblock %}{% block a %}{% endblock %}",
    "{% for loop in args %}{% endfor %}",
    "{{ dict(a=b) }}{{ range(c) }}{{ omit }}",
    "{{ [a, {'b': c}, d[e:f]] }} {{ g if h else i }}",
    "{{ args. }}",
    "{% if %}",
    "{{ x",
    "{{ a }} {{",
    "{# only a remark #}",
]


def compiled(text: str) -> tuple[str | None, set[str]]:
    """What Jinja2's compiler says of a template: a complaint, or the names that it takes."""
    try:
        engine().from_string(text)
        return None, meta.find_undeclared_variables(engine().parse(text)) - set(engine().globals)
    except TemplateSyntaxError as error:
        return error.message, set()


@pytest.mark.parametrize("text", ODD)
def test_a_reading_says_what_the_compiler_says(text: str) -> None:
    complaint, names = compiled(text)
    told = check_templates(text)
    assert (told is None) == (complaint is None)
    assert complaint is None or complaint in str(told)
    assert names_in(text) == names


def test_templates_of_all_environments_are_read_as_the_compiler_reads_them(
    nine: dict[str, Environment],
) -> None:
    texts = {
        (text, whole) for environment in nine.values() for _, text, whole in _texts(environment)
    }
    assert len(texts) > 500
    for text, whole in texts:
        names = names_in(text, whole)
        assert (None, names) == compiled("{{ (" + text + ") }}" if whole else text)


@pytest.mark.parametrize("bad", ["{{ args. }}", {"a": ["{% if %}"]}, {"{{ x": 1}, "{{ a, b }}"])
def test_broken_templates_are_found_without_filling_them(bad: Any) -> None:
    assert check_templates({"good": "{{ any.name }}", "bad": bad})
    assert check_templates({"good": "{{ any.name }}", "n": 1}) is None


@pytest.mark.parametrize(
    ("text", "expression", "found"),
    [
        ("{{ secrets.a }} {{ secrets['b-c'] }} {{ world.d }}", False, {"a", "b-c"}),
        ("{% for key in secrets.items() %}{{ secrets[key] }}{% endfor %}", False, set()),
        ("all | where('it.x == secrets.a') | each('secrets.b')", True, {"a", "b"}),
        ("{{ secrets. }}", False, set()),
        ("no secrets.a", False, set()),
    ],
)
def test_what_is_taken_from_a_name(text: str, expression: bool, found: set[str]) -> None:
    assert members_in(text, "secrets", expression) == found


def test_broken_expressions_are_found() -> None:
    assert check_expression("all.data |")
    assert check_expression("all.data | list | nofilter")
    assert check_expression("one, two")
    assert check_expression("a }} b")
    assert check_expression("all.data | list") is None
