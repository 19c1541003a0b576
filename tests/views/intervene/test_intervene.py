"""The other views of the page Intervene: where they open, what they say, and their numbers."""

import numpy as np
import pytest
import torch

import vizkit
from tests.views.contract import counted, everything, model, subject
from vizkit.analysis.attention.head_atlas import HeadAtlas
from vizkit.analysis.attribution.smallest_set import Search
from vizkit.datasets import photographs, samples
from vizkit.percent import in_percent
from vizkit.views import meant
from vizkit.views.blocks import Chart, Columns, Folded, Later, Line, Link, Numbers, Picture, Proof, Said, Tiles
from vizkit.views.compare import similarity
from vizkit.views.compare.similarity import LayerSimilarity
from vizkit.views.intervene import heads as heads_view
from vizkit.views.intervene import heads_known
from vizkit.views.intervene.changed import answer_in_words
from vizkit.views.intervene.heads import Heads
from vizkit.views.intervene.lenses import CARRIED, Lenses
from vizkit.views.intervene.patching import Patching, head_map
from vizkit.views.intervene.smallest import Smallest
from vizkit.views.intervene.steer import FACTORS, Steer, classes, depth, usual_block
from vizkit.views.intervene.switches import Switches
from vizkit.views.relevance.deciding import DecidingParts
from vizkit.views.settled import flat
from vizkit.views.subject import Subject


def shown(view, of):
    return list(flat(view.show(of)))


def said(blocks):
    return " ".join(block.text for block in blocks if isinstance(block, Said | Line))


def numbers(blocks):
    (made,) = [block.make() for block in blocks if isinstance(block, Numbers)]
    return dict(made)


def chart(blocks, word):
    return next(block.figure for block in blocks if isinstance(block, Chart) and word in block.alt)


# ---- patching --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def patched():
    of = subject("digits_vit")
    return of, shown(Patching(how_corrupted="noise"), of)


def test_patching_opens_on_the_block_of_its_sentence_and_on_one_scale(patched):
    _, blocks = patched
    regions = numbers(blocks)["regions"]
    best = int(regions.reshape(len(regions), -1).max(1).argmax()) + 1
    tiles = next(block for block in blocks if isinstance(block, Tiles) and block.picks == "block")
    assert f"after block {best} restores the largest share" in said(blocks)
    assert tiles.chosen == best
    row, column = np.unravel_index(regions[best - 1].argmax(), regions.shape[1:])
    written = chart(blocks, "What each region").layout.annotations
    assert (column, row, in_percent(regions.max())) in {(each.x, each.y, each.text) for each in written}
    (scale,) = {tile.scale for tile in tiles.maps}
    top = np.percentile(np.abs(regions), 99)
    assert (scale.low, scale.top) == pytest.approx((-top, top))
    heat = chart(blocks, f"after block {best}; click").data[1]
    assert (heat.zmin, heat.zmax) == (scale.low, scale.top)


def test_the_class_token_alone_restores_all_after_the_last_block(patched):
    _, blocks = patched
    found = numbers(blocks)
    assert found["special"][-1, 0] == pytest.approx(1, abs=1e-4)
    assert int(found["heads_by_layer"].sum()) == len(found["heads"])


def test_a_region_opens_its_run_without_running_the_model(patched):
    of, _ = patched
    with counted(of) as calls:
        blocks = shown(Patching(how_corrupted="noise", block=2, region=10), of)
    assert not calls
    columns = numbers(blocks)["regions"].shape[2]
    row, column = divmod(9, columns)
    opened = chart(blocks, f"Row {row + 1}, column {column + 1} put in after block 2")
    assert [bars.name for bars in opened.data] == ["corrupted", "with the region", "clean"]


def test_another_picture_can_be_the_corrupted_one():
    blocks = shown(Patching(how_corrupted="another picture", other="digit 7"), subject("digits_vit"))
    assert any("Corrupted: another image, digit 7" in block.alt for block in blocks if isinstance(block, Picture))


