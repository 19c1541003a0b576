"""The walk-through: its script is sent the model's own numbers, from which the trace's weights come out again, and its
words and slides say the same ones."""

import base64
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import vizkit
from tests.analysis.test_walkthrough import LOADERS
from tests.views.contract import model, subject
from vizkit.analysis.attention.attention_map import attention_map, find_query, layers, most_attended
from vizkit.analysis.attention.contrast import attended, clearest
from vizkit.figure.saved.plate import Overlay, Words
from vizkit.figure.saved.single import WIDTH, Captions
from vizkit.geometry import id_at, name_of
from vizkit.hosts.paper import plate
from vizkit.hosts.slides import slides
from vizkit.models import families
from vizkit.models.probes.parts import attention_parts
from vizkit.traces import NotApplicable
from vizkit.views.attention.walk_row import Row, differences, for_browser, head_of
from vizkit.views.attention.walk_steps import COUNT, sentence, steps, symbols
from vizkit.views.attention.walkthrough import SOFTMAX, WalkThrough, strongest
from vizkit.views.blocks import Canvas, Heading, Line, Proof, Said
from vizkit.views.settled import flat
from vizkit.views.subject import Subject


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def numbers(content, name):
    return np.frombuffer(base64.b64decode(content[name]), "<f4").astype(float)


def weights_of(content):
    """(the weights, the output of the head), as the browser computes them."""
    query, keys = numbers(content, "query"), np.frombuffer(base64.b64decode(content["key_ids"]), "<i4")
    scores = numbers(content, "key").reshape(len(keys), -1) @ query * content["scale"]
    powers = np.exp(scores + (numbers(content, "bias") if content["bias"] else 0))
    weights = powers / powers.sum()
    return weights, weights @ numbers(content, "value").reshape(len(keys), -1)


def case(which, window=0):
    loaded = LOADERS[which]()
    pixels = torch.randn(1, 3, *loaded.preprocessing.size_hw)
    trace = families.trace(loaded, pixels)
    return attention_parts(loaded, pixels, 1, window=window), layers(trace)[1]


@pytest.mark.product
@pytest.mark.parametrize("which", ["vit", "deit", "dinov2", "swin", "swin v2"])
def test_the_script_gets_the_traces_numbers(which):
    parts, recorded = case(which, window=1)
    position, head = int((parts.query_ids >= 0).nonzero()[-1]), parts.weights.shape[0] - 1
    row = Row(parts, head_of(parts, head), position, 1)
    content = for_browser(row)
    weights, mixed = weights_of(content)
    assert_allclose(weights, recorded.weights[parts.window, head, position], atol=1e-6)
    assert_allclose(weights, numbers(content, "weights"), atol=1e-6)
    assert_allclose(weights, row.weights, atol=1e-6)
    assert_allclose(mixed, numbers(content, "mixed"), atol=1e-5)
    joined, width = numbers(content, "joined"), len(mixed)
    assert_allclose(joined[head * width : (head + 1) * width], mixed, atol=1e-5)
    assert_allclose(
        joined @ parts.out_weight.T.numpy() + parts.out_bias.numpy(), numbers(content, "projected"), atol=1e-5
    )
    assert_allclose(numbers(content, "before") + numbers(content, "branch"), numbers(content, "after"), atol=1e-5)
    assert row.past == ("x" if which == "swin v2" else "h")  # the only one that gets the vectors as they go past
    assert bool(row.between) == (which in ("dinov2", "swin v2"))  # a layer scale; a norm after the layer
    assert parts.stream is not None
    for name, branch in (
        ("scaled", parts.projected * torch.linspace(0.5, 2, parts.projected.shape[-1])),
        ("normalised", torch.nn.functional.layer_norm(parts.projected, parts.projected.shape[-1:])),
    ):
        other = replace(parts, stream=replace(parts.stream, branch=branch))
        assert replace(row, parts=other).between == name
    assert largest(differences(recorded, row)) < 1e-5


