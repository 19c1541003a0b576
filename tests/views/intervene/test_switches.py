"""Switches: what its canvas is sent, what it tells, where it opens, and its maps before and after."""

from dataclasses import replace

import pytest
import torch

from tests.views.contract import everything, subject
from vizkit.analysis.swin.total_variation import total_variation
from vizkit.datasets import samples
from vizkit.figure.scales import SIGNED_SHARES
from vizkit.interventions import Changes
from vizkit.lessons.vocabulary.attention import attention
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Bars, Canvas, Hint, Later, Said, Tiles
from vizkit.views.intervene.changed import asking, place
from vizkit.views.intervene.switches import COSTLIEST, NONE, Switches
from vizkit.views.rules import RefusedError
from vizkit.views.settled import flat, settled


def shown(view, name="digits_vit", of=None):
    return list(everything(settled(view.show(of or subject(name)))))


def sent(view, name="digits_vit", of=None):
    return next(block.data for block in shown(view, name, of) if isinstance(block, Canvas))


def tiles_of(view, of):
    return next(block for block in flat(view.show(of)) if isinstance(block, Tiles))


def said(view, name="digits_vit", of=None):
    return next(block.text for block in shown(view, name, of) if isinstance(block, Said))


@pytest.mark.product
@pytest.mark.parametrize(
    "name, tool, grid",
    [("digits_vit", "Hide", (8, 8)), ("digits_swin", "Erase", (16, 16)), ("digits_cnn", "Erase", (16, 16))],
)
def test_without_changes_before_is_after(name, tool, grid):
    content = sent(Switches(NONE), name)
    assert (content["hidden"], content["off"], content["changes"]) == ((), (), NONE)
    assert (content["tool"], content["grid"]) == (tool, grid)
    assert all(before == after for _, before, after, *_ in content["answers"])
    assert said(Switches(NONE), name).startswith("With all ")


# ---- guessed first, and what was tried -------------------------------------------------------------------------------
@pytest.mark.parametrize("name, asks", [("insects_deit", "Which head"), ("digits_cnn", "Which patch")])
def test_it_opens_with_nothing_changed_and_asks_which_part_is_needed_most(name, asks):
    of = subject(name)
    content = sent(Switches(), of=of)
    assert (content["changes"], content["off"], content["edited"], content["costliest"]) == (NONE, (), (), "")
    assert any(f"{asks} does it need most?" in each.text for each in shown(Switches(), of=of) if isinstance(each, Hint))
    tiles = tiles_of(Switches(), of)
    assert len(tiles.values) == len(tiles.maps) == 1, "no difference, and no choice for one"
    assert of.find(COSTLIEST) is None, "nothing is looked for before the reader has tried something"


def test_after_a_guess_it_says_whether_another_head_costs_more_and_shows_it_when_asked():
    of = subject("insects_deit")
    at = place(of)
    guess, tried = Switches().told(at, Switches().made(at))(
        {"number": 1, "back": None, "hidden": [], "off": ["3.1"], "hot": [1.0] * 6, "tool": "Hide", "painted": []}
    )
    assert guess == tried == "heads:4.2=0"
    view = Switches(guess, tried=tried)
    words, content = said(view, of=of), sent(view, of=of)
    assert "One of the 24 heads, taken away alone, takes it to 9" in words
    assert "head 1 of layer 1" not in words
    painted = said(Switches("blind:all=17", tried=guess), of=of)
    assert "1 patch hidden" in painted
    assert "heads" not in painted, "of patches nothing is said of heads"
    assert content["costliest"] == "heads:1.1=0"
    leads = {}
    for layer, many in enumerate(at.heads):
        for head in range(many):
            logits = Changes.parse([f"heads:{layer + 1}.{head + 1}=0"]).trace(of.loaded, of.rgb).logits
            own = int(of.seen.logits.argmax())
            leads[f"heads:{layer + 1}.{head + 1}=0"] = float(
                logits[own] - torch.cat([logits[:own], logits[own + 1 :]]).max()
            )
    assert content["costliest"] == min(leads, key=leads.__getitem__)
    shown_it = Switches(content["costliest"], tried=f"{tried}|{content['costliest']}")
    assert "Taken away alone, none of the 24 heads costs the answer more" in said(shown_it, of=of)
    assert sent(shown_it, of=of)["costliest"] == ""
    tiles = tiles_of(shown_it, of)
    assert [tile.name.partition(":")[0] for tile in tiles.maps] == [
        "nothing changed",
        "head 2 of layer 4 off",
        "head 1 of layer 1 off",
        "nothing changed → head 1 of layer 1 off",
    ]
    assert len({tile.scale for tile in tiles.maps[:-1]}) == 1
    assert tiles.picks == ("changes", "tried")
    assert tiles.chosen == tiles.values[2]


