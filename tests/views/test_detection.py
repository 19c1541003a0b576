"""Views of what is found: what is right and wrong, where it was looked for, and what they are of."""

import re
from dataclasses import replace

import numpy as np
import pytest

import vizkit
from vizkit.datasets import samples
from vizkit.evaluation.scenes.mistakes import mistakes
from vizkit.figure.detection.on_picture import WHITE
from vizkit.figure.detection.segments import Regions
from vizkit.models.detection import opening_masks, seen
from vizkit.models.detection.segmenting import Segments
from vizkit.traces import NotApplicable
from vizkit.views import reads
from vizkit.views.blocks import Canvas, Chart, Later, Line, Link, Part, Said
from vizkit.views.controls import controls
from vizkit.views.detection import PLACE, boxes, scene
from vizkit.views.detection.boxes import NO_MASKS, Boxes
from vizkit.views.detection.detectors import Detectors
from vizkit.views.detection.queries import Queries
from vizkit.views.detection.scene import DRAWN_ONLY, RIGHT, WRONG
from vizkit.views.settled import flat
from vizkit.views.subject import Subject, no_model, no_picture

OF_SCENES = Subject(no_model, no_picture())  # what one test has computed the next one finds


def shown(view, of=OF_SCENES):
    """(what its panels draw, what is said, all blocks)."""
    blocks = [each for block in view.show(of) for each in (block.make() if isinstance(block, Part) else (block,))]
    canvas = next((block.data for block in blocks if isinstance(block, Canvas)), {})
    return canvas, " ".join(block.text for block in blocks if isinstance(block, Said)), blocks


def lines(blocks):
    return " ".join(block.text for block in blocks if isinstance(block, Line))


def words(panel):
    return [frame["word"] for frame in panel["frames"] if not frame["faint"]]


@pytest.mark.rest
def test_mistakes_come_with_their_reasons():
    drawn, said, _ = shown(Boxes(scene=1))
    assert said.startswith(
        "Scene 1: 3 of 5 insects found, 2 boxes too many, 1 of them said twice (score 0.50 or more)."
    )
    notes = [word.partition(" · ")[2] for word in words(drawn["panels"][0]) if word]
    assert sorted(notes) == ["", "", "", "missed", "missed", "said twice", "wrong class and place"], "as in Many scenes"
    says = dict(drawn["says"])
    assert any("query 7, which should find it, calls it mosquito larva (53 %" in each for each in says.values())
    assert says[drawn["chosen"]].startswith("The box alderfly larva of query 15 is too many"), "failures first"
    for frame in drawn["panels"][0]["frames"]:  # a colour says whether a box is right, whatever its class
        if frame["word"] and not frame["faint"]:
            note = frame["word"].partition(" · ")[2]
            assert frame["colour"] == (WHITE if note == "missed" else WRONG if note else RIGHT), "the truth is white"
    missed = {frame["id"] for frame in drawn["panels"][0]["frames"] if frame["word"].endswith("missed")}
    for query, sentence in drawn["says"]:
        assert ("is missed" in sentence) == (query in missed)
    assert missed <= set(drawn["panels"][1]["heats"]["ids"])


def test_every_box_has_its_map_and_one_is_chosen():
    frames = shown(Boxes(scene=6, score=0.05, layer=1))[0]["panels"][0]["frames"]
    least = [frame["id"] for frame in frames if frame["id"] >= 0][-1]  # below the score of the others
    drawn, _, _ = shown(Boxes(scene=6, score=0.05, query=least, head=2, layer=1))
    found, crossed, relevant = drawn["panels"]
    ids = [frame["id"] for frame in found["frames"] if frame["id"] >= 0]
    assert crossed["heats"]["ids"] == ids
    assert drawn["chosen"] == least
    assert least in relevant["heats"]["ids"]
    assert crossed["title"] == "Cross-attention, layer 1, head 2"
    assert [query for query, _ in drawn["says"]] <= ids


