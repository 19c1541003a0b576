"""Models of a folder of transformers on the page: opened by a visitor, and every view with each of the four kinds."""

import pytest
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec
from streamlit.testing.v1 import AppTest

from tests.models.sequences.test_from_library import CASES, saved
from tests.ui import test_views
from tests.ui.conftest import VIT, choose, click, fine, sent_to, texts
from vizkit.ui.session import uploads
from vizkit.ui.session.uploads import Brought, UploadError, keep_checkpoint
from vizkit.ui.widgets.texts import KINDS

TEXT = {"BertForMaskedLM": "the cat sat the"}
SAYS = {  # what stands on a view that cannot show such a model
    "Step by step": "These are the steps of vizkit's own transformers; {title} is built differently.",
}


def view(title, source, brought, text, **query):
    test = AppTest.from_string("from vizkit.ui.views import open_page\nopen_page('sequences')", default_timeout=600)
    test.session_state["_picture"], test.session_state["image"] = test_views.sample(test_views.IMAGE), test_views.IMAGE
    test.session_state["models"], test.session_state["_texts_brought"] = [VIT], brought
    test.session_state["sequence_model"] = brought[source].title
    test.query_params |= {"sequences_view": title, "sequence_text": text, **query}
    return test.run()


@pytest.fixture(params=CASES)
def kind(request, tmp_path, monkeypatch):
    """(class of the library, its digest, the models of a session)."""
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    folder = tmp_path / "model"
    folder.mkdir()
    saved(folder, request.param)
    name = f"brought:{request.param}{tmp_path}"
    return request.param, name, {name: Brought(f"{KINDS[request.param]}, 1a2b3c4d", str(folder))}


@pytest.mark.product
def test_all_views_show_it_or_say_why_not(kind):
    name, source, brought = kind
    title, text = brought[source].title, TEXT.get(name, "the cats sat the")
    for shown, sentence in SAYS.items():
        assert sentence.format(title=title) in texts(view(shown, source, brought, text)), shown

    translate = view("Translate", source, brought, text)
    fine(translate)
    if name in ("MarianMTModel", "T5ForConditionalGeneration"):
        (content,) = sent_to(translate, "vizkit_translate")
        assert content["source"] == ["▁the", "▁cat", "s", "▁sat", "▁the", "</s>"]
        assert {part["kind"] for part in content["parts"]} == {"encoder", "decoder", "cross"}
        assert content["label"].startswith(title)
    else:
        assert f"{title} reads one text and has no decoder" in texts(translate)

    masks = view("Masks", source, brought, text)
    choices = [each.options for each in masks.segmented_control if each.key == "mask"]
    options = choices[0] if choices else ["causal"]  # of one nothing is to be chosen
    assert options == {"B": ["BERT", "none"], "G": ["causal"]}.get(name[0], ["causal", "none", "cross"])
    for option in options:
        test = view("Masks", source, brought, text, mask=option)
        fine(test)
        drawn = [each.proto.body for each in test.main.get("html") if "word-matrix" in each.proto.body]
        assert len(drawn) == 1, option
        several = drawn[0].count('<th scope="row">') > 1  # random weights may end a text where it begins
        assert ("masked" in drawn[0]) == (option == "causal" and several)
    if options == ["causal"]:
        (data,) = sent_to(masks, "vizkit_predict")
        assert data["line"] == ["▁the", "▁cat", "s", "▁sat", "▁the"]
        assert len(data["tops"][0][1]) == 5
    if options[0] == "BERT":
        (data,) = sent_to(masks, "vizkit_predict")
        assert data["line"] == ["[CLS]", "the", "cat", "sat", "the", "[SEP]"]
        assert (data["fixed"], data["hidden"]) == ([0, 5], [1])


def test_a_mask_that_was_typed_is_guessed(tmp_path):
    saved(tmp_path, "BertForMaskedLM")
    test = view("Masks", "brought:b", {"brought:b": Brought("BERT, b", str(tmp_path))}, "the [MASK] sat")
    (data,) = sent_to(test, "vizkit_predict")
    assert data["hidden"] == [2]
    assert len(data["tops"][0][1]) == 5


@pytest.mark.parametrize("whole", [True, False])
def test_its_files_are_opened_or_refused_in_a_sentence(tmp_path, whole):
    saved(tmp_path, "GPT2LMHeadModel")
    test = test_views.opened("sequences", "Masks", [])
    uploader = test.file_uploader(key="texts_files")
    for name in ("config.json", "vocab.json", *(["model.safetensors"] if whole else [])):
        uploader.upload(name, (tmp_path / name).read_bytes(), "application/octet-stream")
    test.run().button(key="texts_open").click().run()
    if whole:
        chosen = test.selectbox(key="sequence_model")
        assert chosen.value == "GPT-2, opened 1"
        assert "knows no “The”" in test.info[0].value, "a text that it cannot read gets a sentence"
        choose(test, sequence_text="the cat")
        fine(test)
        assert test.query_params["sequence_model"] == "GPT-2, opened 1"
    else:
        assert not test.session_state["_texts_brought"]
        assert "has no weights" in test.error[0].value


def test_a_link_to_what_another_session_opened_is_answered_in_a_sentence():
    test = test_views.opened("sequences", "Masks", [], sequence_model="MarianMT, opened 1*")
    assert test.warning[0].value.startswith("This link shows MarianMT, opened 1\\*, which is not here: open its files")
    assert len(test.run().warning) == 1, "until a model is chosen"
    other = test_views.opened("sequences", "Masks", [], sequence_model="Models of dates")
    assert not other.warning


@pytest.fixture
def belongings(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(uploads.st, "session_state", {"_belongings": uploads.Belongings()})


def upload(name, content=b"{}"):
    return UploadedFile(UploadedFileRec(name, name, "", content), FileURLs())


def test_several_files_of_weights_keep_their_names_and_one_may_have_any(belongings):
    parts = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    folder = keep_checkpoint([upload(name) for name in ("config.json", "model.safetensors.index.json", *parts)])
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", *parts, "model.safetensors.index.json"]
    folder = keep_checkpoint([upload("config.json"), upload("../mine.safetensors")])
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.parametrize(
    "names, sentence",
    [(("a.safetensors", "b.safetensors"), "index.json is missing"), (("config.json",), "have the same name")],
)
def test_files_that_cannot_be_told_apart_are_refused(belongings, names, sentence):
    with pytest.raises(UploadError, match=sentence):
        keep_checkpoint([upload(name) for name in ("config.json", *names)])


def test_a_model_of_images_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "vit", "architectures": ["ViTModel"]}')
    test = test_views.opened("sequences", "Translate", [])
    test.file_uploader(key="texts_files").upload("config.json", (tmp_path / "config.json").read_bytes(), "a/b").run()
    click(test, "texts_open")
    assert "is a ViTModel; of texts there are MarianMTModel" in test.error[0].value
    assert "_texts_brought" not in test.session_state or not test.session_state["_texts_brought"]
