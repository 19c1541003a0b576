"""Which weights learn and how, on a toy whose blocks can be counted; the learning rate at the edges of its formula."""

import pytest
import timm
import torch
from timm.optim import muon
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from vizkit.training import optimizing
from vizkit.training.optimizing import choose_trainable, head_names, optimizer_of, plateaus, rate, set_training
from vizkit.training.recipe import Recipe, RecipeError


class Toy(nn.Module):
    """A stem, twelve blocks, so that the tenth does not stand behind the first, and a head, or two."""

    def __init__(self, heads=1):
        super().__init__()
        self.stem, self.norm = nn.Linear(2, 2), nn.BatchNorm1d(2)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(2, 2), nn.Dropout(), nn.ReLU()) for _ in range(12))
        self.head, self.second = nn.Linear(2, 3), nn.Linear(2, 3)
        self.heads = heads

    def group_matcher(self, coarse):
        return {"all": ""} if coarse else {"stem": r"^(?:stem|norm)", "blocks": r"^blocks\.(\d+)"}

    def get_classifier(self):
        return (self.head, self.second) if self.heads == 2 else self.head


def learning(model):
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def weights_of(*names):
    return {f"{name}.{part}" for name in names for part in ("weight", "bias")}


@pytest.mark.parametrize(
    "blocks, names",
    [(0, []), (1, ["blocks.11.0"]), (3, ["blocks.9.0", "blocks.10.0", "blocks.11.0"])],
)
def test_so_many_of_the_last_blocks_learn_and_the_head(blocks, names):
    model = Toy(heads=2)
    choose_trainable(model, blocks)
    assert learning(model) == weights_of("head", "second", *names)
    choose_trainable(model, 0)
    assert learning(model) == head_names(model) == weights_of("head", "second")  # and it can be chosen again


@pytest.mark.parametrize("blocks", [13, 14, 99, -1])
def test_all_blocks_and_more_than_there_are_learn(blocks):
    model = Toy(heads=2)
    everything = learning(model)
    choose_trainable(model, blocks)
    assert learning(model) == everything


def test_a_model_that_does_not_name_its_blocks_learns_as_a_whole_or_its_head_alone():
    model = Toy()
    model.group_matcher = None  # type: ignore[method-assign]
    choose_trainable(model, -1)
    assert learning(model) == {name for name, _ in model.named_parameters()}
    with pytest.raises(RecipeError, match="does not name its blocks"):
        choose_trainable(model, 1)
    choose_trainable(model, 0)
    assert learning(model) == weights_of("head")


def test_only_modules_that_are_frozen_as_a_whole_stay_in_evaluation():
    model = Toy()
    choose_trainable(model, 1)
    model.eval()
    set_training(model)
    blocks = [f"blocks.{i}" for i in range(11)]
    asleep = {name for name, module in model.named_modules() if not module.training}
    frozen = {"stem", "norm", "second", *blocks, *(f"{name}.0" for name in blocks)}
    assert frozen <= asleep
    assert not asleep & {"", "blocks", "blocks.11", "blocks.11.0", "blocks.11.1", "head"}


@pytest.mark.parametrize("name", ["adamw", "adam", "sgd", "muon"])
def test_the_optimiser_gets_the_recipes_numbers_and_spares_what_should_not_decay(name, monkeypatch):
    monkeypatch.setattr(muon, "zeropower_via_newtonschulz", muon.zeropower_via_newtonschulz)
    model = timm.create_model("test_vit", num_classes=3)
    found = optimizer_of(model, Recipe(optimizer=name, lr=0.02, weight_decay=0.3, momentum=0.7))
    names = {id(parameter): each for each, parameter in model.named_parameters()}
    seen = set()
    for group in found.param_groups:
        assert group["lr"] == 0.02
        if name.startswith("adam"):
            assert tuple(group["betas"]) == (0.7, 0.999)
        else:
            assert group["momentum"] == 0.7
            assert group.get("betas") in (None, (0.9, 0.95))  # Muon's own, for what is no matrix
        for parameter in group["params"]:
            each = names[id(parameter)]
            seen.add(each)
            spared = parameter.ndim < 2 or each in ("pos_embed", "cls_token", "reg_token")
            assert group["weight_decay"] == (0 if spared else 0.3), each
    assert seen == set(names.values())


@pytest.mark.parametrize("device, exact", [("cpu", torch.float32), ("cuda", torch.bfloat16)])
def test_muon_works_in_the_precision_that_is_fast_where_the_weights_are(monkeypatch, device, exact):
    """Also on a CPU beside a GPU."""
    given = []
    monkeypatch.setattr(optimizing, "_ORTHOGONALISE", lambda gradient, dtype, **_: given.append(dtype) or gradient)
    monkeypatch.setattr(muon, "zeropower_via_newtonschulz", None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    optimizer_of(Toy(), Recipe(optimizer="adamw"))
    assert muon.zeropower_via_newtonschulz is None  # untouched for the others
    optimizer_of(Toy(), Recipe(optimizer="muon"))
    with FakeTensorMode():
        muon.zeropower_via_newtonschulz(torch.empty(2, 2, device=device), steps=5)
    assert given == [exact]


# ---- the learning rate -----------------------------------------------------------------------------------------------
def test_a_constant_rate_is_constant_after_its_warm_up():
    recipe = Recipe(epochs=4, lr=0.5, schedule="constant", warmup_epochs=1.0)
    assert [rate(recipe, step, 3, []) for step in range(12)] == pytest.approx([0.125, 0.25, 0.375] + [0.5] * 9)


def test_a_cosine_of_few_steps_by_hand():
    recipe = Recipe(epochs=1, lr=1.0, min_lr=0.0, warmup_epochs=0.25)
    assert rate(recipe, 0, 2, []) == pytest.approx(1 / 1.5)  # half a step of warm-up
    assert rate(recipe, 1, 2, []) == pytest.approx(0.75)  # half a step of one and a half: (1 + cos 60°) / 2
    assert rate(recipe, 7, 2, []) == 0  # it never climbs again


def test_a_plateau_ends_at_the_lowest_rate():
    recipe = Recipe(epochs=9, lr=1.0, min_lr=0.03, warmup_epochs=0.0, schedule="plateau", plateau_patience=1)
    assert [rate(recipe, 0, 1, [0.5] * count) for count in (0, 1, 2, 3, 9)] == pytest.approx([1, 1, 0.1, 0.03, 0.03])


def test_a_plateau_is_counted_from_the_best_before_it():
    assert plateaus([0.5, 0.4, 0.45, 0.3], 3) == 1  # better than the last is not better than the best
    assert plateaus([0.5, 0.4, 0.6, 0.5, 0.5], 3) == 0
    assert plateaus([0.0, 0.0], 1) == 1
