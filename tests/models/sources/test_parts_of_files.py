"""Files of several networks: never a mixture of two; the one that is meant is named, or a sentence asks for it."""

import pytest
import timm
import torch

import vizkit
from tests.drawn import seeded
from vizkit.models import ModelError
from vizkit.models.sources.hub import PartError
from vizkit.models.sources.weight_names import is_adapter, network_of, renamed

VIT = "test_vit"


def network(name=VIT, seed=0, **options):
    with seeded(seed):
        return timm.create_model(name, **options).eval()


def below(prefix, state):
    return {f"{prefix}.{name}": value for name, value in state.items()}


def opened(tmp_path, content, **options):
    torch.save(content, tmp_path / "file.pth")
    return vizkit.load(tmp_path / "file.pth", **{"architecture": VIT, **options})


def same(loaded, model):
    own, theirs = loaded.model.state_dict(), model.state_dict()
    assert own.keys() == theirs.keys()
    assert all(torch.equal(own[name], theirs[name]) for name in own)


FIRST, SECOND = network(seed=1), network(seed=2)
PAIRS = [("teacher", "student"), ("online_encoder", "target_encoder"), ("a.net", "b.net"), ("", "teacher")]


@pytest.mark.product("pair")
@pytest.mark.parametrize("wrapped", [lambda state: state, lambda state: {"state_dict": state, "epoch": 3}])
@pytest.mark.parametrize("pair", PAIRS)
def test_two_networks_are_never_mixed(tmp_path, pair, wrapped):
    both = {}
    for prefix, model in zip(pair, (FIRST, SECOND), strict=True):
        both |= below(prefix, model.state_dict()) if prefix else model.state_dict()
    with pytest.raises(PartError, match="several networks") as caught:
        opened(tmp_path, wrapped(both))
    assert caught.value.parts == [prefix.partition(".")[0] for prefix in pair]
    for prefix, model in zip(pair, (FIRST, SECOND), strict=True):
        loaded = opened(tmp_path, wrapped(both), part=prefix)
        same(loaded, model)
        assert (prefix or "without a prefix") in loaded.source
    with pytest.raises(PartError, match="no network 'other'"):
        opened(tmp_path, wrapped(both), part="other")


@pytest.mark.parametrize("state", [FIRST.state_dict(), {"mean": torch.zeros(2)}], ids=["one network", "none"])
def test_a_part_of_what_has_none_is_refused(tmp_path, state):
    with pytest.raises(ModelError, match="holds no network 'other': leave the part out"):
        opened(tmp_path, state, part="other")


@pytest.mark.parametrize(
    "content, said",
    [
        (below("model", FIRST.state_dict()) | below("ema_model", SECOND.state_dict()), "moving average"),
        (FIRST.state_dict() | below("ema.module", SECOND.state_dict()), "moving average"),
        ({"model": FIRST.state_dict(), "model_ema": SECOND.state_dict()}, "moving average"),
        (
            below("student", FIRST.state_dict())
            | below("teacher", SECOND.state_dict())
            | {"teacher.dino_head.w": torch.ones(2)},
            "teacher",
        ),
        ({"weights": SECOND.state_dict(), "optimizer": {"state": {0: {"exp_avg": torch.ones(64, 3, 16, 16)}}}}, ""),
    ],
)
def test_what_is_evaluated_where_that_is_known(tmp_path, content, said):
    loaded = opened(tmp_path, content)
    same(loaded, SECOND)
    assert said in loaded.source


def test_the_plain_model_beside_its_average(tmp_path):
    content = {"model": FIRST.state_dict(), "model_ema": SECOND.state_dict()}
    loaded = opened(tmp_path, content, part="model")
    same(loaded, FIRST)
    assert "model" in loaded.source


@pytest.mark.parametrize("nested", [True, False])
def test_the_student_of_a_distillation(tmp_path, nested):
    """Its teacher is another network, so the student is meant, by its architecture or by its name."""
    states = {"teacher": network("test_resnet").state_dict(), "student": FIRST.state_dict()}
    content = states if nested else below("teacher", states["teacher"]) | below("student", states["student"])
    loaded = opened(tmp_path, content)
    same(loaded, FIRST)
    assert "student" in loaded.source


