"""A view over training: at each step what the model of then shows, on one scale; what is no run is left as it is."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import vizkit
from vizkit.datasets import samples
from vizkit.figure.canvas.tile_maps import Tile
from vizkit.figure.scales import OWN, SHARES, between
from vizkit.hosts.stage import leading, stage
from vizkit.traces import NotApplicable
from vizkit.views import bundled, class_of, content, meant
from vizkit.views.blocks import Canvas, Chart, Columns, Later, Line, Map, Part, Tiles
from vizkit.views.controls import ControlError
from vizkit.views.settled import flat
from vizkit.views.subject import Subject
from vizkit.views.train.after_step import FIELD, after, has_map, joined, keeper, on_one_scale, playing, steps, strip
from vizkit.work_folder import steps_in

RUN = bundled.RECORDED_FOLDER
KEPT = steps_in(RUN)
NAMES = ("explore", "rollout", "relevance", "position-similarity", "head-statistics", "pca")


@pytest.fixture(scope="module")
def of():
    loaded = vizkit.load(RUN)
    return Subject(lambda: loaded, samples.picture("digit 3"), image="digit 3")


def maps(blocks):
    """(scale, values) of each, in order."""
    for block in flat(blocks):
        if isinstance(block, Map):
            yield block.rows.scale, block.rows.values
        if isinstance(block, Tiles):
            yield from ((tile.scale, tile.values) for tile in block.maps)


def scales(blocks):
    return [scale for scale, _ in maps(blocks)]


@pytest.mark.parametrize("name", NAMES)
def test_each_step_is_the_model_of_then_on_one_scale(of, name):
    view = class_of(name)(after_step=64)
    given = [of] if view.together else of
    found = strip(view, given)
    assert list(found) == KEPT
    for step in (KEPT[0], 64, KEPT[-1]):
        loaded = vizkit.load(f"{RUN}@{step}")
        alone = Subject(lambda loaded=loaded: loaded, of.rgb, image=of.image)
        first, _ = playing(replace(view, after_step=None).content([alone] if view.together else alone))
        assert has_map(found[step])
        for (_, one), (_, other) in zip(maps(found[step]), maps(first), strict=True):
            assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    if name != "relevance":  # whose maps come in the order of their worth, signed or not
        assert len({str([(s.kind, s.low, s.top) for s in scales(blocks)]) for blocks in found.values()}) == 1


def test_what_is_saved_is_what_is_played(of):
    view = class_of("position-similarity")(after_step=KEPT[-1])
    book, turned, _ = leading(view, [of], "over image", 5_000_000)
    assert (book["field"]["name"], book["field"]["values"], book["field"]["value"]) == (FIELD, KEPT, KEPT[-1])
    assert None not in book["frames"]
    assert scales(turned) == scales(content(view, of)) == scales(strip(view, of)[KEPT[-1]])
    page = stage(view, [of])
    assert page["field"]["values"] == KEPT
    own = scales(content(replace(view, after_step=None), after(of, KEPT[-1])))
    assert [s.low for s in own] != [s.low for s in scales(turned)], "the first step would have another scale"


def test_a_later_step_is_the_last_that_was_kept_and_what_is_no_run_stays(of):
    shown = vizkit.show("rollout", of.open(), of.rgb, after_step=64)
    assert shown.meta["models"][0]["name"] == "digits_small@64"
    there = vizkit.show("rollout", vizkit.load(f"{RUN}@64"), of.rgb)
    assert_allclose(shown.numbers["by_layer"], there.numbers["by_layer"], atol=1e-6)
    assert meant(class_of("rollout")(after_step=70), of).open().name == "digits_small@64"
    assert meant(class_of("rollout")(after_step=0), of).open().step == KEPT[0]
    vit = vizkit.load("bundled:digits_vit")
    other = Subject(lambda: vit, of.rgb)
    assert steps(other) == []
    assert meant(class_of("rollout")(after_step=64), other) is other
    with pytest.raises(ControlError, match=r"No model here is a run that kept the weights of its steps\.$"):
        vizkit.show("rollout", vit, of.rgb, after_step=64)
    with pytest.raises(ControlError, match=r"digits_small has no checkpoint of step 70: the nearest are 64 and 99\.$"):
        vizkit.show("rollout", of.open(), of.rgb, after_step=70)


def test_a_step_stands_still_beside_its_run(of):
    early = vizkit.load(f"{RUN}@1")
    still = Subject(lambda: early, of.rgb)
    view = class_of("rollout")(after_step=990)
    assert meant(view, still).open().step == 990
    still.beside = (of,)
    assert meant(view, still) is still
    assert scales(strip(view, of)[1]) == scales(content(view, still))[: len(scales(strip(view, of)[1]))]
    assert keeper(view, of).open().step == 1


def test_linear_scales_reach_from_the_lowest_end_to_the_highest():
    assert joined(between(0, 1), between(-1, 0.5)) == between(-1, 1)
    assert joined(SHARES, SHARES) == SHARES
    assert joined(OWN, OWN) == OWN
    wide = replace(between(0, 1), full=(-3.0, 1.0))
    assert joined(wide, between(0, 2)).full == (-3.0, 2.0)
    assert joined(wide, between(-4, 2)).full is None
    packed = [[Canvas("vizkit_look", {"scale": between(0, top).packed(), "other": 1}, "")] for top in (1, 3)]
    assert [frame[0].data["scale"]["top"] for frame in on_one_scale(packed)] == [3, 3]
    assert on_one_scale(packed)[0][0].data["scale"]["ticks"][-1] == (1.0, "3")
    shares = [[Tiles("", (Tile("", np.eye(2), scale=replace(SHARES, equal=share)),), "")] for share in (0.1, 0.2)]
    assert [frame[0].maps[0].scale.equal for frame in on_one_scale(shares)] == [0.1, 0.2]


def test_what_takes_minutes_is_not_played():
    grid = Tiles("", (), "")
    chart, line = Chart(None, ""), Line("words")
    later = Later(None, (), lambda found: [grid])
    first, rest = playing([line, Columns(((grid, line), (chart,))), line])
    assert [type(each) for each in first] == [Line, Columns]
    assert [each.parts for each in rest if isinstance(each, Columns)] == [((chart,),)]
    assert not has_map(playing([line, later, grid])[0])
    assert has_map(playing([chart, Part(lambda: [later])])[0])

    def refuses():
        raise NotApplicable("no")

    assert not has_map(playing([Part(refuses), chart])[0])


def test_each_checkpoint_is_opened_once_and_nothing_is_computed_twice(of, monkeypatch):
    opened, own = [], vizkit.models.load
    monkeypatch.setattr(vizkit.models, "load", lambda source, **more: opened.append(source) or own(source, **more))
    view, fresh = class_of("rollout")(after_step=64), Subject(of.open, of.rgb)
    for step in (64, 990, 1):
        assert list(content(replace(view, after_step=step), fresh))
    assert sorted(opened) == sorted(f"{RUN}@{step}" for step in KEPT)
