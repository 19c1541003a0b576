"""No name of a stranger is Markdown on any page: `![](http://…)` would make every visitor's browser call that host."""

import io
import re
import zipfile

import numpy as np
import pytest
from google.protobuf.message import Message
from PIL import Image

import vizkit.models
from tests import hostile
from tests.hostile import NAME, TEXT
from tests.ui.conftest import opened, sent, texts
from tests.ui.sidebar.test_gallery import with_clip
from vizkit.heads import HEADS
from vizkit.ui.plain import JOINER, plain, without_pictures
from vizkit.ui.session import models
from vizkit.views import architecture

UNESCAPED = re.compile(r"(?<!\\)(!\[[xi]\]|:red\[r|\$y|<img)")
BAD = f"![x](http://{hostile.HOST}/m.png)"
VIT, SWIN, DEIT = f"run:{NAME}vit", f"run:{NAME}swin", f"run:{NAME}deit"
TINY = "vit_tiny_patch16_224"
TYPED = (TEXT, BAD, "# a heading", "<b>bold</b> <img src=q>")
# What Streamlit draws as text, or does not draw: never as Markdown.
NO_MARKDOWN = {
    "alt",
    "default",
    "id",
    "element_id",
    "form_id",
    "json_args",
    "options",  # of selectboxes, multiselects; those of pills are messages of their own
    "placeholder",
    "raw_value",
    "raw_values",
    "set_value",
    "spec",  # of charts, which draw text
    "code_text",
    "text",
    "url",
    "widget_id",
    "query_param_key",
    "json",  # what a component is given; our scripts write it by textContent
    "figure",
    "value",
    "key",
    "dataset_name",
    "data",
    "mixed",
    "fragment_id",
    "name",
}
CARD = "# Its story"  # Markdown from a file, which must fetch nothing
MARKDOWN_TOO = {("Metric", "value"), ("Progress", "text"), ("Spinner", "text")}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    root = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIZKIT_RUNS", str(root / "runs"))
        patch.setenv("VIZKIT_CACHE", str(root / "cache"))
        hostile.run(root / "runs", "vit", "digits_vit", 10)
        hostile.run(root / "runs", "swin", "digits_swin", 10)
        hostile.run(root / "runs", "deit", "insects_deit", 12)
        yield root
    models._weights_seen.clear()


@pytest.fixture(autouse=True)
def nothing_goes_on(monkeypatch):
    """No thread that computes maps outlives its test."""
    monkeypatch.setattr("vizkit.ui.session.background.start", lambda name, work: None)


def strings(message, path=""):
    """(path, text) of every string in a message that may be drawn as Markdown."""
    for field, value in message.ListFields():
        kind, name = message.DESCRIPTOR.name, field.name
        inner = f"{path}.{kind}.{name}"
        for each in value if isinstance(value, (list, tuple)) or hasattr(value, "append") else [value]:
            if isinstance(each, Message):
                yield from strings(each, inner)
            elif isinstance(each, str) and (name not in NO_MARKDOWN or (kind, name) in MARKDOWN_TOO):
                yield inner, each


def drawn(block):
    """Every element and block of a page."""
    for node in block.children.values():
        yield node
        if hasattr(node, "children"):
            yield from drawn(node)


def unescaped(test):
    found = []
    for node in drawn(test._tree):
        if isinstance(proto := getattr(node, "proto", None), Message):
            found += [(where, text[:300]) for where, text in strings(proto) if wrong(where, text)]
    return found


def wrong(where, text):
    if where.endswith("Html.body"):
        return "<img" in text
    return bool(re.search(r"(?<!\\)!\[", text) if text.startswith(CARD) else UNESCAPED.search(text))


def visited(page, models, **query):
    return opened(page, **{"models": models, "image": "digit 3", **query})


def views(page, models, *names):
    return {f"{page}-{name}": (page, models, {f"{page}_view": name}) for name in names}


CASES = {
    "explore": ("explore", [VIT, BAD, DEIT], {}),
    "patches": ("patches", [VIT, BAD], {}),
    **views("positions", [VIT, BAD], "What positions know", "Shuffle"),
    **views("attention", [VIT, BAD], "Head by head", "Statistics"),
    **views("swin", [SWIN, VIT], "Shift", "Stages", "Window", "Merging", "Switched off"),
    **views("convolution", [VIT, BAD], "Slide", "Reach", "What makes deep networks trainable"),
    **views("architecture", [VIT, SWIN], *(view.title for view in architecture.VIEWS)),
    "rollout": ("rollout", [VIT, SWIN, BAD], {}),
    **views("relevance", [VIT, SWIN], "Maps", "Trust"),
    **views("compare", [VIT, SWIN, BAD], "Side by side", "Cost", "Robustness"),
    **views("evaluate", [VIT, BAD], "Results"),
    **views("train", [VIT], "Start", "Watch", "Runs"),
    **views("distillation", [VIT, DEIT], "Teacher and student", "Does it help?"),
}