def test_a_network_that_is_asked_for_by_name_may_be_the_smaller(tmp_path):
    deep = network(depth=4)
    content = below("teacher", deep.state_dict()) | below("student", FIRST.state_dict())
    same(opened(tmp_path, content), FIRST)  # both fit the architecture, and the teacher is no copy
    same(opened(tmp_path, content, part="teacher"), deep)


@pytest.mark.parametrize(
    "name",
    ["resnet18", "convnext_atto", "fastvit_t8", "xception41", "crossvit_tiny_240", "efficientnet_b0", "volo_d1_224"],
)
@pytest.mark.parametrize("channels", [3, 1])
def test_one_network_is_one_and_keeps_its_names(name, channels):
    """Beside a copy of itself it is two; of stems with branches, separable convolutions and numbers in numbers too."""
    with torch.device("meta"):
        state = timm.create_model(name, in_chans=channels).state_dict()
    assert network_of("file", state, None) == (state, "")
    assert set(renamed(state)) == set(state)
    assert not is_adapter(state)
    for prefix in ("", "student"):
        own = below(prefix, state) if prefix else state
        with pytest.raises(PartError) as caught:
            network_of("file", own | below("teacher", state), None)
        assert set(caught.value.parts) == {prefix, "teacher"}
        assert network_of("file", own | below("teacher", state), prefix)[0].keys() == state.keys()


def test_two_tensors_of_one_name_are_a_sentence():
    """Of networks without a convolution at their beginning nothing else tells."""
    names = ("backbone.head.weight", "model.head.weight", "cls_token")
    with pytest.raises(ModelError, match=r"head\.weight twice, as backbone\.head\.weight and model\.head\.weight"):
        renamed(dict.fromkeys(names, torch.ones(1)))


# ---- what shapes say, and what they do not ---------------------------------------------------------------------------
SHAPED = {  # options of the model → image size that is given, what is said, what is not
    "a wide patch": ({"patch_size": (16, 8), "img_size": 64}, None, "patch_size=(16, 8)", "stretched"),
    "a tall patch": ({"patch_size": (8, 16), "img_size": (32, 64)}, (32, 64), "patch_size=(8, 16)", "stretched"),
    "16 × 4 places": ({"img_size": (256, 64)}, (256, 64), "checkpoint", "stretched"),
    "40 × 10 places, as many as the architecture's": ({"img_size": (320, 80)}, (320, 80), "checkpoint", "stretched"),
    "3 × 5 and a class token, as many as 4 × 4": ({"img_size": (48, 80)}, (48, 80), "checkpoint", "no_embed_class"),
    "8 × 4 places": ({"img_size": (128, 64)}, (128, 64), "checkpoint", "stretched"),
}


@pytest.mark.parametrize("case", SHAPED)
def test_patches_and_places_that_are_no_squares(tmp_path, case):
    options, size_hw, said, unsaid = SHAPED[case]
    model = network(**options)
    loaded = opened(tmp_path, model.state_dict(), image_size=size_hw)
    same(loaded, model)
    assert said in loaded.source
    assert unsaid not in loaded.source
    pixels = torch.rand(1, 3, *model.patch_embed.img_size)
    assert torch.equal(loaded.model(pixels), model(pixels))


def test_what_shapes_leave_open_is_not_told_as_theirs(tmp_path):
    model = network(img_size=64, global_pool="max")
    loaded = opened(tmp_path, model.state_dict())
    says, _, supposed = loaded.source.partition("supposed, as no shape says it: ")
    assert "global_pool=avg" in supposed
    assert "a square image of 64×64" in supposed
    assert "avg" not in says
    given = opened(tmp_path, model.state_dict(), model_args={"global_pool": "max"})
    assert "as given: global_pool=max" in given.source
    pixels = torch.rand(1, 3, 64, 64)
    assert torch.equal(given.model(pixels), model(pixels))
