"""Classes typed as words: the logits are those of transformers, and maps follow the typed class."""

import json
import sys

import pytest
import torch
from torch.testing import assert_close

import vizkit
from vizkit.__main__ import main
from vizkit.heads import EMBEDDING, SIGMOID, SOFTMAX
from vizkit.models import ModelError, pixels_of
from vizkit.models.sources import zero_shot
from vizkit.models.sources.zero_shot import LONGEST_CLASS, MOST_CLASSES, with_classes
from vizkit.scoring import Question

pytest.importorskip("transformers")
pytest.importorskip("tokenizers")
from tests.models.sources.two_towers import KINDS, library_logits, two_towers

TEXTS = ["a photo of a cat", "two red birds", "Dog", "a photo of a red dog and a cat and a bird and a dog"]


@pytest.fixture(scope="module", params=KINDS)
def towers(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return folder, two_towers(request.param, folder)


@pytest.fixture
def clip(tmp_path):
    two_towers("clip", tmp_path)
    return tmp_path


def test_the_logits_are_those_of_the_library(towers, photo):
    folder, model = towers
    loaded = vizkit.load(folder, classes=TEXTS)
    assert loaded.labels == tuple(TEXTS)
    assert loaded.classifies
    trace = vizkit.trace(loaded, photo)
    assert trace.check.passed
    assert_close(trace.logits, library_logits(model, pixels_of(loaded, photo), TEXTS)[0], rtol=0, atol=1e-4)


def test_a_text_has_the_same_logit_in_any_company(towers, photo):
    """How far texts are filled up to a common length is no matter."""
    folder, _ = towers
    together = vizkit.trace(vizkit.load(folder, classes=TEXTS), photo).logits
    for index, text in [*enumerate(TEXTS)][1::2]:
        beside = vizkit.trace(vizkit.load(folder, classes=[text, "two"]), photo).logits
        assert_close(beside[0], together[index], rtol=0, atol=1e-4)


def test_clip_chooses_among_texts_and_siglip_says_yes_or_no_to_each(towers, photo):
    folder, _ = towers
    loaded = vizkit.load(folder, classes=TEXTS)
    clip = "clip" in loaded.source
    assert loaded.head is (SOFTMAX if clip else SIGMOID)
    assert (loaded.outputs, loaded.head_guessed, loaded.notes) == (len(TEXTS), False, ())
    assert vizkit.load(folder).head is EMBEDDING
    if clip:
        assert "two classes or more" in refusal(folder)
    else:
        alone = vizkit.load(folder, classes=["a cat"])
        assert 0 < float(alone.head.values(vizkit.trace(alone, photo).logits)[0]) < 1


@pytest.mark.parametrize("method", ["generic_relevance", "grad_cam", "integrated_gradients"])
def test_maps_follow_the_typed_class(towers, photo, method):
    loaded = vizkit.load(towers[0], classes=TEXTS[:2])
    first, second = (Question.of(loaded, photo, target).explain(method).heat for target in (0, 1))
    assert float(first.abs().sum()) > 0
    assert float((first / first.abs().sum() - second / second.abs().sum()).abs().max()) > 1e-4


def test_without_classes_it_gives_the_vector_of_the_picture(clip, photo):
    loaded = vizkit.load(clip)
    before = vizkit.trace(loaded, photo).logits
    typed = with_classes(loaded, ["a cat", " a  cat ", "a dog"])
    assert typed.labels == ("a cat", "a dog")
    assert not loaded.classifies
    assert torch.equal(vizkit.trace(loaded, photo).logits, before)
    assert typed.model.blocks[0].attn.qkv.weight is loaded.model.blocks[0].attn.qkv.weight
    again = with_classes(typed, ["a dog", "two"])
    assert_close(vizkit.trace(again, photo).logits[0], vizkit.trace(typed, photo).logits[1], rtol=0, atol=1e-5)


def test_texts_are_embedded_once(clip, monkeypatch):
    loaded = vizkit.load(clip, classes=["a cat", "a dog"])
    monkeypatch.setattr(zero_shot, "made_by_library", lambda *_: pytest.fail("the text tower was made again"))
    assert with_classes(loaded, ["a cat", "a dog"]).labels == ("a cat", "a dog")


def test_other_weights_in_the_folder_are_read_again(clip, photo):
    first = vizkit.trace(vizkit.load(clip, classes=["a cat", "a dog"]), photo).logits
    path = clip / "model.safetensors"
    from safetensors.torch import load_file, save_file

    state = load_file(path)
    save_file(state | {"text_projection.weight": -state["text_projection.weight"]}, path, {"format": "pt"})
    second = vizkit.trace(vizkit.load(clip, classes=["a cat", "a dog"]), photo).logits
    assert_close(first, -second, rtol=0, atol=1e-4)


# ---- refusals --------------------------------------------------------------------------------------------------------
def refusal(source, classes=("a cat",)):
    with pytest.raises(ModelError) as caught:
        vizkit.load(source, classes=classes)
    return str(caught.value)


@pytest.mark.parametrize("classes", [[], [" ", ""], ["x" * (LONGEST_CLASS + 1)], map(str, range(MOST_CLASSES + 1))])
def test_no_classes_too_many_or_too_long(clip, classes):
    assert refusal(clip, list(classes)) == "Give 1 to 100 classes of at most 200 characters each."


def test_a_model_that_reads_no_text():
    assert "digits_vit reads no text" in refusal("bundled:digits_vit")


def test_one_tower_alone_reads_no_text(tmp_path):
    from tests.models.test_transformers import WIDE, made

    made("CLIPVisionModelWithProjection", WIDE | {"projection_dim": 12}).save_pretrained(tmp_path)
    assert "reads no text" in refusal(tmp_path)


def test_a_folder_without_its_tokenizer(clip):
    (clip / "tokenizer.json").unlink()
    assert "has no tokenizer.json" in refusal(clip)


def test_texts_of_a_length_that_fills_the_memory_are_refused(clip, monkeypatch):
    monkeypatch.setattr(zero_shot, "MOST_TOKENS", 9)
    assert "reads texts of 10 tokens; vizkit takes those of 1 to 9" in refusal(clip)


@pytest.mark.parametrize("text", ["{", "[1]", "", '{"version": "1.0"}'])
def test_a_damaged_tokenizer(clip, text):
    (clip / "tokenizer.json").write_text(text)
    assert "is damaged" in refusal(clip)


def test_a_tokenizer_with_more_words_than_the_weights(clip):
    path = clip / "tokenizer.json"
    about = json.loads(path.read_text())
    about["model"]["vocab"]["cat"] = 500
    path.write_text(json.dumps(about))
    assert "does not fit its weights" in refusal(clip)


def test_other_files_of_a_folder_name_no_path(clip, tmp_path_factory, photo):
    """Only the filling token is read of tokenizer_config.json."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    about = {"tokenizer_file": str(elsewhere / "x"), "auto_map": {"AutoTokenizer": ["x.Tokenizer", None]}}
    (clip / "tokenizer_config.json").write_text(json.dumps(about | {"pad_token": {"content": "<pad>"}}))
    (clip / "x.py").write_text(f"open({str(elsewhere / 'marker')!r}, 'w')")
    assert vizkit.trace(vizkit.load(clip, classes=["a cat", "a dog"]), photo).check.passed
    assert not list(elsewhere.iterdir())


def test_without_transformers_it_says_what_to_install(clip, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert "pip install -r requirements-transformers.txt" in refusal(clip)


# ---- the command line ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("given", ["a cat,a dog", "a cat\na dog\n"])
def test_classes_on_the_command_line(clip, photo, tmp_path, capsys, given):
    from PIL import Image

    Image.fromarray(photo).save(tmp_path / "photo.png")
    arguments = ["explain", str(tmp_path / "photo.png"), "--model", str(clip), "--classes", given]
    arguments += ["--target", "a dog", "--method", "generic-relevance", "-o", str(tmp_path / "map.png")]
    assert main(arguments) == 0
    assert "a dog" in capsys.readouterr().out
    assert (tmp_path / "map.png").is_file()


def test_typed_classes_are_judged_on_labelled_pictures(clip, photo, tmp_path, capsys):
    """Of several models those that read text take them."""
    from PIL import Image

    for index, name in enumerate(("cat", "dog")):
        (tmp_path / "set" / name).mkdir(parents=True)
        for number in range(2):
            picture = Image.fromarray(photo).rotate(90 * index + 180 * number)
            picture.save(tmp_path / "set" / name / f"{number}.png")
    out = tmp_path / "report.csv"
    models = ["--model", str(clip), "--model", "bundled:digits_cnn", "--classes", "cat,dog"]
    assert main(["evaluate", str(tmp_path / "set"), *models, "-o", str(out), "--workers", "0", "--quiet"]) == 0
    assert "digits_cnn knows no label" in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == 2
