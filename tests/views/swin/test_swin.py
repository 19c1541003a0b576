"""What the views of the Swin page show is what the model does: beside its own mask, weights and published counts."""

import base64
from functools import cache

import numpy as np
import pytest
import torch

import vizkit
from vizkit.analysis.attention.positions import pca_rgb
from vizkit.analysis.swin.merged_colours import turned_to
from vizkit.datasets import samples
from vizkit.figure.scales import SHARES
from vizkit.models.probes import attention_timing, window_parts
from vizkit.models.probes.attention_timing import Timed
from vizkit.report.item import Item, stem_of
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Canvas, Chart, Line, Map, Metrics, Numbers, Said, Table
from vizkit.views.settled import flat
from vizkit.views.subject import CENTRE, Subject
from vizkit.views.swin import cost
from vizkit.views.swin.beside import Beside
from vizkit.views.swin.cost import Cost
from vizkit.views.swin.merging import Merging
from vizkit.views.swin.reach import Reach
from vizkit.views.swin.shift import SMALL, Shift
from vizkit.views.swin.stages import Stages
from vizkit.views.swin.switched_off import OFF, SwitchedOff
from vizkit.views.swin.window import Window

TINY = "swin_tiny_patch4_window7_224"


@cache
def model(name: str, size_hw: tuple[int, int] | None = None):
    if name != TINY:
        return vizkit.load(f"bundled:{name}", device="cpu")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return vizkit.load(TINY, pretrained=False, device="cpu", image_size=size_hw)


def subject(name="insects_swin", image="mayfly nymph", at=CENTRE, size_hw=None) -> Subject:
    loaded = model(name, size_hw)
    return Subject(lambda: loaded, samples.picture(image), image=image, model=name, point=at)


def padded(at=CENTRE) -> Subject:
    """48 × 72 tokens, which windows of 7 do not divide."""
    return subject(TINY, "china", at, (192, 288))


def of_kind(blocks, kind):
    return [block for block in flat(blocks) if isinstance(block, kind)]


def words(blocks) -> str:
    return "\n".join(block.text for block in of_kind(blocks, Said | Line))


def numbers(view, of) -> dict[str, np.ndarray]:
    (found,) = of_kind(view.show(of), Numbers)
    return found.arrays()


def sent(view, of) -> dict:
    (canvas,) = of_kind(view.show(of), Canvas)
    return canvas.data


def integers(text: str, kind: str) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), kind).astype(np.int64))


# ---- shift -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("at", [(0.2, 0.2), (0.9, 0.2), (0.1, 0.9), (0.95, 0.95)])
def test_the_drawn_mask_regions_and_ids_are_the_models_own(at):
    of = subject(at=at)
    data, block = sent(Shift(), of), model("insects_swin").model.layers[0].blocks[1]  # pyright: ignore
    found = numbers(Shift(), of)
    assert torch.equal(torch.from_numpy(found["allowed"]), block.attn_mask[int(found["window"]) - 1] == 0)
    regions, ids = integers(data["regions"], "u1").view(14, 14), integers(data["ids"], "<i4").view(14, 14)
    assert torch.equal(ids, torch.arange(196).view(14, 14).roll((-3, -3), (0, 1)))
    windows = regions.view(2, 7, 2, 7).permute(0, 2, 1, 3).reshape(4, 49)
    assert torch.equal(windows[:, :, None] == windows[:, None], block.attn_mask == 0)
    assert data["token"] == int(at[1] * 14) * 14 + int(at[0] * 14)
    assert "the mask is the model's own attn_mask in all 4 windows" in words(Shift().show(of))


def test_the_drawn_weights_are_the_recorded_ones():
    of = subject(at=(0.95, 0.95))
    data = sent(Shift(block=4), of)
    layer = of.seen.attention[3]
    assert layer.name == "layers.0.blocks.3.attn"
    drawn = integers(data["weights"], "<u2").view(49, 49) * data["unit"]
    own = layer.weights[int(numbers(Shift(block=4), of)["window"]) - 1].mean(0)
    torch.testing.assert_close(drawn.float(), own, atol=2e-5, rtol=1e-4)


def test_before_any_click_the_last_window_is_shown_where_regions_meet():
    assert int(numbers(Shift(), subject())["window"]) == 4
    (table,) = of_kind(Shift().show(subject()), Table)
    assert "625 of 49² = 2,401 pairs may see each other: 26 %" in table.caption


def test_the_small_example_can_be_counted():
    view = Shift(example=SMALL)
    data = sent(view, subject())
    assert data["grid"] == (8, 8)
    assert data["numbers"]
    assert integers(data["ids"], "<i4").view(8, 8)[0].tolist() == [18, 19, 20, 21, 22, 23, 16, 17]
    assert "1/4 for each" in data["steps"][4][1]
    (table,) = of_kind(view.show(subject()), Table)
    assert "64 of 16² = 256 pairs may see each other: 25 %" in table.caption
    (table,) = of_kind(view.show(subject(at=(0.55, 0.55))), Table)  # token 37 lies in a window of one region
    assert "256 of 16² = 256 pairs may see each other: 100 %" in table.caption


