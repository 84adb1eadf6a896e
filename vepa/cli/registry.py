"""Which YAML file of a project is held against which model.

A later kind of file is one entry in `ENTRIES`: a name for people, patterns of paths relative to the
project, a function that raises `InputError` or lists problems, and the keys that give such a file
away where no pattern does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path

from vepa.cli.collect_files import check_persona, check_prompt, check_task
from vepa.cli.deployment_files import check_automations, check_deployments
from vepa.cli.findings import as_feedback
from vepa.cli.service_files import check_compose, check_environment, check_seed, check_world
from vepa.errors import InputError
from vepa.files import read_text
from vepa.policy.document import parse_document
from vepa.policy.feedback import Feedback
from vepa.policy.reading import read_policy
from vepa.policy.schema import Schema, bundled_schema
from vepa.policy.testing import check_rules, load_tests
from vepa.policy.translation import load_mapping
from vepa.project import KINDS, Project

__all__ = ["ENTRIES", "Entry", "Found", "project_files"]

#: Schemas that policies of a project may be written for, by their hash.
Schemas = Mapping[str, Schema]


@dataclass(frozen=True, slots=True)
class Entry:
    """A kind of file.

    Attributes
    ----------
    kind
        Its name, for people.
    patterns
        Paths relative to the project; `*` also stands for several folders.
    check
        Raises `InputError`, or returns the findings that reject the file.
    keys
        Top-level keys of such a file and of no other, if there are some.
    needs
        Optional packages that the check needs; without them such files stay unchecked.
    extra
        The extra that brings them.
    """

    kind: str
    patterns: tuple[str, ...]
    check: Callable[[Path, Schemas], list[Feedback]]
    keys: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()
    extra: str = ""

    @property
    def missing(self) -> str:
        """Why its files cannot be checked here; empty when they can."""
        if all(find_spec(name) is not None for name in self.needs):
            return ""
        return f"the extra {self.extra!r} is not installed"

    def problems(self, file: Path, schemas: Schemas) -> list[Feedback]:
        """All that is wrong with a file."""
        try:
            return self.check(file, schemas)
        except InputError as error:
            return [as_feedback(error)]


@dataclass(frozen=True, slots=True)
class Found:
    """A YAML file of a project.

    Attributes
    ----------
    path
        The file.
    root
        The place of the project's content that it was found in.
    entry
        What it is; None where nothing tells, or where it cannot be checked.
    unchecked
        Why there is no entry.
    """

    path: Path
    root: Path
    entry: Entry | None
    unchecked: str = "no model is known for this file"

    @property
    def kind(self) -> str:
        """What it is, for people."""
        return self.entry.kind if self.entry is not None else "YAML of no known kind"

    def problems(self, schemas: Schemas) -> list[Feedback]:
        """All that is wrong; of a file of no known kind, whether it is YAML at all."""
        if self.entry is not None:
            return self.entry.problems(self.path, schemas)
        try:
            parse_document(read_text(self.path), str(self.path), InputError)
        except InputError as error:
            return [as_feedback(error)]
        return []


def _schema(file: Path, _schemas: Schemas) -> list[Feedback]:
    Schema.parse(read_text(file), str(file))
    return []


def _schema_of(file: Path, text: str, schemas: Schemas) -> Schema:
    """The schema that a policy names, where the project has it; the bundled one otherwise."""
    data = parse_document(text, str(file)).data
    named = data.get("schema") if isinstance(data, dict) else None
    sha256 = named.get("sha256") if isinstance(named, dict) else None
    return schemas.get(str(sha256), bundled_schema())


def _policy(file: Path, schemas: Schemas) -> list[Feedback]:
    text = read_text(file)
    return list(read_policy(text, str(file), _schema_of(file, text, schemas)).feedback)


def _tests(file: Path, schemas: Schemas) -> list[Feedback]:
    beside = file.with_name(file.name.removesuffix(".tests.yaml") + ".yaml")
    schema, policy = bundled_schema(), None
    try:
        text = read_text(beside)
        schema = _schema_of(beside, text, schemas)
        policy = read_policy(text, str(beside), schema).policy
    except InputError:
        pass  # what is wrong with the policy, its own check says
    cases = load_tests(read_text(file), str(file), schema)
    if policy is not None:
        check_rules(cases, policy)
    return []


def _mapping(file: Path, _schemas: Schemas) -> list[Feedback]:
    load_mapping(read_text(file), str(file))
    return []


def _profile(file: Path, _schemas: Schemas) -> list[Feedback]:
    from vepa.bench.runs.profile import read_profile

    profile, wrong = read_profile(file)
    if profile is not None and profile.corpus is not None:
        from vepa.collect.runs.profile import read_corpus

        wrong = wrong + read_corpus(file)[1]
    if profile is not None and profile.annotate is not None:
        from vepa.annotate.runs.profile import read_annotation

        wrong = wrong + read_annotation(file)[1]
    if profile is not None and (profile.release is not None or profile.train is not None):
        from vepa.lifecycle.profile import read_lifecycle

        wrong = wrong + read_lifecycle(file)[1]
    return [as_feedback(error) for error in wrong]


def _recording(file: Path, _schemas: Schemas) -> list[Feedback]:
    from vepa.llm.recording import Recording

    try:
        Recording(file.parent)
    except InputError as error:
        found = error.where
        if found.file == str(file):
            raise
        # of the answers beside it: their file has no line of its own among the findings
        place = f"{Path(found.file or '').name}, line {found.line}"
        raise InputError(f"{place}: {error.message}", remedy=error.remedy) from None
    return []


def _experiments(file: Path, _schemas: Schemas) -> list[Feedback]:
    from vepa.bench.experiments.catalogue import load_catalogue

    load_catalogue(str(file))
    return []


def _benchmarks(file: Path, _schemas: Schemas) -> list[Feedback]:
    from vepa.corpus.benchmarks import read_benchmarks

    read_benchmarks(file)
    return []


def _reviewed(file: Path, _schemas: Schemas) -> list[Feedback]:
    from vepa.release.reviewing import read_review

    read_review(file)
    return []


def _taxonomy(file: Path, _schemas: Schemas) -> list[Feedback]:
    from vepa.corpus.taxonomy import read_taxonomy

    read_taxonomy(file)
    return []


def _panel(file: Path, _schemas: Schemas) -> list[Feedback]:
    from vepa.annotate.panel import read_panel

    read_panel(file)
    return []


def _recipe(file: Path, _schemas: Schemas) -> list[Feedback]:
    from vepa.tuning.recipe import read_recipe

    read_recipe(file)
    return []


#: What models and templates of environments are written in.
_SERVICES = ("jinja2", "jsonschema")
#: The first entry with a matching pattern checks a file.
ENTRIES = (
    Entry("deployments", ("prefect.yaml",), check_deployments),
    Entry("automations", ("flows/automations.yaml",), check_automations),
    Entry(
        "environment",
        ("environments/*/environment.yaml", "*/environments/*/environment.yaml"),
        check_environment,
        needs=_SERVICES,
        extra="services",
    ),
    Entry(
        "seed",
        ("environments/*/seed/*.yaml", "*/environments/*/seed/*.yaml"),
        check_seed,
        needs=_SERVICES,
        extra="services",
    ),
    Entry(
        "world",
        ("environments/world.yaml", "*/environments/world.yaml"),
        check_world,
        needs=_SERVICES,
        extra="services",
    ),
    Entry(
        "data of an environment",
        ("environments/*/*.yaml", "*/environments/*/*.yaml"),
        check_seed,
        needs=_SERVICES,
        extra="services",
    ),
    Entry(
        "task",
        ("tasks/*.yaml", "*/tasks/*.yaml"),
        check_task,
        needs=_SERVICES,
        extra="services",
    ),
    Entry(
        "persona",
        ("personas/*.yaml", "*/personas/*.yaml"),
        check_persona,
        needs=_SERVICES,
        extra="services",
    ),
    Entry("prompt", ("prompts/*/prompt.yaml", "*/prompts/*/prompt.yaml"), check_prompt),
    Entry("compose file", ("compose.services.yaml", "compose.team.yaml"), check_compose),
    Entry("taxonomy", ("annotation/*taxonomy*.yaml",), _taxonomy),
    Entry("panel", ("annotation/*panel*.yaml",), _panel),
    Entry("recipe", ("training/*.yaml",), _recipe),
    Entry("recording", ("data/recorded/*/manifest.yaml",), _recording),
    Entry(
        "list of experiments",
        ("data/experiments*.yaml", "*.experiments.yaml"),
        _experiments,
        frozenset({"streams", "methods", "experiments"}),
    ),
    Entry("list of benchmarks", ("data/benchmarks.yaml",), _benchmarks),
    Entry("list of reviewed finds", ("data/reviewed.yaml",), _reviewed),
    Entry("profile", ("flows/profiles/*.yaml",), _profile),
    Entry("policy tests", ("*.tests.yaml",), _tests),
    Entry("schema mapping", ("*.mapping.yaml",), _mapping),
    Entry(
        "event schema",
        ("*event_schema.yaml", "*.schema.yaml", "schemas/*.yaml"),
        _schema,
        frozenset({"version", "fields"}),
    ),
    Entry(
        "policy",
        ("*.policy.yaml", "policy.yaml", "policies/*.yaml"),
        _policy,
        frozenset({"policy"}),
    ),
)

#: Folders of a project beside those of `vepa.project.KINDS`, where users keep what they write.
_FOLDERS = ("examples", "policies", "schemas")
#: Products of runs; what made them has checked them.
_PRODUCTS = "artifacts"


def project_files(project: Project) -> tuple[list[Found], Schemas]:
    """Every YAML file of a project, sorted by name, and the schemas among them by their hash."""
    files = _yaml_files(project)
    found = [_found(name, path, root) for name, (path, root) in sorted(files.items())]
    schemas = {bundled_schema().sha256: bundled_schema()}
    for file in found:
        if file.entry is not None and file.entry.check is _schema:
            try:
                schema = Schema.parse(read_text(file.path))
            except InputError:
                continue  # its own check says so
            schemas[schema.sha256] = schema
    return found, schemas


def _found(name: str, path: Path, root: Path) -> Found:
    entry = _entry(name, path)
    if entry is not None and entry.missing:
        return Found(path, root, None, entry.missing)
    return Found(path, root, entry)


def _entry(name: str, path: Path) -> Entry | None:
    for entry in ENTRIES:
        if any(fnmatchcase(name, pattern) for pattern in entry.patterns):
            return entry
    try:
        data = parse_document(read_text(path), str(path)).data
    except InputError:
        return None
    keys = set(data) if isinstance(data, dict) else set()
    return next((entry for entry in ENTRIES if entry.keys and entry.keys <= keys), None)


def _yaml_files(project: Project) -> dict[str, tuple[Path, Path]]:
    """Name relative to a root -> file and root; the first root that has a name wins."""
    found: dict[str, tuple[Path, Path]] = {}
    for kind in KINDS:
        if kind == _PRODUCTS:
            continue
        for suffix in ("yaml", "yml"):
            for path in project.all(kind, f"**/*.{suffix}"):
                root = _root(path, kind, project)
                found[path.relative_to(root).as_posix()] = path, root
    root = project.candidates[0]
    for folder in _FOLDERS:
        for path in _both(root / folder, "**/"):
            found[path.relative_to(root).as_posix()] = path, root
    for path in _both(root, ""):
        found[path.name] = path, root
    return found


def _both(folder: Path, under: str) -> Iterator[Path]:
    for suffix in ("yaml", "yml"):
        for path in folder.glob(f"{under}*.{suffix}"):
            if not any(part.startswith(".") for part in path.relative_to(folder).parts):
                yield path


def _root(path: Path, kind: str, project: Project) -> Path:
    """The place whose folder of this kind holds the file; one place may lie inside another."""
    holding = [root for root in project.candidates if path.is_relative_to(root / kind)]
    return max(holding, key=lambda root: len(root.parts))
