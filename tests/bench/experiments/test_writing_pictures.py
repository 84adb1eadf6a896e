"""Pictures as SVG: well-formed, alone, the same method alike, nothing outside."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import combinations

import pytest
from told_reports import METHODS, told_report

from vepa.bench.experiments.document import Figure, Point, Report, Series
from vepa.bench.experiments.writing.axes import figure_axis, number_axis, room
from vepa.bench.experiments.writing.lines import WIDTH
from vepa.bench.experiments.writing.numbers import numbers
from vepa.bench.experiments.writing.pictures import drawn, stand_alone
from vepa.bench.experiments.writing.styles import styles_of

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(1)</script>&\x07'\"]]>"


@pytest.fixture(scope="module")
def report() -> Report:
    return told_report()


def pictures(report: Report) -> list[Figure]:
    return [figure for each in report.experiments for figure in each.figures]


def line(*values: float, style: str = "default", xs: tuple[float, ...] = ()) -> Figure:
    places = xs or tuple(float(at) for at in range(1, len(values) + 1))
    points = tuple(Point(x=x, y=y) for x, y in zip(places, values, strict=True))
    return Figure(
        name="f", title="t", kind="lines", x_label="x", y_label="y", unit="score",
        series=(Series(name="s", style=style, points=points),),
    )  # fmt: skip


def test_pictures_stand_alone(report: Report) -> None:
    styles = styles_of(report)
    for figure in pictures(report):
        text = stand_alone(figure, styles)
        root = ElementTree.fromstring(text.encode())
        assert root.tag == f"{SVG}svg"
        assert root.find(f"{SVG}title").text == figure.title  # type: ignore[union-attr]
        assert "prefers-color-scheme: dark" in root.find(f"{SVG}style").text  # type: ignore
        outside = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not any(sign in outside for sign in ("http", "url(", "@import", "href", "<script"))


def test_every_text_lies_within_the_picture(report: Report) -> None:
    styles = styles_of(report)
    for figure in pictures(report):
        root = ElementTree.fromstring(stand_alone(figure, styles).encode())
        height = float(root.attrib["viewBox"].split()[3]) - 20  # within its edges
        texts = list(root.iter(f"{SVG}text"))
        assert len(texts) > 5
        for text in texts:
            wide = room(text.text or "", 13)
            anchor, x = text.attrib["text-anchor"], float(text.attrib["x"])
            left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
            assert left >= -1
            assert left + wide <= WIDTH + 1, text.text
            assert 8 <= float(text.attrib["y"]) <= height


def test_hostile_labels_are_only_text(report: Report) -> None:
    for figure in pictures(report):
        hostile = figure.model_copy(
            update={
                "title": HOSTILE,
                "x_label": HOSTILE,
                "y_label": HOSTILE,
                "series": tuple(one.model_copy(update={"name": HOSTILE}) for one in figure.series),
                "groups": tuple(HOSTILE for _ in figure.groups),
                "marks": {HOSTILE: 0.8},
            }
        )
        root = ElementTree.fromstring(stand_alone(hostile, styles_of(report)).encode())
        assert not list(root.iter(f"{SVG}script"))
        assert root.find(f"{SVG}title").text == HOSTILE.replace("\x07", "")  # type: ignore


def test_a_method_looks_the_same_everywhere(report: Report) -> None:
    styles = styles_of(report)
    assert styles["default"].place == 0
    assert styles["default"].first
    assert [key for key, style in styles.items() if style.first] == ["default"]
    fewer = report.model_copy(update={"experiments": report.experiments[2:]})
    for key in set(METHODS) & set(styles_of(fewer)):
        assert styles_of(fewer)[key] == styles[key], "whatever else the report holds"


def test_methods_of_a_figure_differ_in_mark_and_dash_and_colour(report: Report) -> None:
    styles = styles_of(report)
    for figure in pictures(report):
        found = [styles[one.style] for one in figure.series]
        assert len({style.mark for style in found}) == len(found)
        for one, other in combinations(found, 2):
            assert (one.mark, one.dash) != (other.mark, other.dash)
            assert one.colour != other.colour


def test_many_methods_are_still_told_apart() -> None:
    series = tuple(
        Series(name=f"m{at}", style=f"m{at}", points=(Point(x=1.0, y=0.5),)) for at in range(20)
    )
    figure = line(0.5).model_copy(update={"series": series})
    whole = told_report()
    first = whole.experiments[0].model_copy(update={"figures": (figure,)})
    styles = styles_of(whole.model_copy(update={"experiments": (first,)}))
    assert len({(style.mark, style.dash) for style in styles.values()}) == 20


def test_all_that_is_drawn_is_on_the_axis() -> None:
    for values in ((0.2, 0.21), (0.5,), (0.0, 1.0), (-0.3, 0.1), (1e6, 3e6)):
        axis = figure_axis(line(*values), 6)
        assert axis.low <= min(values)
        assert axis.high >= max(values)
        assert 2 <= len(axis.ticks) <= 9
        assert all(0.0 <= axis.share(at) <= 1.0 for at, _ in axis.ticks)


@pytest.mark.parametrize(
    ("places", "ticks"),
    [
        ((5.0, 10.0, 25.0, 50.0), ["5", "10", "25", "50"]),
        (tuple(float(x) for x in range(1, 31)), ["1", "5", "10", "15", "20", "25", "30"]),
        ((1e3, 1e4, 1e5, 1e6), ["1k", "10k", "100k", "1M"]),
        ((3.0,), ["3"]),
    ],
)
def test_ticks_are_where_people_look(places: tuple[float, ...], ticks: list[str]) -> None:
    assert [text for _, text in number_axis(places, 7).ticks] == ticks


def test_a_curve_runs_through_its_points() -> None:
    figure = line(0.0, 0.5, 1.0, xs=(0.0, 5.0, 10.0))
    report = told_report()
    root = ElementTree.fromstring(stand_alone(figure, styles_of(report)).encode())
    (curve,) = root.iter(f"{SVG}polyline")
    (xa, ya), (xb, yb), (xc, yc) = (
        tuple(map(float, place.split(","))) for place in curve.attrib["points"].split()
    )
    assert xb - xa == pytest.approx(xc - xb, abs=0.2)
    assert ya - yb == pytest.approx(yb - yc, abs=0.2)
    assert ya > yc


def test_a_figure_without_points_says_so(report: Report) -> None:
    empty = line(0.5).model_copy(update={"series": ()})
    assert "nothing was run" in drawn(empty, {})
    assert numbers(empty).rows == ()


def test_the_numbers_behind_a_long_curve_are_some_of_them() -> None:
    found = numbers(line(*[at / 1000 for at in range(200)]))
    assert len(found.rows) <= 41
    assert found.left_out == 200 - len(found.rows)
    assert (found.rows[0][0], found.rows[-1][0]) == ("1", "200")
    assert found.rows[-1][1][0][0] == "0.199"