def test_a_block_of_one_window_has_nothing_to_roll():
    blocks = list(Shift(block=5).show(subject("insects_swin")))
    assert (
        "7 × 7 tokens of 16 pixels · 128 channels · 4 heads · windows of 7 × 7 tokens · one window, no shift"
        in words(blocks)
    )
    assert "one window holds the whole grid" in sent(Shift(block=5), subject())["steps"][1][1]


@pytest.mark.product(first=0)
def test_padding_after_the_roll_is_told():
    """timm pads what it has rolled, and its mask misses the line where the edges of the image meet."""
    data = sent(Shift(), padded())
    assert data["size"] != data["grid"]
    assert "across the edges of the image" in words(Shift().show(padded()))
    assert "the mask is the model's own" in words(Shift().show(padded()))


# ---- stages, window, reach -------------------------------------------------------------------------------------------
def test_stages_tell_the_golden_shapes_of_swin_t():
    (table,) = of_kind(Stages().show(subject(TINY)), Table)
    assert [row["tokens"] for row in table.rows] == ["56 × 56 = 3,136", "28 × 28 = 784", "14 × 14 = 196", "7 × 7 = 49"]
    assert [row["channels"] for row in table.rows] == ["96", "192", "384", "768"]


def test_the_three_maps_of_a_window_have_one_scale_and_hatch_what_is_masked():
    blocks = list(Window(head=2).show(subject(at=(0.9, 0.9))))
    maps = of_kind(blocks, Map)
    assert {each.rows.scale for each in maps} == {SHARES}
    equal = maps[0].rows.scale_of(12 * 14 + 12).equal  # among the 49 places of the window, not the 196 of the image
    assert equal == pytest.approx(1 / 49, rel=1e-3)
    assert maps[0].rows.key_regions is not None
    assert "row 13, column 13 · window 4 of 4 · 33 of 49 keys masked, hatched" in words(blocks)
    assert "content + bias + mask are exactly the scores" in words(blocks)
    assert "Head 2;" in words(blocks)
    assert "Windows of" not in words(blocks)


def test_the_weights_are_the_softmax_of_the_scores():
    view, of = Window(), subject(at=(0.9, 0.9))
    found = numbers(view, of)
    reached = found["weights"] > 0
    assert 1 < reached.sum() < reached.size
    powers = np.exp(found["content"] + found["bias"]) * reached
    assert powers / powers.sum() == pytest.approx(found["weights"], abs=1e-6)
    assert "Head 1; its weights are the softmax of these scores." in words(view.show(of))


@pytest.mark.product(first=0)
def test_a_window_of_a_padded_grid_says_what_padding_takes():
    said = words(Window(block=3).show(padded((0.4, 0.02))))
    assert "do not divide 24 × 36 tokens, so 4 rows and 6 columns of zeros are added" in said


def test_another_head_runs_no_model(monkeypatch: pytest.MonkeyPatch):
    of = subject()
    list(flat(Window().show(of)))
    monkeypatch.setattr(window_parts, "watched", None)
    list(flat(Window(head=2).show(of)))


@pytest.mark.product(first=0)
def test_reach_grows_to_the_whole_image():
    of = subject(at=(0.3, 0.9))
    assert "after block 3, but" in words(Reach().show(of))
    assert "row 7, column 3 of the last stage's 7 × 7." in words(Reach().show(of))
    shares = numbers(Reach(), of)["can_reach"]
    assert shares[0] < shares[2] == 1
    assert "after block 1 of 6 it is still 4 tokens of stage 1" in words(Reach(block=1).show(of))
    assert "opposite edges" not in words(Reach().show(of))
    assert "opposite edges" in words(Reach().show(padded()))


def test_before_any_click_reach_grows_in_steps():
    """The first token's field is a window, half the image, all of it: in the middle it would be everything at once."""
    assert numbers(Reach(), subject())["can_reach"].tolist() == [0.25, 0.5, 1, 1, 1, 1]


# ---- merging ---------------------------------------------------------------------------------------------------------
def test_merging_of_every_stage_but_the_last():
    of = subject(at=(0.3, 0.9))
    assert "the model's own layer gives exactly the same" in words(Merging().show(of))
    assert "14 × 14 tokens of 64 numbers · length of the vectors, one scale" in words(
        Merging(colours="lengths").show(of)
    )
    assert Merging(stage="3").title(subject(TINY)) == "Patch merging after stage 3"
    assert Merging(stage="4").title(subject(TINY)) == "Patch merging after stage 1"  # nothing is merged after the last


def test_colours_are_turned_to_match_and_no_further():
    """Wanted are a table's own colours, one channel in the place of another and one turned round: a rotation gives them
    exactly. What no rotation gives stays as far apart as it is."""
    table = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(2))
    own = pca_rgb(table).rgb
    wanted = torch.stack([1 - own[..., 2], own[..., 0], own[..., 1]], -1)
    torch.testing.assert_close(turned_to(wanted, table).rgb, wanted)
    grey = turned_to(torch.full((3, 4, 3), 0.5), table).rgb
    assert grey.std() > 0.1


