"""The dialog that opens a visitor's own weights: what a file of weights alone does not say can be stated there."""

import io

import pytest
import timm
import torch

from tests.ui.conftest import as_read, choose, click, opened, texts
from vizkit.heads import HEADS
from vizkit.ui.sidebar.checkpoint import FROM_FILE


def weights(outputs):
    """A bare file: a state dict that names nothing."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        state = timm.create_model("test_vit", num_classes=outputs).state_dict()
    out = io.BytesIO()
    torch.save(state, out)
    return out.getvalue()


@pytest.fixture(scope="module")
def three():
    return weights(3)


def open_file(test, content, head):
    test.file_uploader(key="checkpoint").upload("bare.pth", content, "x/y").run()
    test.selectbox(key="architecture").set_value("test_vit")
    choose(test, checkpoint_head=head)
    click(test, "open_checkpoint")
    return test


@pytest.mark.product
@pytest.mark.parametrize("head", [FROM_FILE, *HEADS])
def test_a_bare_file_has_the_head_that_is_stated_else_a_guess_that_is_said(three, head):
    test = opened(models="bundled:digits_vit", image="digit 3")
    assert test.selectbox(key="checkpoint_head").value == FROM_FILE
    open_file(test, three, head)
    assert not test.error
    own = test.session_state["models"][-1]
    choose(test, models=[own])
    said = texts(test)
    assert ("softmax is a guess" in said) is (head == FROM_FILE)
    if head not in (FROM_FILE, "softmax"):  # which needs no words
        assert HEADS[head].title in said


@pytest.mark.rest
def test_the_same_file_with_two_heads_is_two_models(three):
    test = opened(models="bundled:digits_vit", image="digit 3")
    for head in ("sigmoid", "regression"):
        open_file(test, three, head)
    first, second = test.session_state["models"][-2:]
    assert first != second
    assert [test.session_state["_checkpoints"][name].head for name in (first, second)] == ["sigmoid", "regression"]


def test_a_head_that_cannot_be_is_refused_in_a_sentence():
    test = open_file(opened(models="bundled:digits_vit", image="digit 3"), weights(1), "softmax")
    assert "one output, over which a softmax is always 1" in test.error[0].value
    assert test.session_state["models"] == ["bundled:digits_vit"]


def test_positions_of_no_square_open_at_the_size_that_is_typed():
    out = io.BytesIO()
    torch.save(timm.create_model("test_vit", num_classes=3, img_size=(64, 128)).state_dict(), out)
    test = opened(models="bundled:digits_vit", image="digit 3")
    for typed, said in (("", "give the image size"), ("64 by 128", "“64 by 128” is no image size"), ("64 × 128", "")):
        test.text_input(key="checkpoint_size").set_value(typed)
        open_file(test, out.getvalue(), "softmax")
        assert [said in as_read(each.value) for each in test.error] == [True] * bool(said)
    assert test.session_state["_checkpoints"][test.session_state["models"][-1]].image_size == (64, 128)
    choose(test, models=test.session_state["models"][-1:])
    assert "input 64 × 128 pixels" in texts(test)


@pytest.mark.rest
def test_a_file_of_two_networks_asks_which_is_meant():
    out, state = io.BytesIO(), timm.create_model("test_vit", num_classes=3).state_dict()
    torch.save({f"{part}.{name}": value for part in ("left", "right") for name, value in state.items()}, out)
    test = opened(models="bundled:digits_vit", image="digit 3")
    open_file(test, out.getvalue(), FROM_FILE)
    assert as_read(test.error[0].value).endswith("several networks, 'left', 'right': choose one under Network.")
    assert test.selectbox(key="checkpoint_part").options == ["left", "right"]
    test.selectbox(key="checkpoint_part").set_value("right")
    click(test, "open_checkpoint")
    assert not test.error
    assert test.session_state["_checkpoints"][test.session_state["models"][-1]].part == "right"
