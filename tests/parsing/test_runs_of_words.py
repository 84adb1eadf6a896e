"""Words, runs of words, and where they were first told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vepa.parsing.text import grams, words_of
from vepa.parsing.told import Told

pytestmark = pytest.mark.property


WORDS = st.lists(st.sampled_from("abc"), max_size=9)


@given(said=st.lists(WORDS, max_size=6), asked=WORDS)
def test_the_longest_run_is_found_as_by_looking_everywhere(said, asked):
    told: Told[int] = Told([asked])
    for number, words in enumerate(said):
        told.note(words, number)
    for at in range(len(asked)):
        length, place = told.longest(asked, at)
        longest = max(
            (
                n
                for n in range(len(asked) - at + 1)
                for words in said
                if _holds(words, asked[at : at + n])
            ),
            default=0,
        )
        # Of a run longer than four the first eight places are looked at: here there may be more.
        assert length <= longest
        assert min(length, 4) == min(longest, 4)
        if length:
            assert _holds(said[told.owners[place]], asked[at : at + length])
        else:
            assert place == -1


def _holds(words: list[str], run: list[str]) -> bool:
    return not run or any(words[at : at + len(run)] == run for at in range(len(words)))


@given(st.lists(st.text(alphabet="ab", min_size=1, max_size=2), max_size=7))
def test_grams_are_every_run_of_one_to_four_words(words):
    runs = [words[a:b] for a in range(len(words)) for b in range(a + 1, min(a + 4, len(words)) + 1)]
    assert sorted(grams(words)) == sorted(map(tuple, runs))


@given(st.text(alphabet="aeB12 .,'_\0\n-é½٣", max_size=24))
def test_words_do_not_depend_on_what_stands_beside_the_text(text):
    # A sign outside of ASCII, and an account, each send the text another way.
    plain = words_of(text)
    assert words_of(f"{text} \u2013") == plain
    assert words_of(f"{text} , DE89 3704 0044 0532 0130 00") == [*plain, "de89370400440532013000"]
