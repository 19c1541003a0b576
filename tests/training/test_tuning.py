"""Fine-tuning: what a trained model keeps, what becomes new, and that it helps."""

from dataclasses import replace

import numpy as np
import pytest
import timm.data
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn
from torch.testing import assert_close

import vizkit
from tests.training.test_training import followed
from vizkit.datasets.opening import open_set
from vizkit.evaluation import paired
from vizkit.image import Preprocessing, prepare_all
from vizkit.training import tuning
from vizkit.training.architectures import build
from vizkit.training.optimizing import choose_trainable
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs import saving
from vizkit.training.runs.folder import RunFolder

OTHERS = ("ant", "bee", "wasp")
QUICK = {"epochs": 1, "batch": 32, "flip": 0.0, "warmup_epochs": 0.0}


@pytest.fixture(scope="module")
def turned(tmp_path_factory):
    """Digits a quarter turned, as many classes as upright ones."""
    folder = tmp_path_factory.mktemp("data")
    digits = open_set("digits", "train", images=300)
    for index, (rgb, digit) in enumerate(digits):
        place = folder / f"turned {digit}"
        place.mkdir(exist_ok=True)
        Image.fromarray(np.rot90(rgb).copy()).save(place / f"{index}.png")
    return str(folder)


# ---- before the first step -------------------------------------------------------------------------------------------
@pytest.mark.product
@pytest.mark.parametrize("name", sorted(vizkit.models.bundled_names()))
def test_before_the_first_step_the_body_is_that_of_the_opened_model_to_the_bit(name):
    source = f"bundled:{name}"
    own = vizkit.load(source)
    needs = own.preprocessing
    pixels = torch.rand(2, needs.channels, *needs.size_hw)
    as_many = tuple(f"other {label}" for label in own.labels)
    some = own.labels[4:1:-1]
    for labels in filter(None, (OTHERS, as_many, own.labels, some)):  # of a model without classes others alone
        begun = build(Recipe(model=source), labels).eval()
        assert torch.equal(begun.forward_features(pixels), own.model.forward_features(pixels))
        assert Preprocessing.from_config(timm.data.resolve_model_data_config(begun)) == needs
        answers = begun(pixels)
        assert answers.shape == (2, len(labels))
        rows = tuning.head_rows(own.labels, labels)
        assert rows == {own.labels: [*range(len(own.labels))], some: [4, 3, 2]}.get(labels)
        if rows is None:
            assert labels == OTHERS or not torch.equal(answers, own.model(pixels))
        else:
            assert_close(answers, own.model(pixels)[:, rows])
        assert all(parameter.requires_grad for parameter in begun.parameters())


def test_a_file_of_weights_begins_as_it_was_opened_with_its_own_size(tmp_path):
    options = {"img_size": 64, "patch_size": 8, "embed_dim": 32, "depth": 2, "num_heads": 2, "num_classes": 5}
    model = timm.create_model("vit_tiny_patch16_224", **options).eval()
    file = tmp_path / "mine.safetensors"
    save_file(model.state_dict(), file, {"architecture": "vit_tiny_patch16_224"})
    sizes = {"embed_dim": 32, "num_heads": 2}  # which do not follow from shapes
    own = vizkit.load(file, model_args=sizes)
    recipe = Recipe(model=str(file), model_args=sizes, drop_path=0.1)
    begun = build(recipe, OTHERS).eval()
    pixels = torch.rand(1, 3, 64, 64)
    assert torch.equal(begun.forward_features(pixels), own.model.forward_features(pixels))
    assert Preprocessing.from_config(timm.data.resolve_model_data_config(begun)) == own.preprocessing
    save_file(model.state_dict(), file)
    with pytest.raises(ValueError, match="does not say which architecture"):
        build(recipe, OTHERS)
    named = recipe.but({"model_args": {"architecture": "vit_tiny_patch16_224", **sizes}})
    assert torch.equal(build(named, OTHERS).eval().forward_features(pixels), own.model.forward_features(pixels))