def test_it_says_whether_the_answer_is_right_and_that_nothing_can_be_hidden():
    of = subject("digits_swin")
    blocks = shown(Switches(NONE), of=of)
    assert any("No patch can be hidden" in block.text for block in blocks if isinstance(block, Hint))
    assert "which is right" in said(Switches(NONE), of=of)
    of.image = "digit 5"
    assert "which is wrong" in said(Switches(NONE), of=of)
    assert [name[-1] for name, *_ in sent(Switches(NONE), of=of)["answers"]].index("✗") == 0


def test_what_was_tried_is_kept_once_and_reset_forgets_it():
    of = subject("digits_vit")
    at = place(of)
    view = Switches("heads:1.2=0", tried="heads:1.1=0|heads:1.2=0|nonsense")
    rule = view.told(at, view.made(at))
    nothing = {"number": 1, "hidden": [], "off": [], "hot": [1.0] * 6, "tool": "Hide", "painted": []}
    assert rule({**nothing, "back": "heads:1.1=0"}) == ("heads:1.1=0", "heads:1.1=0|heads:1.2=0|nonsense")
    assert rule({**nothing, "back": NONE}) == (NONE, "")
    names = [tile.name.partition(":")[0] for tile in tiles_of(view, of).maps]
    assert names[:-1] == ["nothing changed", "head 1 of layer 1 off", "head 2 of layer 1 off"]


def test_a_link_with_edits_shows_them_and_what_follows():
    view = Switches("blind:all=3,4;heads:1.2=0;heads:2=0;temperature:3=2")
    content = sent(view)
    assert content["hidden"] == (2, 3)  # the class token stands before the patches
    assert content["off"] == ("0.1", *(f"1.{head}" for head in range(content["heads"][1])))
    assert content["hot"] == (1, 1, 2, 1, 1, 1)
    assert any(before != after for _, before, after, *_ in content["answers"])
    assert said(view).startswith(
        "With 2 patches hidden, all heads of layer 2 off, head 2 of layer 1 off and layer 3 at temperature 2, the"
    )


# ---- what the canvas tells -------------------------------------------------------------------------------------------
def told(view, of, **changed):
    at = place(of)
    nothing = {"number": 1, "back": None, "hidden": [], "off": [], "hot": [1.0] * len(at.heads), "painted": []}
    rule = view.told(at, view.made(at))
    return rule({**nothing, "tool": view.brush or "Hide", **changed})[0]


@pytest.mark.parametrize(
    "view, changed, text",
    [
        (Switches(NONE), {"hidden": [2, 3]}, "blind:all=3,4"),
        (Switches(NONE), {"off": ["1.0", "0.1"]}, "heads:1.2=0;heads:2.1=0"),
        (Switches(NONE), {"hot": [1, 3, 1, 1, 1, 1]}, "temperature:2=3"),
        (Switches("uniform:1"), {"off": ["0.1"]}, "heads:1.2=0;uniform:1"),
        (Switches(NONE, "Erase"), {"painted": [3]}, "pixels:8x8:erase=3"),
        (Switches("pixels:8x8:blur=3", "Erase", "blur"), {"painted": [3, 4]}, "pixels:8x8:blur=3,4"),
        (Switches("pixels:8x8:erase=3", "Exchange"), {"painted": [9, 5]}, "pixels:8x8:erase=3;pixels:8x8:swap=9-5"),
        (Switches(NONE, "Paste", source="digit 5"), {"painted": [7]}, "pixels:8x8:paste=digit 5@7"),
        (Switches("heads:1.2=0"), {"off": []}, NONE),
        (Switches("heads:1.2=0"), {"back": "heads:1.1=0"}, "heads:1.1=0"),
        (Switches("heads:1.2=0"), {"back": "nonsense"}, NONE),
    ],
)
def test_a_stroke_becomes_changes(view, changed, text):
    assert told(view, subject("digits_vit"), **changed) == text


@pytest.mark.parametrize(
    "changed", [{"hidden": [64]}, {"off": ["9.9"]}, {"hot": [0.0]}, {"painted": [-1]}, {"tool": "Burn"}, {"back": 3}]
)
def test_what_the_canvas_never_sends_is_refused(changed):
    with pytest.raises(RefusedError):
        told(Switches(NONE), subject("digits_vit"), **changed)