def largest(off):
    return max(each for each in off if each is not None)


def test_wrong_numbers_are_found():
    parts, recorded = case("vit")
    right = Row(parts, head_of(parts, 0), 3, 1)
    wrong = replace(parts, query=parts.query * 1.5), replace(parts, projected=parts.projected * 1.5)
    off = [largest(differences(recorded, replace(right, parts=each))) for each in wrong]
    assert min(off) > 1e-3 > largest(differences(recorded, right))


def test_an_experiment_ends_at_its_head():
    parts, _ = case("swin", window=4)
    unscaled, single = (Row(parts, head_of(parts, 1, kind), 0, 1) for kind in ("unscaled", "single"))
    for row in (unscaled, single):
        content = for_browser(row)
        assert not {"joined", "projected", "after"} & content.keys()
        weights, mixed = weights_of(content)
        assert_allclose(weights, numbers(content, "weights"), atol=1e-6)
        assert_allclose(mixed, numbers(content, "mixed"), atol=1e-5)
        assert [bool(step.skip) for step in steps(row)][-3:] == [True] * 3
    assert for_browser(unscaled)["scale"] == 1
    assert (len(unscaled.head.query[0]), len(single.head.query[0])) == (11, 22)


def test_the_words_are_those_of_these_numbers():
    """One channel: q = 2, keys 3, 1 and zeros, a bias of 1 and −100, so e⁴ ÷ (e⁴ + 14) = 80 % for the first key."""
    parts, _ = case("vit")
    queries, keys = parts.weights.shape[1:]
    key, bias = torch.zeros(keys, 1), torch.zeros(queries, keys)
    key[0], key[1], bias[:, 0], bias[:, 1] = 3, 1, 1, -100
    head = replace(head_of(parts, 0), query=torch.full((queries, 1), 2.0), key=key, scale=0.5, bias=bias)
    row = Row(parts, head, 5, 0)
    said = [sentence(row, step, 0) for step in steps(row)[2:7]]
    assert keys == 16
    assert said[0].endswith("add up to the score 6.000.")
    assert said[1] == "This head multiplies all scores by its own number, 0.500: 6.000 becomes 3.000."
    assert said[2].startswith("For this pair the position adds 1.000: 3.000 becomes 4.000. 1 of 16 keys are masked")
    assert said[3].endswith("this key gets 80 %, rank 1.")
    assert sentence(row, steps(row)[4], 1).startswith("This key is masked, so that its weight becomes 0.")
    assert symbols(row, 0) == ("q · k = 6.000 → × 0.500 = 3.000 → + b = 4.000 → exp(s − max) = 1.000, ÷ Σ 1.256 = 80 %")
    assert Row(parts, head, 0, 0).place_of(0) == 2  # not itself, and the second is masked
    assert (row.place_of(0), row.place_of(4), row.place_of(99)) == (0, 3, 0)


def of_blocks(view, of, kind):
    return [block for block in flat(view.show(of)) if isinstance(block, kind)]


@pytest.mark.parametrize("name", ["digits_vit", "digits_swin", "insects_deit"])
def test_it_opens_on_the_softmax_of_the_clearest_map(name):
    of = subject(name)
    grid = of.layers[0].key.grid
    assert grid is not None
    on = of.covered(grid)
    on = attended(of.whole()) if on is None else on
    assert on is not None
    start = clearest(of.whole(), on)
    (canvas, *_) = of_blocks(WalkThrough(), of, Canvas)
    recorded = of.layers[start.layer - 1]
    query = name_of(recorded.query, find_query(recorded, start.query)[0])
    assert canvas.data["at"] == (SOFTMAX, 0)
    assert (canvas.data["layer"], canvas.data["head"], canvas.data["query_name"]) == (
        start.layer - 1,
        start.head - 1,
        query,
    )
    other = of_blocks(WalkThrough(query="patch"), of, Canvas)[0].data  # another patch, in the same layer and head
    assert (other["layer"], other["head"]) == (start.layer - 1, start.head - 1)
    assert other["query_name"] != query