# ---- steering --------------------------------------------------------------------------------------------------------
@pytest.mark.rest
def test_while_regions_are_put_in_a_rough_result_is_seen_and_others_do_not_wait_for_it():
    of = subject("digits_vit")
    (later,) = Patching(how_corrupted="noise").show(of)
    rough, exact = later.jobs
    assert (rough.rough, exact.rough) == (True, False)
    found = rough.work(lambda done, total: None)
    seen = list(flat(later.show({rough.key: found})))
    assert numbers(seen)["regions"].shape == (6, 4, 4)
    assert "restores the largest share" in said(seen)
    list(flat(later.now()))
    assert of.find(exact.key) is not None
    assert of.find(rough.key) is None


def test_every_layer_has_its_number_beside_what_its_heads_restore():
    assert head_map([np.zeros(6)] * 12).layout.yaxis.dtick == 1


def test_before_anything_is_added_steering_shows_the_answer_as_it_is_where_it_will_stand():
    of = subject("digits_vit")
    (later,) = Steer().show(of)
    blocks = list(flat(later.show({})))
    answers = of.loaded.head.values(of.seen.logits)
    first = chart(blocks, "answers against").data[0]
    assert first.y[FACTORS.index(0.0)] == pytest.approx(float(answers.max()))
    assert np.isnan(np.delete(np.array(first.y, float), FACTORS.index(0.0))).all()
    assert f"As it is, {of.loaded.label(int(answers.argmax()))}: " in said(blocks)
    assert [[tile.name for tile in block.maps] for block in blocks if isinstance(block, Tiles)] == [["λ = 0"]]


@pytest.mark.rest
def test_steering_opens_towards_the_runner_up_and_turns_the_answer():
    of = subject("insects_deit")
    second = of.loaded.label(int(of.seen.logits.argsort(descending=True)[1]))
    view = Steer()
    blocks = shown(view, of)
    assert view.name(of) == second
    assert f"no longer mayfly nymph but {second}" in said(blocks)
    found = numbers(blocks)
    at = {float(factor): logits for factor, logits in zip(found["factors"], found["logits"], strict=True)}
    assert of.loaded.label(int(at[view.factor].argmax())) == second
    assert at[0.0] == pytest.approx(of.seen.logits.numpy(), abs=1e-3)


def test_what_knows_photographs_is_steered_towards_another_one():
    loaded = vizkit.load("test_vit", pretrained=False, model_args={"num_classes": 0})
    of = Subject(lambda: loaded, samples.picture("cat"), image="cat").among_photographs()
    others = [name for name in photographs.NAMES if name != "cat"]
    assert classes([of]) == ["rocket", *(name for name in others if name != "rocket")], "the least alike first"
    assert Steer().name(of) == "rocket"
    assert Steer().after(of) == usual_block([of]) == round(5 / 6 * depth([of])), "near the end"
    assert Steer().after(subject("digits_vit")) == 4
    view = Steer(towards="flower", block=1)
    blocks = shown(view, of)
    assert "likeness to flower" in said(blocks)
    assert "logit" not in said(blocks)
    found = numbers(blocks)
    as_it_is = found["likeness"][list(found["factors"]).index(0.0)]
    assert as_it_is[0] == pytest.approx(1, abs=1e-4)
    own, flower = of.embedding, of.pictured("flower").embedding
    place = ["cat", *others].index("flower")
    assert as_it_is[place] == pytest.approx(float(torch.cosine_similarity(own, flower, dim=0)), abs=1e-4)


def test_every_view_of_an_image_asks_a_model_without_classes_for_photographs():
    loaded = vizkit.load("test_vit", pretrained=False, model_args={"num_classes": 0})
    of = Subject(lambda: loaded, samples.picture("cat"), image="cat")
    others = [name for name in photographs.NAMES if name != "cat"]
    for view in (Switches(), Smallest(), Patching(), Steer(), Lenses()):
        assert list(meant(view, of).loaded.labels[1:]) == others, type(view).__name__
    assert of.loaded.labels[1:] == (), "nobody else pays for them"
    nearest = meant(Switches(), of)
    (_, (other, value)) = nearest.loaded.head.top(nearest.seen.logits, 2)
    start = f"the nearest other image is {nearest.loaded.label(other)}, at a likeness of {value:.3f}."
    assert said(shown(Switches(), nearest)).endswith(start), "that to itself is 1 for every image"
    lines = [trace.name.strip() for trace in chart(shown(Lenses(), nearest), "after every layer").data if trace.name]
    assert sorted({*lines} & {*others}) == sorted({*lines} - {"attention", "MLP", "the rest", "sum so far", lines[0]})
    assert answer_in_words(nearest.loaded, nearest.seen.logits).endswith(
        f"; nearest other image: {nearest.loaded.label(other)}, {value:.3f}"
    )
    classified = subject("digits_vit")
    assert meant(Switches(), classified) is classified


