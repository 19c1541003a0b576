"""Every page through app.py, as Streamlit runs it, without a browser."""

import base64
import io
import re

import numpy as np
import psutil
import pytest
from beartype.roar import BeartypeCallHintViolation
from PIL import Image

from tests.ui.conftest import CNN, SWIN, VIT, choose, click, components, fine, opened, texts
from vizkit.figure.canvas.rows import Rows, sixteen_bits
from vizkit.ui import shell
from vizkit.ui.session import model_names
from vizkit.views import VIEWS as EVERY


def png(width=64, height=48):
    pixels = np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def test_no_section_of_the_menu_is_called_like_a_page_or_a_view():
    sections = {section for section in shell.PAGES if section}
    pages = {title for pages in shell.PAGES.values() for _, title, _ in pages}
    assert len(pages) == sum(map(len, shell.PAGES.values()))
    assert all(section.endswith("?") for section in sections)
    assert not sections & (pages | {view.title for view in EVERY.values()})


@pytest.mark.parametrize(
    "page, query, elsewhere",
    [
        ("rollout", {}, False),
        ("data_set", {}, True),
        ("evaluate", {}, True),
        ("sequences", {}, True),
        ("report", {}, False),
    ],
)
def test_a_page_without_the_chosen_image_says_so(page, query, elsewhere, monkeypatch):
    monkeypatch.setattr("vizkit.ui.session.background.start", lambda name, work: None)
    said = [caption.value for caption in opened(page, models=VIT, image="digit 3", **query).main.caption]
    assert any("Your image is not used here." in each for each in said) is elsewhere


@pytest.mark.product
@pytest.mark.parametrize(
    "model, words",
    [
        (VIT, ["layer 6 of 6", "6 of 6 layers"]),
        (SWIN, ["layer 6 of 6", "6 of 6 layers"]),
        (CNN, ["stage 4 of 4", "strength of features"]),
        ("random:deit_tiny_distilled_patch16_224", ["12 of 12 layers", "untrained"]),
        ("random:efficientvit_b0", ["strength of features", "its attention has no softmax"]),
        ("random:xcit_nano_12_p8_224", ["14 of 14 layers", "12 of 14 layers have no known places"]),
    ],
)
def test_explore_shows_every_kind_of_model(model, words):
    test = opened(models=model, image="flower")
    assert not test.warning
    for word in words:
        assert word in texts(test)


def test_a_broken_link_opens_the_defaults():
    test = opened(models="nonsense", image="gone", layer="abc", head="zz", query="??", at="9,x")
    assert "timm has no model 'nonsense'" in texts(test)
    assert test.sidebar.selectbox(key="image").value == "china"


def test_moving_a_slider_runs_no_model(monkeypatch):
    test = opened(models=VIT)
    import vizkit.models

    def ran(*_, **__):
        raise AssertionError("a model ran because a slider moved")

    monkeypatch.setattr(vizkit.models, "trace", ran)
    choose(test, layer=2)
    choose(test, head="4")
    assert not test.warning
    assert "layer 2 of 6 · head 4 of 4" in texts(test)


def test_the_picture_of_a_page_is_not_digested_again_for_each_map(monkeypatch):
    digested = []
    monkeypatch.setattr("vizkit.ui.drawing.digest_of", lambda rgb: digested.append(rgb) or "a digest")
    test = opened("compare", models=[VIT, SWIN], image="digit 3")
    fine(test)
    whole = test.session_state["_picture"].rgb
    assert components(test)
    assert not any(rgb is whole for rgb in digested)


@pytest.mark.rest
def test_fewer_layers_and_heads_fall_back():
    test = opened(models="random:deit_tiny_distilled_patch16_224", layer="11", head="3", query="dist")
    assert test.slider(key="layer").value == 11
    choose(test, models=[SWIN])
    assert test.slider(key="layer").value == 6  # this Swin has six layers; its last is shown


