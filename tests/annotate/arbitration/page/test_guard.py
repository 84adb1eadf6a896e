"""Who is let in: the token, the served host, the own origin, and how often somebody may ask."""

from __future__ import annotations

import pytest
from served_page import labelled_folder, served

from vepa.annotate.arbitration.page.door import Door, WrongTokenError
from vepa.annotate.arbitration.page.guard import Hosts
from vepa.annotate.arbitration.page.limits import Buckets, Limits, Rate
from vepa.errors import InputError

FORM = {"content-type": "application/x-www-form-urlencoded"}
PATHS = {
    "GET": ["/", "/help", "/state", "/assets/desk.js", "/nothing"],
    "POST": ["/next", "/settle", "/skip", "/skipped", "/undo", "/renew", "/logout", "/nothing"],
}


def test_everything_but_the_login_needs_a_session(page):
    with page.client() as client:
        for method, paths in PATHS.items():
            for path in paths:
                headers = FORM if method == "POST" else {}
                answer = client.request(method, path, headers=headers)
                assert answer.status_code == 401, (method, path)
                assert "Answer mail" not in answer.text
        for path in ("/login", "/assets/page.css", "/assets/login.js"):
            assert client.get(path).status_code == 200
    assert page.queue.state().leased == 0


def test_a_wrong_token_opens_nothing_and_is_not_repeated(page):
    with page.client() as client:
        for token in ("", "guess", page.token[:-1], page.token + "x"):
            answer = client.post("/login", data={"name": "ada", "token": token})
            assert answer.status_code == 401
            assert "set-cookie" not in answer.headers
            assert not token or token not in answer.text
        assert client.get("/").status_code == 401


def test_the_whole_link_is_a_token_as_well(page):
    link = page.server.links[""]
    assert link.startswith(f"{page.base}/login#")
    assert page.person("ada", link).client.get("/").status_code == 200


def test_the_session_is_a_strict_cookie_that_scripts_cannot_read(page):
    with page.client() as client:
        answer = client.post("/login", data={"name": "ada", "token": page.token})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert page.token.lower() not in cookie


def test_no_token_stands_in_the_log(page):
    ada = page.person("ada")
    claim = ada.take()
    ada.client.get(f"/nothing?token={page.token}")
    ada.settle(claim)
    log = "\n".join(page.told)
    assert "ada POST /settle 200" in log
    assert "/nothing 404" in log
    assert page.token not in log
    assert claim not in log


