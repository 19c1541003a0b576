"""Views of what is found: what is right and wrong, where it was looked for, and what they are of."""

import numpy as np
import pytest

import vizkit
from vizkit.datasets import samples
from vizkit.models.detection import opening_masks, seen
from vizkit.models.detection.segmenting import Segments
from vizkit.traces import NotApplicable
from vizkit.views import reads
from vizkit.views.blocks import Canvas, Chart, Later, Link, Said, Table
from vizkit.views.detection import segments
from vizkit.views.detection.boxes import Boxes
from vizkit.views.detection.classifier import BesideClassifier
from vizkit.views.detection.decoder import Decoder
from vizkit.views.detection.encoder import Encoder
from vizkit.views.detection.matching import Matching
from vizkit.views.detection.queries import Queries
from vizkit.views.detection.segments import SegmentMasks
from vizkit.views.subject import Subject, no_model, no_picture

OF_SCENES = Subject(no_model, no_picture())  # what one test has computed the next one finds


def shown(view, of=OF_SCENES):
    """(what its panels draw, what is said, all blocks)."""
    blocks = list(view.show(of))
    canvas = next((block.data for block in blocks if isinstance(block, Canvas)), {})
    return canvas, " ".join(block.text for block in blocks if isinstance(block, Said)), blocks


def words(panel) -> list[str]:
    return [frame["word"] for frame in panel["frames"]]


@pytest.mark.product(first=0)
def test_all_is_right_in_the_first_scene_and_its_true_answer_stands_beside_it():
    drawn, said, blocks = shown(Boxes())
    found, true, *_ = drawn["panels"]
    assert said == "Scene 6: 4 of 4 insects found, no box too many (score 0.50 or more)."
    assert sorted(word.rpartition(" ")[0] for word in words(found)) == sorted(words(true))
    (link,) = (block for block in blocks if isinstance(block, Link))
    assert "3 of 5 insects found" in shown(link.view)[1]


@pytest.mark.product(first=0)
def test_doubles_and_boxes_of_another_class_are_not_counted_as_found():
    drawn, said, _ = shown(Boxes(scene=1))
    assert said == "Scene 1: 3 of 5 insects found, 2 boxes too many, 1 of them said again (score 0.50 or more)."
    notes = [word.partition(" · ")[2] for word in words(drawn["panels"][0])]
    assert sorted(notes) == ["", "", "", "again", "too many"]


def test_every_box_has_its_map_and_one_is_chosen():
    least = shown(Boxes(scene=1, score=0.05))[0]["panels"][0]["frames"][-1]["id"]  # below the score of the others
    drawn, _, _ = shown(Boxes(scene=1, score=0.05, query=least, head=2, layer=1))
    found, _, crossed, relevant = drawn["panels"]
    ids = [frame["id"] for frame in found["frames"]]
    assert crossed["heats"]["ids"] == ids
    assert drawn["chosen"] == least
    assert least in relevant["heats"]["ids"]
    assert crossed["title"] == "Cross-attention, layer 1, head 2"
    assert [query for query, _ in drawn["says"]] <= ids


def test_nothing_found_is_a_sentence():
    drawn, said, _ = shown(Boxes(scene=4, score=0.95))
    assert said == "Scene 4: no insect to find, no box too many (score 0.95 or more)."
    assert drawn["chosen"] == -1
    for view in (BesideClassifier(scene=4), SegmentMasks(scene=4), Encoder(scene=4), Matching(scene=4)):
        assert shown(view)[1].startswith("Scene 4")


def test_queries_that_know_nothing_of_each_other_say_things_twice():
    _, said, _ = shown(Decoder())
    assert said.startswith(
        "Scene 6 after layer 3: 4 of 4 insects found, no box too many; where each query looks at itself alone: 4 of 4 "
        "insects found, 5 boxes too many, all said again."
    )
    assert "Over 1,000 scenes: 0.54 boxes of a scene" in said
    drawn, _, _ = shown(Decoder(layer=2, score=0.05))
    assert all(len(track["points"]) == 2 for panel in drawn["panels"] for track in panel["tracks"])


def test_the_cursor_asks_in_the_encoder_until_a_place_is_clicked():
    of = Subject(no_model, no_picture(), point=(0.7, 0.6))
    assert shown(Encoder(), of)[0]["chosen"] == 67
    assert shown(Encoder(place=5), of)[0]["chosen"] == 5
    drawn, said, _ = shown(Encoder())
    assert dict(drawn["says"])[drawn["chosen"]].startswith("The place lies on the dragonfly nymph")
    assert said.endswith("over 18 places.")