# ---- the answer as a sum, and read off every layer -------------------------------------------------------------------
def test_a_logit_is_the_sum_of_its_parts_on_one_scale():
    of = subject("digits_vit")
    blocks = shown(Lenses(against="5", kind=CARRIED, layer=6), of)
    found = numbers(blocks)
    total = found["embedding"] + found["attention"].sum() + found["mlp"].sum() + found["bias"]
    assert total == pytest.approx(float(of.seen.logits[3] - of.seen.logits[5]), abs=1e-3)
    cells, others = (
        chart(shown(Lenses(against="5", kind=CARRIED, layer=at), of), "carry from each patch").data[1] for at in (6, 2)
    )
    assert cells.z == pytest.approx(found["places"][5])
    assert (cells.zmin, cells.zmax) == (others.zmin, others.zmax)
    assert "against 5" in said(blocks)


def test_the_sum_of_a_swin_begins_with_what_enters_its_last_stage_and_its_head_reads_no_layer():
    blocks = shown(Lenses(), subject("digits_swin"))
    figure = chart(blocks, "MLP and head of every layer")
    (so_far,) = [trace for trace in figure.data if trace.name == "sum so far"]
    assert list(so_far.x[:2]) == ["up to 2", "3"]
    assert list(figure.layout.xaxis.categoryarray) == list(so_far.x)
    marked = [chart(shown(Lenses(layer=at), subject("digits_swin")), "MLP and head").layout.shapes[0] for at in (1, 4)]
    assert [so_far.x[line.x0] for line in marked] == ["up to 2", "4"]
    assert "change their length from stage to stage" in said(blocks)
    assert any("carry from each patch" in block.alt for block in blocks if isinstance(block, Chart))


@pytest.mark.parametrize(
    "name, read", [("digits_vit", "the class token"), ("insects_deit", "the class and the distillation token")]
)
def test_the_answer_is_read_off_every_layer(name, read):
    of = subject(name)
    blocks = shown(Lenses(layer=3), of)
    assert f"Read off {read}, the answer" in said(blocks)
    assert "After layer 3, " in said(blocks)
    figure = chart(blocks, "after every layer")
    kinds = [trace.type for trace in figure.data]
    assert (kinds.count("bar"), kinds.count("heatmap")) == (3, 1)
    assert [name for name in figure.layout.xaxis.categoryarray][0::7] == ["embedding", "biases"]
    assert len({trace.yaxis for trace in figure.data}) == 3
    assert ("on the insect" in said(blocks).lower()) is (name == "insects_deit")
    first = {of.loaded.label(int(at)) for at in numbers(blocks)["logits_by_layer"].argmax(1)}
    drawn = {trace.name.strip() for trace in figure.data if trace.type == "scatter"}
    assert first <= drawn, "whoever is first after some layer has a line"
    assert numbers(blocks)["logits_by_layer"][-1] == pytest.approx(of.seen.logits.numpy(), abs=1e-3)
    assert any(block.words.startswith("after the last layer") for block in blocks if isinstance(block, Proof))


# ---- the smallest set ------------------------------------------------------------------------------------------------
@pytest.mark.product
@pytest.mark.parametrize("name, parts", [("digits_vit", "heads"), ("digits_cnn", "patches")])
def test_a_search_ends_in_a_picture_a_curve_and_a_sentence(name, parts):
    blocks = shown(Smallest(parts=parts, goal="flip"), subject(name))
    assert "and no longer 3" in said(blocks)
    assert len(chart(blocks, "by the number").data) == 2, "beside it what the answer becomes"
    found = numbers(blocks)
    assert len(found["probability"]) == len(found["order"]) + 1


