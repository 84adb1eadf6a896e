"""The colours of methods: seen on both grounds, told apart whatever people's sight."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from vepa.bench.experiments.writing.styles import DARK, LIGHT

Floats = npt.NDArray[np.float64]

#: Machado, Oliveira and Fernandes 2009, severity 1: linear RGB as it is seen.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
#: Ground of pictures in both schemes.
GROUNDS = {"light": (LIGHT, "#ffffff"), "dark": (DARK, "#182029")}


def linear(colour: str) -> Floats:
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def oklab(rgb: Floats) -> Floats:
    lms = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return np.asarray(lab @ np.cbrt(lms @ np.clip(rgb, 0, 1)))


def light(colour: str) -> float:
    return float(linear(colour) @ np.array([0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("sight", SIGHT)
def test_any_two_colours_differ(ground: str, sight: str) -> None:
    seen = {colour: oklab(SIGHT[sight] @ linear(colour)) for colour in GROUNDS[ground][0]}
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= 0.09, (one, other)


@pytest.mark.parametrize("ground", GROUNDS)
def test_every_colour_stands_off_from_its_ground(ground: str) -> None:
    colours, behind = GROUNDS[ground]
    for colour in colours:
        dark, bright = sorted((light(colour), light(behind)))
        assert (bright + 0.05) / (dark + 0.05) >= 3.0, colour


def test_a_palette_that_some_cannot_tell_would_be_noticed() -> None:
    """Red and green of one lightness: apart to most, the same under deuteranopia."""
    red, green = (linear(colour) for colour in ("#c05040", "#7d7d2c"))
    seen = [oklab(SIGHT["deuteranopia"] @ colour) for colour in (red, green)]
    assert np.linalg.norm(oklab(red) - oklab(green)) >= 0.09
    assert np.linalg.norm(seen[0] - seen[1]) < 0.09