def test_nothing_found_is_a_sentence():
    drawn, said, _ = shown(Boxes(scene=4, score=0.95))
    assert said.strip() == "Scene 4: no insect to find, no box too many (score 0.95 or more)."
    assert drawn["chosen"] == -1
    for view in (Boxes(scene=4, map=PLACE), Queries(scene=4)):
        assert shown(view)[1].startswith("Scene 4")


def test_queries_that_know_nothing_of_each_other_say_things_twice():
    drawn, said, blocks = shown(Boxes(scene=6, self_attention=False))
    assert said == (
        "Scene 6 after layer 3, where each query looks at itself alone: 4 of 4 insects found, 5 boxes too many, all "
        "said twice; where queries look at each other: 4 of 4 insects found, no box too many."
    )
    assert lines(blocks).endswith(NO_MASKS)
    assert "which is surer, has found this" in dict(drawn["says"])[drawn["chosen"]]


def test_where_the_page_opens_queries_alone_say_more_twice():
    given = Boxes().given(OF_SCENES)
    together, alone = (given.found(given.sure(0.5, self_attention=own))[1].doubles for own in (True, False))
    assert alone > together


@pytest.mark.product
@pytest.mark.parametrize("scene", [9, 335, 1, *range(2, 9), *range(10, 20)])
@pytest.mark.parametrize("self_attention", [False, True])
def test_of_no_query_two_sentences_contradict_each_other(scene, self_attention):
    """A box that repeats another lies on what that has found, never on what is missed."""
    view = Boxes(scene=scene, self_attention=self_attention)
    given = view.given(OF_SCENES)
    said = given.sure(0.5, self_attention=self_attention)
    answers = given.seen(self_attention=self_attention).layers[-1]
    missed, too_many = mistakes(answers, said, given.things)
    scores, gone = dict(zip(said.queries.tolist(), said.scores.tolist(), strict=True)), {each.thing for each in missed}
    for each in too_many:
        assert (each.surer is None) == (each.thing is None or each.thing in gone)
        if each.thing is not None and each.label == int(given.things.labels[each.thing]):
            assert each.surer is not None
            assert scores[each.surer] >= scores[each.query]
    again = [each for each in too_many if each.thing is not None and each.label == given.things.labels[each.thing]]
    assert given.found(said)[1].doubles == len(again), "as many are said twice as are said to be"


def test_the_box_of_a_query_after_the_layers_before_is_shown_with_it():
    frames = shown(Boxes(scene=6, layer=3))[0]["panels"][0]["frames"]
    found = [frame["id"] for frame in frames if not frame["faint"] and frame["id"] >= 0]
    assert [frame["id"] for frame in frames if frame["faint"]] == [query for query in found for _ in range(2)]
    assert not [frame for frame in shown(Boxes(scene=6, layer=1))[0]["panels"][0]["frames"] if frame["faint"]]


def test_the_cursor_asks_in_the_encoder_until_a_place_is_clicked():
    of = Subject(no_model, no_picture(), point=(0.7, 0.6))
    assert shown(Boxes(scene=6, map=PLACE), of)[0]["chosen"] == 67
    assert shown(Boxes(scene=6, map=PLACE, place=5), of)[0]["chosen"] == 5
    drawn, said, blocks = shown(Boxes(scene=6, map=PLACE))
    assert said.startswith("Scene 6: the framed place lies on the dragonfly nymph, which gets "), "of the place shown"
    assert drawn["chosen"] not in dict(drawn["says"]), "said above the picture"
    assert lines(blocks).startswith("On average over 18 places on insects, their own insect gets ")