def test_of_two_patches_that_change_places_both_are_needed():
    with pytest.raises(RefusedError):
        told(Switches(NONE, "Exchange"), subject("digits_vit"), painted=[3])


# ---- maps ------------------------------------------------------------------------------------------------------------
@pytest.mark.product
def test_with_a_map_of_where_a_query_looks_the_sentence_says_how_much_of_that_is_as_before():
    """As the word of a lesson has it; on a stage, where nothing else is asked, that alone."""
    of, changes = subject("digits_vit"), "positions:zero"
    query = asking(of)[0]
    assert query == "cls"
    shared = 1 - total_variation(attention(of, 1), attention(of, 1, edits=changes))
    words = f"Where the class token looks in layer 1 overlaps by {100 * shared:.0f} % with where it looked before."
    view = Switches(changes, map="attention", layer=1)
    assert said(view, of=of).endswith(words)
    assert said(replace(view, staged=True), of=of) == words
    assert "overlaps" not in said(Switches(changes), of=of)
    assert "overlaps" not in said(Switches(NONE, map="attention", layer=1), of=of)


@pytest.mark.parametrize("kind", ["relevance", "rollout", "attention"])
@pytest.mark.parametrize("name", ["digits_vit", "digits_swin"])
def test_before_and_after_have_one_scale_and_differ(kind, name):
    before, after, difference = tiles_of(Switches("pixels:8x8:grey=27,28", map=kind), subject(name)).maps
    assert difference.scale == replace(SIGNED_SHARES, equal=1.0), "one for all changes: a small one stays faint"
    assert before.scale == after.scale
    equal = before.scale.of(before.values).equal
    assert difference.values == pytest.approx((after.values - before.values) / equal, abs=1e-5)


# ---- what cannot be made, and other models ---------------------------------------------------------------------------
def test_a_pasted_picture_is_taken_from_those_at_hand():
    view, of = Switches("pixels:8x8:paste=holiday.png@27"), subject("digits_vit")
    with pytest.raises(NotApplicable, match="holiday"):
        shown(view, of=of)
    of.uploads = {"holiday.png": samples.picture("digit 5")}
    assert said(view, of=of).startswith("With 1 patch of holiday.png pasted")


@pytest.mark.product
@pytest.mark.parametrize("edits", ["heads:1.1=mean", "patch:stream.2=3", "steer:2=1*5", "frozen:1"])
def test_changes_that_need_other_images_are_refused_in_a_sentence(edits):
    with pytest.raises(NotApplicable):
        shown(Switches(edits))


@pytest.mark.parametrize("edits", ["drop:3,4", "positions:zero", "positions:shift=1,0"])
def test_changes_that_have_no_switch_are_followed_too(edits):
    assert sent(Switches(edits))["changes"] == edits


def test_all_models_answer_to_the_same_changes_as_far_as_they_can():
    of = subject("digits_vit")
    of.beside = (subject("digits_swin"), subject("digits_cnn"))
    blocks = shown(Switches("pixels:8x8:erase=27,28;heads:2.1=0;blind:all=9"), of=of)
    assert sum(isinstance(block, Bars) for block in blocks) == 1 + 3  # of the picture on paper, and of each
    words = [getattr(block, "text", "") for block in blocks]
    assert words.count("Not in this model: 1 patch hidden and head 1 of layer 2 off.") == 2, "a head has no double"


@pytest.mark.parametrize("edits", ["heads:2.1=0", "temperature:1=2", "heads:1=0"])
def test_layers_and_heads_are_of_one_model_alone(edits):
    of = subject("digits_vit")
    of.beside = (subject("digits_swin"),)
    blocks = shown(Switches(edits), of=of)
    assert sum(isinstance(block, Bars) for block in blocks) == 1, "of the picture on paper"
    everywhere = shown(Switches("heads:all=0"), of=of)
    assert sum(isinstance(block, Bars) for block in everywhere) == 1 + 2


def test_a_larger_model_is_looked_at_while_the_page_waits(monkeypatch):
    monkeypatch.setattr("vizkit.views.intervene.switches.AT_ONCE", 0)
    of, view = subject("digits_vit"), Switches("heads:2.1=0", tried="heads:2.1=0")
    (later,) = view.show(of)
    assert isinstance(later, Later)
    assert of.find(COSTLIEST) is None
    before = [block.data for block in flat(later.show({})) if isinstance(block, Canvas)]
    after = [block.data for block in flat(later.now()) if isinstance(block, Canvas)]
    assert [before[0]["costliest"], after[0]["costliest"]] == ["", ";".join(of.find(COSTLIEST))]
    assert before[0]["changes"] == after[0]["changes"] == "heads:2.1=0"