# ---- cost ------------------------------------------------------------------------------------------------------------
def values(blocks) -> dict[str, str]:
    return {what: number for block in of_kind(blocks, Metrics) for what, number, _ in block.items}


def test_cost_of_swin_t_is_the_published_one():
    of = subject(TINY)
    found = values(Cost().show(of))
    (whole,) = of_kind(Cost().show(of), Table)
    assert whole.rows[0]["multiply–adds"] == "4.49 G"
    assert found["Multiply–adds, global"] == "2.00 G"
    assert values(Cost(window="24").show(of))["Attention weights, windows"] == "20.7 MiB"  # 3 · 3,136 · 24² · 4 bytes
    last = values(Cost(stage="4").show(of))
    assert last["Tokens"] == "49"
    assert last["Multiply–adds, windows"] == last["Multiply–adds, global"]  # the grid is one window
    assert values(Cost(times=2).show(of))["Tokens"] == "12,544"


def test_other_hosts_measure_nothing_and_show_what_was_measured(monkeypatch: pytest.MonkeyPatch):
    def measured(*_: object) -> None:
        raise AssertionError("measured without being asked")

    monkeypatch.setattr(cost, "time_layer", measured)
    of = subject()
    assert "Not this model: 96 channels" in words(Cost().show(of))
    layer = attention_timing.Layer(8, 64, 2)  # the first stage of the bundled Swin
    for size, seconds in ((640, 0.1), (768, 0.2)):
        of.kept(("attention time", layer, size, 7), lambda size=size, s=seconds: Timed(size, (size // 8) ** 2, 7, s))
    assert f"64 channels, 2 heads, tokens of 8 pixels; {attention_timing.machine()}" in words(Cost().show(of))
    assert "Not this model" not in words(Cost().show(of))


def test_measuring_can_be_stopped_and_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cost, "MEASURED_PX", (224, 320))
    monkeypatch.setattr(cost, "time_layer", lambda layer, size, window, device: Timed(size, size, window, 1.0))
    of, layer = subject(), attention_timing.Layer(32, 8, 1)

    class StoppedError(Exception):
        pass

    def stop_after_two(done: int, total: int) -> None:
        if done == 2:
            raise StoppedError

    (job,) = cost.measuring(of, layer, 4).jobs
    with pytest.raises(StoppedError):
        job.work(stop_after_two)

    def there() -> list[bool]:
        return [of.find(("attention time", layer, size, side)) is not None for size in (224, 320) for side in (4, None)]

    assert there() == [True, True, False, False]
    monkeypatch.setattr(cost, "PATIENCE_S", 0.0)
    job.work(lambda done, total: None)
    assert there() == [True, True, True, False]  # global attention at 320 would take too long


# ---- beside a ViT, switched off --------------------------------------------------------------------------------------
@pytest.mark.product(first=0)
@pytest.mark.parametrize(("way", "vit"), [("rollout", "insects_vit"), ("last layer", "digits_vit")])
def test_a_swin_beside_a_vit(way, vit):
    both = [subject(), subject(vit)]
    blocks = list(Beside(way=way).show(both))
    maps = of_kind(blocks, Map)
    assert len(maps) == len(of_kind(blocks, Chart)) == 2
    assert {each.rows.scale for each in maps} == {SHARES}
    assert "Left out of the picture: [cls]" in maps[1].said
    titles = [each.figure.layout.yaxis.title.text for each in of_kind(blocks, Chart)]
    assert titles[0] == "pixels of a 112 × 112 input"
    with pytest.raises(NotApplicable, match="choose a ViT too"):
        list(Beside().show(both[:1]))


@pytest.mark.product(first=0)
def test_switching_off_changes_what_is_shown_and_nothing_else():
    of = subject()
    found = {off: numbers(SwitchedOff(off=off), of) for off in ((), ("shift",), ("relative bias",))}
    apart = {off: np.abs(each["rollout_as_it_is"] - each["rollout_changed"]).sum() for off, each in found.items()}
    assert apart[()] == 0
    assert 0 < apart[("shift",)] != apart[("relative bias",)] > 0
    assert all((each["logits_as_it_is"] == found[()]["logits_as_it_is"]).all() for each in found.values())
    said = words(SwitchedOff().show(of))
    assert "Without shift the answer is right for 4 instead of 10 of 12 images of known class. On this image" in said
    assert {each.rows.scale for each in of_kind(SwitchedOff().show(of), Map)} == {SHARES}


def test_a_file_says_what_is_off():
    of = subject()
    names = [stem_of(Item(SwitchedOff(off=off), "", "", ""), of) for off in ((), ("relative bias",), OFF)]
    assert names == [
        "swin-switched-off_off-nothing",
        "swin-switched-off_off-relative_bias",
        "swin-switched-off_off-shift-relative_bias",
    ]


@pytest.mark.product(first=0)
def test_what_is_masked_is_said_to_be_hatched_and_nothing_else_is():
    assert "hatched" not in words(SwitchedOff().show(subject()))
    said = words(SwitchedOff().show(subject(at=(0.95, 0.95))))
    assert "33 of its 49 places are masked for it, hatched" in said  # its region has 4 × 4