def test_the_cheapest_pair_first_costs_more_where_the_view_opens():
    drawn, said, blocks = shown(Queries())
    assert said.startswith(
        "Scene 335: the cheapest pair first costs 6.831 in all, the best assignment 6.663: there 4 midge larva gets "
        "query 12 (1.76) instead of 13 (1.45) and 5 water scorpion gets query 13 (1.67) instead of 14 (2.14)."
    )
    assert 335 in [each["scene"] for each in drawn["strip"]]
    assert "Query 12 for 4 midge larva costs 1.76: " in lines(blocks)
    assert 77 in [each["scene"] for each in shown(Boxes(scene=77))[0]["strip"]], "a typed one too"
    for panel in drawn["panels"]:  # those boxes alone that the two ways assign differently
        assert sum(frame["dashed"] for frame in panel["frames"]) == 2
    assert not [block for block in blocks if isinstance(block, Link)]
    chart, habits = (block.figure for block in blocks if isinstance(block, Chart))
    assert len(chart.layout.shapes) == 5 + 2  # the best pairs, and those that are others
    costs, *legend = chart.data
    assert costs.hovertemplate == "%{y}, %{x}: cost %{z:.2f}<extra></extra>"
    colours = {each.name: each.marker.color for each in legend}
    assert [*colours] == ["greedy, cheapest pair first", "Hungarian, least in all"]
    assert {*colours.values()} == {shape.line.color for shape in chart.layout.shapes}
    assert next(shape for shape in habits.layout.shapes if shape.line.width == 3).x0 == 12 % 4 - 0.5, "query 12"
    assert "Query 4 is matched with 4 dragonfly nymph" in lines(shown(Queries(scene=541))[2]), (
        "by Boxes query 5 finds it"
    )
    drawn, said, blocks = shown(Queries(scene=2))
    assert "Hungarian and greedy choose the same" in said
    assert [panel["title"][:28] for panel in drawn["panels"]] == ["Hungarian and greedy: cost 6"], "once"
    assert [block.view for block in blocks if isinstance(block, Link)] == [Queries()]


def test_no_model_runs_when_a_weight_moves(monkeypatch):
    before, *_ = shown(Queries(scene=2))
    monkeypatch.setattr(seen, "look", lambda *_, **__: pytest.fail("The model was asked."))
    after, *_ = shown(Queries(scene=2, overlap=0.0))
    assert after["panels"][0]["title"] != before["panels"][0]["title"]


def regions(drawn):
    return drawn["panels"][0]["regions"]


def test_masks_are_measured(monkeypatch):
    queries = shown(Boxes(scene=6))[0]["panels"][1]["heats"]["ids"]

    def truth(given, score):
        return Segments(given.truth.instances, given.truth.labels, np.array(queries))

    monkeypatch.setattr(boxes, "segments", truth)
    drawn, _, blocks = shown(Boxes(scene=6))
    assert "By masks 4 of 4 insects found" in lines(blocks)
    assert lines(blocks).endswith("panoptic quality 1.00 of 1.")
    (masks,) = regions(drawn)
    assert masks["ids"] == queries


def test_a_mask_has_the_colour_of_its_box_and_no_other_layer_has_masks():
    view = Boxes(scene=1)
    drawn, _, _ = shown(view)
    (masks,) = regions(drawn)
    frames = {
        frame["id"]: frame["colour"] for frame in drawn["panels"][0]["frames"] if frame["colour"] in (RIGHT, WRONG)
    }
    assert masks["ids"]
    assert masks["colours"] == [frames[query] for query in masks["ids"]]
    for other in (replace(view, masks=False), replace(view, layer=1), replace(view, self_attention=False)):
        drawn, _, blocks = shown(other)
        assert not regions(drawn)
        assert "By masks" not in lines(blocks)
        assert (NO_MASKS in lines(blocks)) == other.masks, "they do not vanish without a word"


def test_on_paper_the_chosen_mask_is_filled_more():
    instances = np.kron(np.array([[1, 0], [0, 2]], np.uint8), np.ones((8, 8), np.uint8))
    grey = np.full((16, 16, 3), 100, np.uint8)
    painted = Regions(instances, ("#ffffff", "#ffffff"), (7, 9)).over(grey, 7)
    assert painted[12, 4, 0] == 100 < painted[12, 12, 0] < painted[4, 4, 0] < painted[0, 7, 0] == 255


def test_where_there_are_no_masks_it_is_said_what_they_need(monkeypatch):
    monkeypatch.setattr(opening_masks, "has_masks", lambda source: False)
    drawn, _, blocks = shown(Boxes())
    assert "By masks" not in lines(blocks)
    assert not regions(drawn)
    assert any("detr-masks" in block.text for block in blocks if isinstance(block, Line))