def test_the_cheapest_pair_first_costs_more_where_the_view_opens():
    _, said, blocks = shown(Matching())
    assert said == "Scene 335: the cheapest pair first costs 7.032 in all, the best assignment 6.611."
    assert not [block for block in blocks if isinstance(block, Link)]
    (chart,) = (block.figure for block in blocks if isinstance(block, Chart))
    assert len(chart.layout.shapes) == 5 + 2  # the best pairs, and those that are others
    _, said, blocks = shown(Matching(scene=2))
    assert "both choose the same" in said
    assert [block.view for block in blocks if isinstance(block, Link)] == [Matching()]


def test_no_model_runs_when_a_weight_moves(monkeypatch):
    before, *_ = shown(Matching(scene=2))
    monkeypatch.setattr(seen, "look", lambda *_, **__: pytest.fail("The model was asked."))
    after, *_ = shown(Matching(scene=2, overlap=0.0))
    assert after["panels"][0]["title"] != before["panels"][0]["title"]


def test_masks_are_measured(monkeypatch):
    def truth(given, score):
        return Segments(given.truth.instances, given.truth.labels)

    monkeypatch.setattr(segments, "segments", truth)
    drawn, said, blocks = shown(SegmentMasks(scene=2))
    assert "panoptic quality 1.00 of 1" in said
    (table,) = (block for block in blocks if isinstance(block, Table))
    assert all(row["thing"] == row["found as"] and row["IoU"] == "1.000" for row in table.rows)
    assert [frame["colour"] for frame in drawn["panels"][0]["frames"]] == [
        frame["colour"] for frame in drawn["panels"][1]["frames"]
    ]


def test_masks_say_what_they_need(monkeypatch):
    monkeypatch.setattr(opening_masks, "has_masks", lambda source: False)
    with pytest.raises(NotApplicable, match="detr-masks"):
        shown(SegmentMasks())


def test_classifiers_are_asked_for_one_class_of_the_scene():
    drawn, said, _ = shown(BesideClassifier(scene=2))
    assert [bool(panel["heats"]) for panel in drawn["panels"]] == [False, True, True]
    assert "of its relevance in its boxes" in said
    other, *_ = {frame["id"] for frame in drawn["panels"][0]["frames"]} - {drawn["chosen"]}
    blocks = list(BesideClassifier(scene=2).show(OF_SCENES))
    rule, field = next(block for block in blocks if isinstance(block, Canvas)).tells["pick"]
    assert shown(BesideClassifier(scene=2, **{field: rule(other)}))[0]["chosen"] == other


def test_a_model_of_ones_own_is_asked_with_progress(tmp_path):
    from tests.models.detection.small import small_run

    of = Subject(no_model, no_picture())
    of.texts = {"mine": str(small_run(tmp_path / "run"))}
    (later,) = Queries(detector="mine").show(of)
    assert isinstance(later, Later)
    assert [job.words for job in later.jobs] == ["Asking all queries of 100 scenes"]


# ---- what they are of ------------------------------------------------------------------------------------------------
@pytest.mark.product(first=0)
def test_a_picture_is_shown_where_one_is_given_and_has_no_truth():
    scene, picture = vizkit.show("boxes"), vizkit.show("boxes", image="sample:china")
    assert (reads(scene.view), reads(picture.view)) == ("nothing", "picture")
    assert "insects found" in scene.said
    assert "insects found" not in picture.said
    assert picture.numbers["picture"].shape == samples.picture("china").shape
    assert scene.meta["picture"] == ""
    with pytest.raises(NotApplicable, match="not known"):
        list(Matching(source="picture").show(picture.subjects[0]))


def test_the_true_boxes_are_those_of_the_scene():
    given = Boxes().given(OF_SCENES)
    assert given.truth is not None
    sides = np.array([frame.box_xyxy for frame in given.true_frames()])
    assert np.allclose(sides * 160, given.truth.boxes_xyxy, atol=1e-3)


def test_on_paper_no_word_hides_another():
    from vizkit.figure.saved.panels import meet
    from vizkit.figure.saved.plate import Raster

    (paper,) = next(block for block in Decoder().show(OF_SCENES) if isinstance(block, Canvas)).still
    marks, _ = paper.draw(452.0)
    grounds = [mark for mark in marks if isinstance(mark, Raster) and mark.rgb.shape == (1, 1, 3)]
    spots = [(mark.x, mark.y, mark.x + mark.width, mark.y + mark.height) for mark in grounds]
    assert len(spots) == 13
    assert not [(one, other) for at, one in enumerate(spots) for other in spots[:at] if meet(one, other)]