def test_an_upload_is_chosen_and_a_broken_one_refused_beside_it():
    test = opened(models=VIT)
    test.file_uploader(key="uploads").upload("my*cat*.png", png(), "image/png").run()
    assert test.sidebar.selectbox(key="image").value == "my*cat*.png"
    assert "64 × 48 pixels" in texts(test)
    test.file_uploader(key="uploads").upload("broken.png", png()[:99], "image/png").run()
    assert len(test.error) == 1
    assert "damaged" in test.error[0].value


def test_a_refused_upload_is_not_decoded_again_at_each_change(monkeypatch):
    from vizkit.ui.sidebar import inputs

    read, seen = inputs.read_picture, []
    monkeypatch.setattr(inputs, "read_picture", lambda data: seen.append(len(data)) or read(data))
    test = opened(models=VIT)
    test.file_uploader(key="uploads").upload("broken.png", png()[:98], "image/png").run()
    choose(test, layer=2)
    assert "damaged" in test.error[0].value
    assert seen == [98]


def test_a_link_to_a_giant_is_refused_before_it_takes_memory(monkeypatch):
    monkeypatch.setenv("VIZKIT_MODEL_GIB", "1")
    before = psutil.Process().memory_info().rss
    test = opened(models=["random:vit_giant_patch14_224", VIT])
    assert "3.8 GiB" in test.warning[0].value
    assert "VIZKIT" in test.warning[0].value
    assert psutil.Process().memory_info().rss < before + 300 * 2**20


@pytest.mark.rest
def test_without_a_network_there_is_one_sentence_and_a_way_on(monkeypatch):
    import vizkit.models
    from vizkit.models import OfflineError

    real = vizkit.models.load

    def offline(source, **options):
        if options.get("pretrained", True) and not str(source).startswith("bundled:"):
            raise OfflineError("The weights are not on this machine and the hub cannot be reached.")
        return real(source, **options)

    monkeypatch.setattr(vizkit.models, "load", offline)
    test = opened(models=["deit_tiny_patch16_224", VIT])
    assert "cannot be reached" in test.warning[0].value
    click(test, "random_deit_tiny_patch16_224")
    assert test.session_state["models"] == ["random:deit_tiny_patch16_224", VIT]
    assert not test.warning


def test_no_model_asks_for_one():
    test = opened(models=VIT)
    choose(test, models=[])
    assert "Choose a model" in texts(test)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "~/x", "C:\\x.pt", "a b", "<script>", "hf-hub:../x", "bundled:../x"]
)
def test_a_typed_path_is_no_model(name):
    test = opened(models=name)
    assert len(test.warning) == 1
    assert len(components(test)) == 0


def test_the_samples_are_the_insects_that_are_drawn():
    from vizkit.datasets import insects, samples
    from vizkit.ui.sidebar import inputs

    assert samples.INSECTS == insects.LABELS
    place = insects.LABELS.index("water strider")
    first = next(index for index in range(12) if insects.label_of(index, "test") == place)
    expected = insects.draw(first, split="test", size_px=samples.INSECT_SIDE_PX).picture
    assert (inputs.sample("water strider").rgb == expected).all()


def test_names_are_those_of_timm():
    import timm

    import vizkit.models.networks  # registers ours
    from vizkit.models.sources.torchvision_models import CNNS

    assert model_names.timm_names() == sorted(timm.list_models())
    assert set(vizkit.models.networks.NAMES) < set(model_names.timm_names())
    assert tuple(f"torchvision:{name}" for name in CNNS) == model_names.TORCHVISION_CNNS


INSECTS = ["bundled:insects_vit", "bundled:insects_swin"]


def test_pairs_of_patches_grow_as_each_model_attends():
    test = opened("patches", models=INSECTS, image="mayfly nymph", patches_view="Cut", patches_step="5")
    assert "785 tokens and 15.9 times the pairs." in texts(test)
    assert "784 tokens and 4.0 times the pairs." in texts(test)  # in windows of 7 × 7


def checkpoint_bytes(classes):
    import timm
    from safetensors.torch import save

    return save(timm.create_model("test_vit", num_classes=classes).state_dict())