def test_a_model_of_ones_own_is_asked_with_progress(tmp_path):
    from tests.models.detection.small import small_run

    of = Subject(no_model, no_picture())
    of.texts = {"mine": str(small_run(tmp_path / "run"))}
    _, later = Queries(detector="mine").show(of)
    assert isinstance(later, Later)
    assert [job.words for job in later.jobs] == ["Asking all queries of 100 scenes"]


@pytest.mark.parametrize("view", [Boxes(), Boxes(layer=1, head=2), Boxes(map=PLACE)])
def test_a_model_of_other_classes_is_held_to_no_truth(monkeypatch, view):
    model, _ = scene.opened(OF_SCENES, scene.BUNDLED)
    cats = replace(model, labels=("cat",) * len(model.labels))
    monkeypatch.setattr(scene, "opened", lambda of, name: (cats, ("cats", 0)))
    drawn, said, _ = shown(view)
    assert "found" not in said
    assert {each["mistakes"] for each in drawn["strip"] if each["scene"] != 4} == {None}, "there is nothing in scene 4"
    with pytest.raises(NotApplicable, match="has other classes than the insects of scene 335"):
        shown(Queries())


def test_insects_are_found_by_their_names_among_the_classes_of_a_model():
    drawn = scene.scene(OF_SCENES, 541, 160)
    turned = scene.known_to(samples.INSECTS[::-1], drawn)
    assert turned is not None
    assert (turned.labels == 11 - drawn.labels).all()


# ---- what they are of ------------------------------------------------------------------------------------------------
@pytest.mark.rest
def test_a_picture_is_shown_where_one_is_given_and_has_no_truth():
    scene, picture = vizkit.show("boxes"), vizkit.show("boxes", image="sample:china")
    assert (reads(scene.view), reads(picture.view)) == ("nothing", "picture")
    assert "insects found" in scene.said
    assert picture.said.startswith(DRAWN_ONLY), "what is most to be known of it stands first"
    assert "insects found" not in picture.said
    sent = shown(picture.view, picture.subjects[0])[0]
    drawn = sent["panels"][0]
    assert all("? " in word for word in words(drawn) if word), "a name that means nothing is no finding"
    says = r"The box gets [\d.]+ × the mean attention per pixel, against [\d.]+ × outside it. Query \d+, [a-z ]+: "
    assert all(re.match(says, said) for _, said in sent["says"]), "where it looked, and which box"
    assert drawn["title"] == "Orange: that of the maps"
    assert picture.numbers["picture"].shape == samples.picture("china").shape
    assert scene.meta["picture"] == ""
    with pytest.raises(NotApplicable, match="not known"):
        shown(Queries(source="picture"), picture.subjects[0])


def test_of_a_drawn_insect_of_the_sidebar_it_is_said_what_is_right():
    nymph = vizkit.show("boxes", image="sample:mayfly nymph")
    assert "The image mayfly nymph: 1 of 1 insect found, 1 box too many" in nymph.said
    assert lines(nymph.view.show(nymph.subjects[0])).startswith("By masks 0 of 1 insect found")


def test_every_colour_is_named_where_it_stands():
    title = shown(Boxes(scene=6, layer=1))[0]["panels"][0]["title"]
    assert title == "Blue: right, red: wrong, dashed: truth, orange: that of the maps", "whole on paper, too"


def test_the_page_opens_on_a_scene_with_something_to_learn_in_both_views():
    drawn, said, _ = shown(Boxes())
    assert said.startswith("Scene 541: 4 of 4 insects found, 1 box too many, said twice")
    things = Boxes().given(OF_SCENES).things.boxes_cxcywh
    apart = (things[:, None, :2] - things[:, :2]).abs() - (things[:, None, 2:] + things[:, 2:]) / 2
    assert apart.amax(-1).fill_diagonal_(1).min() > -0.05, "no knot of boxes"
    assert dict(drawn["says"])[drawn["chosen"]].startswith("The box dragonfly nymph of query 4 is too many: query 5")