def test_the_preprocessing_that_a_model_was_opened_with_is_kept(tmp_path):
    """A folder of transformers has an image processor of its own; timm's architecture has another one."""
    needs = Preprocessing((32, 32), (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), 0.9, "squash", "bicubic")
    saving.save_opened(tmp_path, replace(vizkit.load("bundled:digits_vit"), preprocessing=needs))
    assert vizkit.load(tmp_path).preprocessing == needs
    begun = build(Recipe(model=str(tmp_path)), OTHERS)
    assert Preprocessing.from_config(timm.data.resolve_model_data_config(begun)) == needs


@pytest.mark.product
@pytest.mark.parametrize(
    "case", ["vit", "vit, features", "deit", "beit", "dinov2, registers", "clip", "swin", "convnext"]
)
def test_a_folder_of_transformers_that_timm_makes_goes_on_from_its_weights(tmp_path, case):
    library = pytest.importorskip("tests.models.test_transformers")
    kind, options, _ = library.CASES[case]
    library.made(kind, options).save_pretrained(tmp_path / "theirs")
    own = vizkit.load(tmp_path / "theirs")
    begun = build(Recipe(model=str(tmp_path / "theirs")), OTHERS).eval()
    pixels = torch.rand(1, 3, *own.preprocessing.size_hw)
    with torch.no_grad():  # else torch takes another kernel
        assert torch.equal(begun.forward_features(pixels), own.model.forward_features(pixels))
        saving.save_best(RunFolder(tmp_path), begun, OTHERS)
        again = vizkit.load(tmp_path)  # with the ε of its norms
        assert torch.equal(again.model(pixels), begun(pixels))
    assert again.preprocessing == own.preprocessing


def test_a_model_of_transformers_own_code_is_refused(tmp_path):
    library = pytest.importorskip("tests.models.test_transformers")
    kind, options, _ = library.CASES["pvt"]
    library.made(kind, options).save_pretrained(tmp_path)
    with pytest.raises(RecipeError, match=r"runs by the code of another library than timm, .* choose timm's model"):
        build(Recipe(model=str(tmp_path)), OTHERS)


# ---- learning --------------------------------------------------------------------------------------------------------
@pytest.mark.product
@pytest.mark.parametrize("name", ["digits_vit", "digits_swin", "digits_cnn", "insects_deit", "digits_dual"])
def test_of_a_linear_probe_nothing_but_the_head_changes(name, turned, tmp_path):
    recipe = tuning.TUNING[tuning.PROBE][1].but({**QUICK, "model": f"bundled:{name}", "data": turned, "images": 32})
    run = followed(tmp_path / "run", recipe)
    before = vizkit.load(f"bundled:{name}").model.state_dict()  # with the statistics of BatchNorm
    opened = vizkit.load(str(run.path))
    after = opened.model.state_dict()
    changed = {
        key for key in before if before[key].shape != after[key].shape or not torch.equal(before[key], after[key])
    }
    heads = ("head.", "head_dist.") if name == "insects_deit" else ("head.",)
    assert {key for key in changed if not key.startswith(heads)} == set()
    assert {key.partition(".")[0] + "." for key in changed} == set(heads)
    assert opened.labels == tuple(f"turned {digit}" for digit in range(10))
    assert opened.preprocessing == vizkit.load(f"bundled:{name}").preprocessing
    assert f"trained on from bundled:{name}, its head alone on" in (run.path / "card.md").read_text()


@pytest.mark.rest
def test_fine_tuning_beats_chance_and_learning_from_scratch_in_as_many_steps(turned, tmp_path):
    fine = tuning.TUNING[tuning.TUNE][1].but({**QUICK, "epochs": 2, "batch": 16, "data": turned})
    from_scratch = fine.but({"model": "digits_vit", "lr": 1e-3})
    tuned = followed(tmp_path / "tuned", fine.but({"model": "bundled:digits_vit"}))
    scratch = followed(tmp_path / "scratch", from_scratch)
    reached, otherwise = (run.read("result.json")["test_accuracy"] for run in (tuned, scratch))
    assert reached > 0.3  # chance is 0.1
    assert reached > otherwise + 0.2