def test_a_checkpoint_is_opened_and_a_wrong_one_refused():
    test = opened(models=VIT)
    test.file_uploader(key="checkpoint").upload(
        "mine.safetensors", checkpoint_bytes(7), "application/octet-stream"
    ).run()
    choose(test, architecture="test_vit")
    click(test, "open_checkpoint")
    mine = test.session_state["models"]
    assert mine[0] == VIT
    assert re.fullmatch("checkpoint:mine-[0-9a-f]{64}", mine[1])  # other weights of this name are another model
    assert re.search(r"checkpoint:mine-[0-9a-f]{8}\b", texts(test))
    assert not test.warning
    choose(test, architecture="test_vit2")
    click(test, "open_checkpoint")
    assert "does not fit" in test.error[0].value or "test_vit2" in test.error[0].value
    assert test.session_state["models"] == mine


@pytest.mark.rest
def test_a_checkpoint_without_a_name_is_given_the_one_that_it_fits():
    import timm
    from safetensors.torch import save

    test = opened(models=VIT)
    state = timm.create_model("resnet18", num_classes=3).state_dict()
    test.file_uploader(key="checkpoint").upload("mine.safetensors", save(state), "x/y").run()
    click(test, "open_checkpoint")
    assert any("its shapes fit resnet18" in info.value for info in test.info)
    assert test.selectbox(key="architecture").value == "resnet18"
    click(test, "open_checkpoint")
    assert not test.error
    assert test.session_state["models"][-1].startswith("checkpoint:mine-")


def test_the_files_of_a_transformers_folder_are_opened_together(tmp_path):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 32}
    config = transformers.ViTConfig(**sizes, image_size=32, patch_size=8, num_labels=3)
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path)
    test = opened(models=VIT)
    for name in ("config.json", "model.safetensors"):
        test.file_uploader(key="checkpoint").upload(name, (tmp_path / name).read_bytes(), "x/y")
    test.run()
    assert test.selectbox(key="architecture").disabled
    click(test, "open_checkpoint")
    assert not test.error
    assert test.session_state["models"][-1].startswith("checkpoint:model-")


# What a card's canvas is sent, read back as look.js reads it ----------------------------------------------------------


def read(packed, name, kind):
    return np.frombuffer(base64.b64decode(packed[name]), kind)


@pytest.mark.parametrize("bounds", [None, (-1.0, 1.0)])
def test_values_are_read_back_to_half_a_step(bounds):
    values = np.random.default_rng(0).random((2, 3, 5)).astype(np.float32) * 0.7
    values = values if bounds is None else values * 2 - 1
    packed = Rows(values, (1, 5), bounds=bounds).pack()
    seen = read(packed, "weights", "<u2").reshape(2, 3, 5) * packed["step"] + packed["offset"]
    assert np.abs(seen - values).max() <= packed["step"] * 0.51
    assert (packed["queries"], packed["keys"]) == (3, 5)


def test_ids_are_counted_where_none_are_given():
    packed = Rows(np.ones((2, 6)), (2, 3)).pack()
    assert read(packed, "query_ids", "<i4").tolist() == [0, 1]
    assert read(packed, "key_ids", "<i4").tolist() == [*range(6)]
    packed = Rows(np.ones((1, 2)), (1, 2), query_ids=np.array([4]), key_ids=np.array([7, 8])).pack()
    assert read(packed, "query_ids", "<i4").tolist() == [4]
    assert read(packed, "key_ids", "<i4").tolist() == [7, 8]
    assert "query_regions" not in packed


def test_ids_of_another_number_are_refused():
    with pytest.raises(BeartypeCallHintViolation):
        Rows(np.ones((1, 2)), (1, 2), key_ids=np.array([7, 8, 9]))


def test_all_zeros_stay_zeros_and_nothing_is_sent_as_nothing():
    assert sixteen_bits(np.zeros((2, 2)), 0.0, 0.0).tolist() == [[0, 0], [0, 0]]
    assert Rows(np.zeros((0, 0)), None).pack()["weights"] == ""