@pytest.mark.parametrize(
    "query, layers",
    [
        (5, {1: "alderfly larva 21 %, below 0.50", 3: "alderfly larva 93.9 % · said twice"}),
        (-1, {1: "alderfly larva 21 %, below 0.50"}),
    ],
)
def test_the_chosen_query_stays_over_all_layers(query, layers):
    for layer, word in layers.items():
        drawn, _, _ = shown(Boxes(scene=335, query=query, layer=layer))
        assert drawn["chosen"] == 5
        assert [each["word"] for each in drawn["panels"][1]["frames"] if each["id"] == 5 and each["word"]] == [word]
        assert 5 in drawn["panels"][1]["heats"]["ids"]
        assert 5 in drawn["panels"][2]["heats"]["ids"]


def test_of_two_insects_of_a_kind_it_is_said_which_is_missed():
    assert "The mayfly nymph (1 of 2 from the left) is missed: query 2" in lines(shown(Boxes(scene=9))[2])


def test_the_true_boxes_are_those_of_the_scene():
    given = Boxes().given(OF_SCENES)
    sides = np.array([frame.box_xyxy for frame in given.true_frames()])
    assert np.allclose(sides * 160, given.truth.boxes_xyxy, atol=1e-3)


def test_on_paper_no_word_hides_another_and_that_of_the_chosen_box_is_there():
    from vizkit.figure.saved.panels import meet
    from vizkit.figure.saved.plate import Raster, Words

    canvas = next(block for block in Boxes(scene=9).show(OF_SCENES) if isinstance(block, Canvas))
    (paper,) = canvas.still
    marks, _ = paper.draw(452.0)
    grounds = [mark for mark in marks if isinstance(mark, Raster) and mark.rgb.shape == (1, 1, 3)]
    spots = [(mark.x, mark.y, mark.x + mark.width, mark.y + mark.height) for mark in grounds]
    named = [frame for frame in canvas.data["panels"][0]["frames"] if frame["word"]]
    chosen = next(frame["word"] for frame in named if frame["id"] == canvas.data["chosen"] and frame["colour"] == WRONG)
    assert chosen in [mark.text for mark in marks if isinstance(mark, Words)]
    assert 5 < len(spots) < len(named), "only those that can be read where they belong"
    drawn = [mark.text for mark in marks if isinstance(mark, Words)]
    insects = [each for each in named if each["colour"] in (WHITE, RIGHT)]
    assert all(each["word"] in drawn for each in insects), "every insect, missed or found"
    assert not [(one, other) for at, one in enumerate(spots) for other in spots[:at] if meet(one, other)]


def test_nobody_is_asked_how_an_image_is_matched_whose_truth_may_not_be_known():
    every = controls(Queries)
    for name in ("layer", "label", "distance", "overlap"):
        assert every[name].when(Queries())
        assert not every[name].when(Queries(source="picture"))


# ---- many scenes -----------------------------------------------------------------------------------------------------
def many(**settings):
    return next(block.data for block in flat(Detectors(**settings).show(OF_SCENES)) if isinstance(block, Canvas))


def test_of_many_scenes_the_first_mistake_is_chosen_and_a_colour_says_what_is_wrong():
    drawn = many()
    said, there = (panel["frames"] for panel in drawn["panels"])
    every = {frame["id"]: frame for frame in [*said, *there]}
    assert [*every] == [*range(len(said) + len(there))]
    assert every[drawn["chosen"]]["word"].endswith("% · badly placed")
    for frame in every.values():
        assert frame["colour"] == (WRONG if " · " in frame["word"] else RIGHT)
    assert many(box=2)["chosen"] == 2
    assert many(scene=9, box=999)["chosen"] == drawn["chosen"]


@pytest.mark.parametrize(
    "label, names",
    [(None, ["mean of all", "dragonfly nymph", "damselfly nymph"]), ("midge larva", ["mean of all", "midge larva"])],
)
def test_of_curves_that_coincide_the_outermost_are_drawn(label, names):
    charts = [block for block in flat(Detectors(label=label).show(OF_SCENES)) if isinstance(block, Chart)]
    assert [line.name for line in charts[-1].figure.data] == names