def test_a_smaller_set_may_exist_only_of_more_than_one():
    of = subject("digits_cnn")
    one, two = Search("keep", (3,), (0.1, 0.6), True, 64, 9), Search("keep", (3, 5), (0.1, 0.3, 0.6), True, 64, 9)
    words = [said(list(flat(Smallest().drawn(of, found)))) for found in (one, two)]
    assert ["may exist" in each for each in words] == [False, True]
    assert "at 60 %, with all 64 at more than 99 %; without any it has 10 %" in words[0]


def test_of_a_large_model_regions_of_some_patches_are_taken_so_that_the_search_ends(monkeypatch):
    of = subject("digits_vit")
    assert Smallest().grid(of) == (8, 8)
    monkeypatch.setattr("vizkit.views.intervene.smallest.AT_ONCE", 0)
    monkeypatch.setattr("vizkit.views.intervene.smallest.COARSE", 4)
    (later,) = Smallest(goal="flip").show(of)
    assert isinstance(later, Later)
    assert not later.button, "it begins by itself"
    blocks = list(flat(later.now()))
    assert "of 16 regions" in said(blocks)
    assert numbers(blocks)["grid"].tolist() == [4, 4]


def test_what_was_taken_before_a_stop_is_shown():
    of = subject("digits_cnn")
    (later,) = Smallest(goal="flip").show(of)
    assert isinstance(later, Later)
    (job,) = later.jobs

    class Enough(Exception):  # noqa: N818
        pass

    def progress(done, total):
        if len(of.find((*job.key, "so far"))) == 2:
            raise Enough

    with pytest.raises(Enough):
        job.work(progress)
    blocks = list(later.show({}))
    assert "not enough yet" in said(blocks)
    assert any(isinstance(block, Columns) for block in blocks)


# ---- heads, similarity, deciding parts -------------------------------------------------------------------------------
def titled(name):
    """As a page names a bundled model."""
    of = subject(name)
    return Subject(lambda: of.loaded, of.original, image=of.image)


def test_heads_open_with_shipped_numbers_and_lead_to_switches():
    blocks = shown(Heads(), titled("insects_deit"))
    assert "matters most" in said(blocks)
    assert "200 test images of insects" in said(blocks)
    assert "heads can go" in said(blocks)
    assert sum(isinstance(block, Picture) for block in blocks) == 6
    (link,) = [block for block in blocks if isinstance(block, Link)]
    values, heads = numbers(blocks)["values"], numbers(blocks)["heads"]
    layer, head = heads[values.argmax()]
    assert link.view.changes == f"heads:{layer}.{head}=0"


def test_the_head_that_opens_is_that_of_the_sentence_and_what_may_be_chance_is_in_brackets():
    loaded = model("insects_vit")
    blocks = shown(Heads(), Subject(lambda: loaded, samples.picture("mayfly nymph"), image="mayfly nymph"))
    (link,) = [block for block in blocks if isinstance(block, Link)]
    layer, head = link.view.changes.removeprefix("heads:").removesuffix("=0").split(".")
    assert f"Only head {head} of layer {layer} certainly matters" in said(blocks)
    assert "23 of 24 heads cannot be told from no loss" in said(blocks)
    points = chart(blocks, "click a head").data[1]
    (sure,) = [name for name, text in zip(points.customdata, points.text, strict=True) if not text.startswith("(")]
    assert sure == f"{layer}.{head}"
    colours = chart(blocks, "click a head").data[0].z
    assert np.ravel(colours) == pytest.approx(numbers(blocks)["values"]), "a colour is the number, sure or not"
    veil = chart(blocks, "click a head").data[2].z
    assert np.argwhere(np.isnan(veil)).tolist() == [[int(layer) - 1, int(head) - 1]], "chance is pale"


def test_a_head_of_which_no_loss_is_known_is_seen_on_images_that_the_model_knows():
    of = subject("insects_deit")
    atlas = HeadAtlas(((0, 0), (0, 1)), "insects", 9, {}, {}, {})
    blocks = list(flat(Heads().examples(of, atlas, 1)))
    seen = [block.alt for block in blocks if isinstance(block, Picture)]
    assert seen == list(samples.INSECTS[:6])
    assert any("where the class token looks" in block.text for block in blocks if isinstance(block, Line))