@pytest.mark.product
@pytest.mark.parametrize("page, models, query", CASES.values(), ids=CASES)
def test_every_page_shows_hostile_names_as_text(page, models, query):
    test = visited(page, models, **query)
    assert unescaped(test) == []


def test_the_walk_sees_what_is_not_escaped(monkeypatch):
    monkeypatch.setattr("vizkit.ui.session.columns.plain", str)
    assert unescaped(visited("explore", [VIT]))


def picture(suffix):
    file = io.BytesIO()
    Image.fromarray(np.full((20, 20, 3), suffix, np.uint8)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.rest
def test_names_of_uploaded_files_and_class_folders_are_text():
    test = visited("explore", [VIT])
    test.file_uploader(key="uploads").upload(f"{NAME}.png", picture(1), "image/png").run()
    test.file_uploader(key="uploads").upload(f"{NAME}broken.png", b"\x89PNG", "image/png").run()
    assert len(test.error) == 1
    assert unescaped(test) == []
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for number in range(8):
            for side in "ab":
                packed.writestr(f"{NAME}{side}/{NAME}{number}.png", picture(number))
        packed.writestr(f"{NAME}a/{NAME}.txt", "left out")
    start, evaluate = {"train_view": "Start"}, {"eval_data": "insects"}  # not the run's own, whose link says nothing
    for page, query, data, key in (
        ("train", start, "train_data", "train_zip"),
        ("evaluate", evaluate, "eval_data", "eval_zip"),
    ):
        test = visited(page, [VIT], **query)
        test.selectbox(key=data).set_value("a zip file").run()
        test.file_uploader(key=key).upload("pictures.zip", file.getvalue(), "application/zip").run()
        assert "2 classes" in "\n".join(each.value for each in test.markdown)
        assert unescaped(test) == []


@pytest.mark.rest
def test_typed_classes_are_text_on_every_page_beside_an_embedding(tmp_path, monkeypatch):
    real = vizkit.models.load

    def without_head(source, **options):
        return real(source, **options, **({"model_args": {"num_classes": 0}} if source == TINY else {}))

    monkeypatch.setattr(vizkit.models, "load", without_head)
    models.forget(f"random:{TINY}")  # another test may have loaded it with its head
    test = with_clip(tmp_path)
    (reader,) = test.session_state["models"]
    test.text_area(key="classes").set_value("\n".join(TYPED))
    test.multiselect(key="models").set_value([f"random:{TINY}", reader])
    for page in ("explore", "relevance", "compare", "evaluate"):
        test.switch_page(f"pages/{page}.py").run()
        assert unescaped(test) == [], page
        if page == "explore":
            assert HEADS["embedding"].title in texts(test)
            assert not sent(test, "explore0")["classes"]
            assert {name for name, _ in sent(test, "explore1")["classes"]} == set(TYPED)
        elif page != "evaluate":  # where an untrained model is left out
            assert "knows 4 typed classes" in texts(test)
    models.forget(f"random:{TINY}")


# ---- the one function ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mark", list(r"\`*[]<>#!|~$:&{}"))
def test_every_mark_is_escaped(mark):
    assert plain(f"a{mark}b") == f"a\\{mark}b"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("digits_vit", "digits_vit"),
        ("_a_ __b", r"\_a\_ \_\_b"),
        ("a\n\nb\r# c", r"a b \# c"),
        ("1. one", r"1\. one"),
        ("- one", r"\- one"),
        ("a - 1.5", "a - 1.5"),
        (":smile:", rf"\:{JOINER}smile\:"),
        (":material/home:", rf"\:{JOINER}material/home\:"),
        ("http://x.y", rf"http\:{JOINER}//x.y"),
        ("WWW.x.y a@b.c", rf"WWW{JOINER}.x.y a@{JOINER}b.c"),
        ("жук سوسک", "жук سوسک"),
        (None, "None"),
    ],
)
def test_what_is_shown_is_the_text(text, expected):
    assert plain(text) == expected


def test_a_card_keeps_its_tables_and_fetches_nothing():
    assert (
        without_pictures(f"# a\n\n{TEXT}\n| b |")
        == f"# a\n\n!\\[x](http://{hostile.HOST}/a.png)" + TEXT.partition(")")[2] + "\n| b |"
    )