@pytest.mark.parametrize("name", ["digits_vit", "digits_swin", "insects_deit"])
def test_most_attended_is_what_the_last_layer_attends_to(name):
    of = subject(name)
    (canvas, *_) = of_blocks(WalkThrough(head="strongest", query="most attended"), of, Canvas)
    last = of.layers[-1]
    token = id_at(last.query, most_attended(of.whole()) or (0, 0)) or 0
    assert canvas.data["query_name"] == name_of(last.query, token)
    special = last.query.special
    if special:
        rows = attention_map(last, special[0]).places
        assert token == len(special) + int(rows.argmax())
    (proof,) = of_blocks(WalkThrough(), of, Proof)
    assert proof.holds
    assert "the weights are those of the trace to within" in proof.words


def test_the_strongest_head_is_the_brightest_of_the_maps_that_are_shown():
    """A patch's own weight is on its map, that of the class token is not."""
    parts, _ = case("vit")
    weights = torch.zeros_like(parts.weights[:2])
    position = 3
    weights[0, position, position + 1], weights[1, position, position] = 0.3, 0.4
    weights[0, position, 0] = 0.7
    assert strongest(replace(parts, weights=weights), position) == 1
    of = subject("digits_vit")
    heads = of_blocks(WalkThrough(head="strongest"), of, Canvas)[1].data
    assert heads["head"] == int(np.argmax(heads["layers"][heads["layer"]]["tops"]))


def test_steps_and_keys_are_what_was_set():
    of = subject("digits_vit")
    (canvas, *_) = of_blocks(WalkThrough(step=6, key=12, head="2", query=(0, 3)), of, Canvas)
    assert (canvas.data["at"], canvas.data["head"], canvas.data["query_name"]) == ((6, 12), 1, "row 1, column 4")
    heading, said, line = canvas.still[:3]
    assert isinstance(heading, Heading)
    assert isinstance(said, Said)
    assert heading.text == "Step 6 of 10, Softmax: w = exp(s) ÷ Σ exp(s)"
    assert isinstance(line, Line)
    assert line.text.startswith("q · k = ")
    assert any(isinstance(block, Line) and "experiment" in block.text for block in WalkThrough(unscaled=True).show(of))


def test_a_slide_lies():
    """The numbers stand at the right of the picture; other sheets are one column."""
    of = subject("digits_vit")
    slide = plate(slides(WalkThrough(), [of])[1], [of], Captions("", [], [], {}))
    (chart,) = (mark for mark in slide.marks if isinstance(mark, Words) and mark.text == "channel")
    (photo,) = (mark for mark in slide.marks if isinstance(mark, Overlay) and mark.marked)
    assert slide.width == 2 * WIDTH
    assert chart.x > photo.x + photo.width


@pytest.mark.rest
def test_ten_slides(tmp_path):
    shown = vizkit.show("walk-through", model("digits_swin"), "sample:digit 3")
    shown.save(tmp_path / "slides.zip")
    with zipfile.ZipFile(tmp_path / "slides.zip") as archive:
        names = archive.namelist()
        pictures = {archive.read(name) for name in names}
    assert len(names) == len(pictures) == 2 * COUNT
    assert names[:2] == ["slide_01.png", "slide_01.svg"]
    with pytest.raises(ValueError, match="Statistics has no steps that could be slides: save a figure"):
        vizkit.show("head-statistics", model("digits_swin"), "sample:digit 3").save(tmp_path / "none.zip")


def test_a_changed_layer_is_not_taken_apart():
    of = Subject(lambda: model("digits_vit"), subject("digits_vit").rgb, ["heads:3.2=0"])
    with pytest.raises(NotApplicable, match="without changes of its attention"):
        list(WalkThrough().show(of))