def test_a_model_that_knew_the_classes_is_judged_before_too_on_the_same_images(tmp_path, turned):
    """As somebody would by hand: both models are asked for the whole test split."""
    recipe = tuning.TUNING[tuning.TUNE][1].but({**QUICK, "model": "bundled:digits_cnn", "images": 64, "lr": 3e-2})
    run = followed(tmp_path / "run", recipe)
    result, images = run.read("result.json"), open_set("digits", "test")
    first, last = (vizkit.load(source) for source in ("bundled:digits_cnn", run.path))
    pixels = torch.from_numpy(prepare_all([rgb for rgb, _ in images], first.preprocessing))
    with torch.no_grad():
        before, after = (each.model(pixels).argmax(-1).numpy() == images.targets for each in (first, last))
    assert (after & ~before).sum() + (before & ~after).sum() > 0  # so that all three counts differ
    counts = [int(each.sum()) for each in (before, after & before)]
    assert [result["test_right_before"], result["test_right_both"]] == counts
    assert round(result["test_accuracy"] * len(images)) == after.sum()
    assert f"; {before.mean():.1%} before." in run.status["message"]
    assert (
        f"; before the training {before.sum():,} ({100 * before.mean():.1f} %) |"
        in run.path.joinpath("card.md").read_text()
    )
    assert paired.compare({"last": after, "first": before})[0].p == of_pair(result).p
    other = followed(tmp_path / "other", recipe.but({"data": turned}))  # its head is new
    assert other.read("result.json")["test_right_before"] is None
    assert "test_right_before" not in followed(tmp_path / "new", recipe.but({"model": "digits_cnn"})).read(
        "result.json"
    )


def of_pair(result):
    after = round(result["test_accuracy"] * result["test_images"])
    return paired.of_counts(
        "last", "first", result["test_images"], after, result["test_right_before"], result["test_right_both"]
    )


# ---- what cannot be fine-tuned ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "folder, words",
    [
        ("detection/scenes_detr", "scenes_detr finds things in images"),
        ("sequences/dates_rnn", "dates_rnn rewrites texts"),
        ("super_resolution/insects_ttsr", "insects_ttsr enlarges images"),
    ],
)
def test_a_model_of_another_task_is_refused_with_what_can_be_done(folder, words):
    with pytest.raises(RecipeError, match=rf"{words}: .* Fine-tune a model that tells images apart, or train"):
        build(Recipe(model=str(vizkit.models.sources.loading.BUNDLED / folder)), OTHERS)


def test_a_model_of_other_code_is_refused_before_anything_is_fetched(tmp_path):
    with pytest.raises(RecipeError, match=r"runs by the code of torchvision, .* choose timm's model"):
        build(Recipe(model="torchvision:resnet18"), OTHERS)


def test_a_model_that_does_not_name_its_head_is_refused_only_where_the_head_matters():
    model = nn.Linear(2, 2)
    choose_trainable(model, -1)
    with pytest.raises(RecipeError, match="which part is its head"):
        choose_trainable(model, 0)


def test_a_folder_with_one_class_is_one_sentence(tmp_path):
    (tmp_path / "ant").mkdir()
    Image.new("RGB", (32, 32)).save(tmp_path / "ant" / "1.png")
    recipe = Recipe(model="bundled:digits_vit", data=str(tmp_path))
    with pytest.raises(ValueError, match=r"\.$"):
        followed(tmp_path / "run", recipe)


# ---- in words --------------------------------------------------------------------------------------------------------
def test_what_becomes_of_the_head_is_said():
    assert "knows these 3 classes already: its head goes on" in tuning.head_words(OTHERS, OTHERS, whole=True)
    some = tuning.head_words((*OTHERS, "d"), OTHERS[::-1], whole=True)
    assert "knows these 3 classes already: their outputs of its 4 go on" in some
    for known, labels in ((OTHERS, (*OTHERS, "d")), (("a", "a", "b"), ("a", "b")), (OTHERS, OTHERS[:1] * 2)):
        assert tuning.head_rows(known, labels) is None
    assert tuning.head_words(("a", "b"), OTHERS, whole=True).startswith(
        "It gets a new head, for its 2 classes become 3 others; everything before it begins as it is"
    )
    assert "stays as it is" in tuning.head_words((), OTHERS, whole=False)
