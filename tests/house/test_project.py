"""Look-up of project content: --project, then the working directory, then the package."""

from __future__ import annotations

from pathlib import Path

import pytest

import vepa
from vepa.errors import InputError, SettingError
from vepa.project import ARTIFACTS_VARIABLE, Project, package_content


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv(ARTIFACTS_VARIABLE, raising=False)
    return folder


@pytest.fixture
def given(tmp_path):
    """A folder for --project."""
    folder = tmp_path / "given"
    folder.mkdir()
    return folder


def put(folder: Path, name: str, text: str = "") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_package_answers_in_an_empty_folder(here):
    path = Project().find("data", "rjudge_dev.events.jsonl")
    assert path == package_content() / "data" / "rjudge_dev.events.jsonl"


def test_the_order_of_the_places(here, given):
    name = "rjudge_dev.events.jsonl"
    mine = put(here, f"data/{name}")
    assert Project().find("data", name) == mine
    assert Project(given).find("data", name) == mine
    theirs = put(given, f"data/{name}")
    assert Project(given).find("data", name) == theirs
    assert Project().candidates == (here, package_content())


def test_a_place_is_asked_once(monkeypatch):
    monkeypatch.chdir(package_content())
    assert Project(package_content()).candidates == (package_content(),)


def test_a_folder_of_content_is_found(here):
    put(here, "environments/mail/environment.yaml")
    assert Project().find("environments", "mail") == here / "environments" / "mail"


def test_all_takes_each_name_once_sorted_and_without_what_is_no_content(
    here, given, tmp_path, monkeypatch
):
    monkeypatch.setattr("vepa.project.package_content", lambda: tmp_path / "no package")
    put(here, "personas/b.yaml", "here")
    put(here, "personas/a.yaml")
    put(here, "personas/README.md")
    put(here, "personas/.hidden.yaml")
    put(here, "personas/__pycache__/x.yaml")
    put(given, "personas/b.yaml", "given")
    paths = Project(given).all("personas", "*.yaml")
    assert [path.name for path in paths] == ["a.yaml", "b.yaml"]
    assert paths[1].read_text() == "given"
    assert [path.name for path in Project().all("personas", "**/*")] == ["a.yaml", "b.yaml"]


def test_what_is_missing_is_told_with_every_place(here, given):
    put(here, "personas/clerk.yaml")
    with pytest.raises(InputError) as caught:
        Project(given).find("personas", "nobody.yaml")
    text = str(caught.value)
    assert "'nobody.yaml'" in text
    for place in (given, here, package_content()):
        assert str(place / "personas") in text
    assert "clerk.yaml" in text


@pytest.mark.parametrize("name", ["", ".", "../secret", "a/../../b", "/etc/passwd"])
def test_a_name_stays_inside(here, name):
    with pytest.raises(InputError, match="inside a project"):
        Project().find("data", name)


def test_unknown_kind(here):
    with pytest.raises(InputError, match="no kind"):
        Project().find("recipes", "x")


@pytest.mark.parametrize("name", ["absent", "file"])
def test_a_project_is_a_folder(here, name):
    put(here, "file")
    with pytest.raises(SettingError, match="no such folder"):
        Project(here / name)


def test_artifacts_are_made_on_demand(here, given, monkeypatch):
    project = Project()
    assert not (here / "artifacts").exists()
    assert project.artifacts == here / "artifacts"
    assert project.artifacts.is_dir()
    assert Project(given).artifacts == given / "artifacts"
    monkeypatch.setenv(ARTIFACTS_VARIABLE, str(given / "elsewhere"))
    assert project.artifacts == given / "elsewhere"
    run = put(given / "elsewhere", "runs/x/manifest.json")
    assert project.find("artifacts", "runs/x/manifest.json") == run


def test_artifacts_that_cannot_be_made(here):
    put(here, "artifacts")
    with pytest.raises(SettingError, match="cannot be made"):
        _ = Project().artifacts


def test_public_names_are_loaded_on_first_use():
    assert vepa.Project is Project
    assert set(vepa.__all__) <= set(dir(vepa))
    assert all(getattr(vepa, name) is not None for name in vepa.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = vepa.nonsense