FOREIGN = [
    ({"origin": "http://evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"origin": ""}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "same-site"}, 403),
    ({"host": "evil.example"}, 421),
    ({"host": "127.0.0.1:1"}, 421),
]


def test_a_foreign_page_gets_nowhere_with_somebodys_cookie(page):
    ada = page.person("ada")
    claim = ada.take()
    for headers, code in FOREIGN:
        for path in ("/settle", "/login", "/undo"):
            answer = ada.client.post(path, data={"claim": claim}, headers=headers)
            assert answer.status_code == code, (path, headers)
        assert ada.client.get("/", headers=headers).status_code == code, headers
    assert page.queue.given() == []


def test_a_missing_origin_is_a_foreign_one(page):
    ada = page.person("ada")
    del ada.client.headers["origin"]
    assert ada.client.post("/next", headers=FORM).status_code == 403
    assert ada.client.get("/").status_code == 200, "typed into a browser"


def test_a_link_to_the_login_may_stand_anywhere(page):
    foreign = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    with page.client() as client:
        del client.headers["origin"]
        assert client.get("/login", headers=foreign).status_code == 200
        assert client.get("/", headers=foreign).status_code == 403
        embedded = {**foreign, "sec-fetch-mode": "no-cors"}
        assert client.get("/login", headers=embedded).status_code == 403


def test_every_answer_forbids_scripts_frames_and_caches(page):
    ada = page.person("ada")
    for answer in (ada.client.get("/"), ada.client.get("/login"), ada.client.get("/nothing")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_what_is_no_form_or_too_large_is_not_read(tmp_path):
    with served(labelled_folder(tmp_path), limits=Limits(body_bytes=2000)) as page:
        ada = page.person("ada")
        assert ada.client.post("/settle", json={"claim": "x"}).status_code == 415
        assert ada.send("/settle", note="x" * 3000).status_code == 413

        def chunks():
            for _ in range(30):
                yield b"x" * 100

        answer = ada.client.post("/settle", content=chunks(), headers=FORM)
        assert answer.status_code == 413
        many = "&".join("trigger=x" for _ in range(150)) + "&x" * 100
        assert ada.client.post("/settle", content=many, headers=FORM).status_code in (400, 409)


def test_too_many_requests_are_told_when_to_come_again(tmp_path):
    limits = Limits(session=Rate(5, 0.01), address=Rate(5, 0.01), login=Rate(3, 0.01))
    with served(labelled_folder(tmp_path), limits=limits) as page:
        ada, ben = page.person("ada"), page.person("ben")
        with page.client() as client:
            wrong = {"name": "ada", "token": "guess"}
            assert client.post("/login", data=wrong).status_code == 401
            refused = client.post("/login", data=wrong)
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) >= 60
            assert client.get("/login").status_code == 200, "other pages have an allowance left"
            assert client.get("/login").status_code == 429
        codes = [ada.client.get("/state").status_code for _ in range(6)]
        assert codes == [200] * 5 + [429]
        assert ben.client.get("/state").status_code == 200, "an allowance of one's own"


def test_an_allowance_fills_up_again():
    now = [0.0]
    buckets = Buckets(Rate(2, 0.5), clock=lambda: now[0])
    assert [buckets.wait("a") for _ in range(3)] == [0, 0, 2]
    now[0] = 2.0
    assert [buckets.wait("a") for _ in range(2)] == [0, 2]


def test_a_second_login_of_a_name_ends_the_first(page):
    first, second = page.person("ada"), page.person("ada")
    claim = second.take()
    assert first.client.get("/").status_code == 401
    assert second.claim() == claim


def test_logging_out_gives_the_case_back(page):
    ada = page.person("ada")
    ada.take()
    assert ada.send("/logout").status_code == 303
    assert ada.client.get("/").status_code == 401
    assert page.queue.state().leased == 0


def test_each_of_the_named_people_has_a_link(tmp_path):
    with served(labelled_folder(tmp_path), people=["ada", "ben"]) as page:
        links = page.server.links
        assert set(links) == {"ada", "ben"}
        assert "ada" in page.person("somebody else", links["ada"]).page()
        assert 'name="name"' not in page.client().get("/login").text


@pytest.mark.parametrize("name", ["", "  ", "a", "x" * 61, "ada\x1b[2J", "ad\u202ea", "ad\u200ba"])
def test_a_name_that_cannot_stand_in_a_verdict_is_refused(name):
    door = Door(taken=["a"])
    with pytest.raises(InputError) as error:
        door.enter(door.tokens[""], name)
    assert not isinstance(error.value, WrongTokenError)


def test_a_session_that_nobody_uses_ends():
    now = [0.0]
    door = Door(clock=lambda: now[0])
    secret, _ = door.enter(door.tokens[""], "ada")
    now[0] += 11 * 3600
    assert door.session(secret).who == "ada"
    now[0] += 13 * 3600
    assert door.session(secret) is None


@pytest.mark.parametrize(
    ("host", "named", "known"),
    [
        ("127.0.0.1", "127.0.0.1:99", True),
        ("127.0.0.1", "LOCALHOST:99", True),
        ("127.0.0.1", "127.0.0.1", False),
        ("127.0.0.1", "evil.example:99", False),
        ("::1", "[::1]:99", True),
        ("0.0.0.0", "192.168.1.5:99", True),
        ("0.0.0.0", "[fe80::1]:99", True),
        ("0.0.0.0", "evil.example:99", False),
        ("0.0.0.0", "192.168.1.5:98", False),
        ("desk.example", "desk.example:99", True),
        ("desk.example", "127.0.0.1:99", False),
    ],
)
def test_which_hosts_are_served(host, named, known):
    assert Hosts(host, 99).serve(named) is known