def test_a_behaviour_and_a_head_that_are_chosen():
    blocks = shown(Heads(what="distance", head="4.2"), titled("insects_deit"))
    assert "How far it looks: the most in head" in said(blocks)
    assert any(block.view.changes == "heads:4.2=0" for block in blocks if isinstance(block, Link))
    assert "where the patch in the middle looks" in said(blocks), "the number is of patches, not of the class token"


def test_another_model_is_measured_when_it_is_asked_for():
    of = subject("stranger")
    *_, later = Heads().show(of)
    assert isinstance(later, Later)
    assert later.button == "Measure on 200 images"
    assert list(later.show({})) == []


def test_a_model_without_classes_loses_likeness(monkeypatch):
    monkeypatch.setattr(heads_known, "IMAGES", 2)
    monkeypatch.setattr("vizkit.evaluation.inside.heads.REFERENCES", 2)
    loaded = vizkit.load("test_vit", pretrained=False, model_args={"num_classes": 0})
    of = Subject(lambda: loaded, samples.picture("cat"), image="cat")
    assert heads_view.known([of])[0] == "distance"
    looks = said(shown(Heads(), of))
    assert "Mean of 2 photographs that come with vizkit" in looks, "not of drawn insects"
    assert "did not learn" not in looks
    (*_, later) = Heads(what="lost").show(of)
    assert isinstance(later, Later)
    later.jobs[0].work(lambda *_: None)
    blocks = list(flat(later.show({})))
    assert "without it the likeness to this image's own embedding falls from 1 by" in said(blocks)
    assert "heads can go" not in said(blocks)
    assert "nats" not in said(blocks)
    ((table,),) = [tuple(block.make()) for block in blocks if isinstance(block, Folded)]
    assert "mean lost" in table.rows[0]
    assert "mean flipped" not in table.rows[0]


def test_a_bundled_model_with_itself_and_with_another_one():
    of = titled("digits_vit")
    blocks = shown(LayerSimilarity(), of)
    assert "neighbouring layers of ViT · digits agree" in said(blocks)
    assert "256 test images of digits" in said(blocks)
    assert chart(blocks, "CKA").data[0].customdata[0][5] == ["blocks.0", "blocks.5"]
    values = numbers(blocks)["cka"]
    assert np.diagonal(values) == pytest.approx(1)
    other = shown(LayerSimilarity(other="Swin · digits"), of)
    assert "the most alike are layer" in said(other)
    assert chart(other, "CKA").data[0].customdata[0][5] == ["blocks.0", "layers.1.blocks.3"]
    of.beside = (titled("digits_swin"),)
    assert said(shown(LayerSimilarity(), of)) == said(other), "of two that are shown it opens on both"


def test_a_model_is_measured_on_images_that_it_knows_and_what_another_one_never_learned_is_said(
    monkeypatch,
):
    loaded = vizkit.load("test_vit", pretrained=False, model_args={"num_classes": 0})
    of = Subject(lambda: loaded, samples.picture("cat"), image="cat")
    monkeypatch.setattr(similarity, "IMAGES", 8)
    (later,) = LayerSimilarity().show(of)
    assert isinstance(later, Later)
    assert not later.button, "it begins by itself"
    assert "8 crops of the six photographs" in said(list(flat(later.now()))), "not drawn insects, which it never saw"
    of.beside = (titled("insects_deit"),)
    assert "photographs, which DeiT · insects never learned." in said(shown(LayerSimilarity(), of))
    assert "never learned" not in said(shown(LayerSimilarity(), titled("insects_deit")))


def test_deciding_parts_compare_drawing_by_drawing():
    of = subject("insects_deit")
    blocks = shown(DecidingParts(), [of])
    assert "models surely lose more by the deciding parts" in said(blocks)
    found = numbers(blocks)
    assert found["difference"] == pytest.approx(found["deciding"] - found["others"])
    alone = shown(DecidingParts("cased caddisfly larva"), [])
    assert "here of cased caddisfly larva alone" in said(alone)


def test_the_models_are_let_alone():
    """No view leaves its changes in the model."""
    before = model("digits_vit").model.state_dict()
    kept = {name: value.clone() for name, value in before.items()}
    list(everything(Patching().show(subject("digits_vit"))))
    assert all(torch.equal(value, kept[name]) for name, value in model("digits_vit").model.state_dict().items())
