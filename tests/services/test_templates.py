"""Templates of environment files."""

from __future__ import annotations

from typing import Any

import pytest

from vepa.errors import InputError
from vepa.services.templates import evaluate, render

NAMES: dict[str, Any] = {
    "args": {"limit": 5, "text": "ä <b>", "items": [1, 2], "tags": {"a": 1, "b": 2}},
    "item": None,
}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ args.limit }}", 5),
        ("  {{ args.limit }}  ", 5),
        ("{{ args['items'] }}", [1, 2]),
        ("{{ item }}", None),
        ("{{ args.limit > 3 }}", True),
        ("at most {{ args.limit }}", "at most 5"),
        ("{{ args.limit }}{{ args.limit }}", "55"),
        ("{{ args.text }}", "ä <b>"),  # no escapes for HTML
        ("<{{ args.text }}>", "<ä <b>>"),
        ("{% if args.limit %}yes{% endif %}", "yes"),
        ("{{ args.text | part }}", "%C3%A4%20%3Cb%3E"),
        ("{{ 'a/b c' | part }}", "a%2Fb%20c"),
        ("{{ 'a/b c' | path }}", "a/b%20c"),
        ("{{ 'a/../b/./..c/.' | path }}", "a/%2E%2E/b/%2E/..c/%2E"),
        ("{{ '..' | part }}", "%2E%2E"),
        ("{{ 'a.md' | part }}", "a.md"),
        ("{{ '{{ 7*7 }}' | part }}", "%7B%7B%207%2A7%20%7D%7D"),
        ("{{ args.tags | json }}", '{"a":1,"b":2}'),
        ("{{ args.tags | pick('b', 'z') }}", {"b": 2}),
        ("{{ 'a1b22' | findall('[0-9]+') }}", ["1", "22"]),
        ("{{ 'a1b22' | replaced('[0-9]+', '#') }}", "a#b#"),
        ("{{ 'user:pass' | b64 }}", "dXNlcjpwYXNz"),
        ("no template at all { }", "no template at all { }"),
        (7, 7),
        ({"a": ["{{ args.limit }}", True]}, {"a": [5, True]}),
        ({"{{ args.text }}": 1}, {"ä <b>": 1}),
    ],
)
def test_values(template: Any, value: Any) -> None:
    rendered = render(template, NAMES)
    assert rendered == value
    assert type(rendered) is type(value)


def test_omit_leaves_keys_and_items_out() -> None:
    template = {
        "limit": "{{ args.limit | default(omit) }}",
        "page": "{{ args.page | default(omit) }}",
        "list": ["{{ args.page | default(omit) }}", 1],
    }
    assert render(template, NAMES) == {"limit": 5, "list": [1]}


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ args.page }}", "page"),
        ("{{ nothing }}", "nothing"),
        ("x {{ nothing.more }}", "nothing"),
        ("{{ args.limit / 0 }}", "zero"),
        ("{{ args.text + 1 }}", "can only concatenate"),
        ("{{ args.text | nofilter }}", "nofilter"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ args['items'].append(3) }}", "unsafe"),
        ("{{ open('/etc/passwd') }}", "open"),
    ],
)
def test_what_fails_says_which_template_and_why(template: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        render(template, NAMES)
    assert why in str(caught.value)
    assert template in str(caught.value)


def test_an_expression_over_names() -> None:
    assert evaluate("args['items'] | sum + args.limit", NAMES) == 8
    with pytest.raises(InputError, match="no attribute 'page'"):
        evaluate("args.page", NAMES)
