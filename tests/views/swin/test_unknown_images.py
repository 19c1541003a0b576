"""What a model answers to an image that shows none of what it knows means nothing: every view of answers says so."""

from tests.views.contract import model
from vizkit.datasets import samples
from vizkit.views import content
from vizkit.views.blocks import Later, Said
from vizkit.views.bundled import caveat
from vizkit.views.convolution.shift import Shift
from vizkit.views.settled import settled, with_caveat
from vizkit.views.subject import Subject
from vizkit.views.swin.switched_off import SwitchedOff
from vizkit.views.swin.window import Window

STRANGE = "knows only 12 drawn insects: what it answers to “china” means nothing."


def subject(source, image):
    loaded = model(source)
    return Subject(lambda: loaded, samples.picture(image), image=image)


def first_of(blocks):
    return next(block.text for block in settled(blocks) if isinstance(block, Said) and block.text)


def test_whose_answers_mean_nothing():
    for name in ("bundled:insects_swin", "Swin · insects"):
        assert caveat(name, "china") == f"{name} {STRANGE}"
        assert caveat(name, "mayfly nymph") == ""
        assert caveat(name, "IMG_1.jpg") == ""  # nobody knows what a visitor's own shows
    assert caveat("ViT · photographs", "mayfly nymph") == ""  # answers how like an image is
    assert caveat("resnet18", "china") == ""


def test_a_view_of_answers_says_so_in_its_first_sentence_and_no_other_view():
    strange = subject("insects_swin", "china")
    assert first_of(content(SwitchedOff(), strange)).startswith(f"{strange.name} {STRANGE} ")
    assert STRANGE not in first_of(content(SwitchedOff(), subject("insects_swin", "mayfly nymph")))
    assert first_of(content(Shift(), [strange])).startswith(f"{strange.name} {STRANGE} ")  # which takes time
    assert STRANGE not in first_of(content(Window(), strange))


def test_it_is_said_once():
    blocks = [Said(""), Said("One."), Later(subject("insects_swin", "china"), (), lambda found: [Said("Two.")])]
    told = with_caveat(blocks, "It means nothing.")
    texts = [block.text for block in settled(told) if isinstance(block, Said)]
    assert [text.count("means nothing") for text in texts] == [0, 1, 0]
