"""Sequences in a browser: a date is rewritten, words are followed, one is forced."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import MAIN, pick, ready

DAY = "2 0 2 6 - 1 1 - 2 1 [END]"


def open_translate(page, server, more=""):
    page.goto(f"{server}/sequences?{more}")
    ready(page)
    expect(page.locator(f"{MAIN} .translate")).to_have_attribute("data-written", re.compile("END"))


def test_a_word_is_followed_forced_and_let_go(page, server):
    open_translate(page, server)
    canvas = page.locator(f"{MAIN} .translate")
    expect(canvas).to_have_attribute("data-written", DAY)
    page.locator(".word[data-side='out'][data-index='3']").click()
    expect(canvas).to_have_attribute("data-step", "3")
    expect(page).to_have_url(re.compile("word=3"))
    page.get_by_role("button", name="Step ▶").click()
    expect(canvas).to_have_attribute("data-step", "4")
    page.locator(".word[data-side='in'][data-index='5']").hover()
    expect(canvas).to_have_attribute("data-focus", "in 5")
    page.locator(".next button").nth(1).click()
    expect(canvas).not_to_have_attribute("data-written", DAY)
    expect(page).to_have_url(re.compile("force=2"))
    written = canvas.get_attribute("data-written")
    page.goto(page.url)
    ready(page)
    expect(canvas).to_have_attribute("data-written", str(written))
    page.get_by_role("button", name="Undo the forced words").click()
    expect(canvas).to_have_attribute("data-written", DAY)


def open_view(page, server, title, more=""):
    page.goto(f"{server}/sequences?sequences_view={title.replace(' ', '+')}{more}")
    ready(page)


@pytest.mark.rest
def test_a_hidden_word_is_guessed_and_the_mask_changed(page, server):
    open_view(page, server, "Masks", "&mask=BERT")
    text = page.get_by_role("textbox", name="Text")
    text.fill("20 july 1969")
    text.press("Enter")
    canvas = page.locator(f"{MAIN} .predict")
    expect(canvas).to_have_attribute("data-hidden", "2")
    expect(canvas.get_by_text("truly “july”")).to_be_visible()
    canvas.get_by_role("button", name="9", exact=True).last.click()
    expect(canvas.get_by_text("truly “9”")).to_be_visible()
    expect(page).to_have_url(re.compile(r"hidden=2(,|%2C)\d+"))
    pick(page, "mask", "causal")
    expect(page.get_by_text("Wrong: softmax, then mask")).to_be_visible()
    expect(page.locator("td.hidden").first).to_be_visible()


@pytest.mark.rest
def test_a_word_is_walked_through_a_layer(page, server):
    open_view(page, server, "Step by step", "&step=1&steps_layer=encoder+1")
    canvas = page.locator(f"{MAIN} .strips")
    expect(canvas).to_have_attribute("data-title", "Word")
    for title in ("× √d + position", "Q, K, V", "Scores"):
        canvas.get_by_role("button", name="Next ▶").click()
        expect(canvas).to_have_attribute("data-title", title)
    expect(page).to_have_url(re.compile("step=4"))
    canvas.get_by_role("button", name="of", exact=True).click()
    expect(canvas.locator(".says")).to_contain_text("The query is multiplied with every key")
    expect(page).to_have_url(re.compile("steps_token=5"))
    canvas.get_by_role("combobox", name="Layer").select_option("encoder 2")
    expect(page).to_have_url(re.compile(r"steps_layer=encoder(\+|%20)2"))
    page.goto(page.url)
    ready(page)
    expect(canvas).to_have_attribute("data-title", "Softmax")  # step 4 of a layer without the embedding


@pytest.mark.rest
def test_a_wrong_weekday_is_a_press_away_and_its_digits_are_red(page, server):
    open_translate(page, server)
    page.get_by_role("button", name="Challenge: does a wrong weekday change the date?").click()
    wrong = page.locator(f"{MAIN} .translate .word.wrong")
    expect(wrong).to_have_count(2)
    expect(wrong.first).to_contain_text("3 ≠ 0")
    expect(page.get_by_text("which is wrong: right is “1999-05-03”")).to_be_visible()
    open_translate(page, server, "sequence_model=LSTM+%2B+attention")
    expect(page.locator(f"{MAIN} .translate .key")).to_contain_text("layer 1")
    expect(page.locator(f"{MAIN} .translate .key")).not_to_contain_text("heads")
