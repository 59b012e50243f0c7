from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from gradledger.report.chronicle import together
from gradledger.report.page import MissingBundleError, making, page
from tests.report.page import scenes


def test_the_page_is_one_file_with_no_address_in_it() -> None:
    text = scenes.page_of(scenes.plain(20, clears=False))
    markup = text[: text.index('<script type="application/json"')]
    assert "http" not in markup.replace('http-equiv="Content-Security-Policy"', "")
    assert 'src="' not in markup
    assert 'name="generator" content="gradledger' in text[:2000]


def test_every_name_from_a_script_is_escaped() -> None:
    text = scenes.page_of(scenes.hostile())
    assert "<img" not in text
    assert text.count("</script>") == 3


def test_two_pages_of_one_run_are_the_same() -> None:
    assert scenes.page_of(scenes.plain(20)) == scenes.page_of(scenes.plain(20))


def test_ranks_are_in_order_whatever_order_they_come_in() -> None:
    ranks = scenes.two_ranks(12)
    verdict = together(ranks)
    assert page(ranks, verdict=verdict) == page(ranks[::-1], verdict=verdict)


def test_a_million_turns_are_under_two_megabytes() -> None:
    short = scenes.plain(2_000, epochs=4)
    repeats = 500
    turns, times = short.turns[:-1] * repeats, short.times[:-1] * repeats
    long = replace(
        short,
        turns=turns,
        times=times,
        deposits=short.deposits * repeats,
        spends=short.spends * repeats,
        measures={},
    )
    assert len(turns) == 1_000_000
    assert len(page([long], verdict=long.verdict)) < 2_000_000


def test_a_run_that_was_cut_off_or_lost_something_says_so() -> None:
    run = scenes.plain(8)
    text = scenes.page_of(replace(run, ended=False, lost=3))
    assert "The run was cut off, or still goes on" in text
    assert "3 things could not be recorded" in text
    assert "was cut off" not in scenes.page_of(run)


def test_ranks_that_left_nothing_are_missed() -> None:
    run = scenes.plain(8)
    alone = replace(run, run=replace(run.run, world_size=4))
    assert "nothing was heard from rank 1, 2, 3" in scenes.page_of(alone)


def test_of_several_ranks_the_numbers_are_those_of_the_first() -> None:
    ranks = scenes.two_ranks(120)
    shown = scenes.page_of(*ranks[::-1])
    assert "<dd>120</dd><dt>steps</dt>" in shown
    assert "<dt>windows</dt>" not in shown, "there are as many as steps"
    assert "counted on rank 0" in shown


def test_a_package_without_its_bundle_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "_BUNDLE", "/nowhere")
    making._bundled.cache_clear()
    with pytest.raises(MissingBundleError, match="`make install`"):
        scenes.page_of(scenes.empty())


def test_nothing_of_it_is_loaded_before_a_page_is_made() -> None:
    program = "import sys, gradledger.report, gradledger.report.chronicle; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"jinja2", "pygments", "markupsafe"} & set(done.stdout.split())
