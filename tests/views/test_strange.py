"""What a model answers to an image that shows none of what it knows is said to mean nothing, by every view of answers."""

from tests.views.contract import model
from vizkit.datasets import samples
from vizkit.views.blocks import Later, Said
from vizkit.views.convolution.shift import Shift
from vizkit.views.settled import settled
from vizkit.views.strange import caveat, with_caveat
from vizkit.views.subject import Subject
from vizkit.views.swin.switched_off import SwitchedOff
from vizkit.views.swin.window import Window

STRANGE = "knows 12 drawn insects alone: what it answers to “china” means nothing."


def subject(source: str, image: str) -> Subject:
    loaded = model(source)
    return Subject(lambda: loaded, samples.picture(image), image=image)


def first_of(blocks) -> str:
    return next(block.text for block in settled(blocks) if isinstance(block, Said) and block.text)


def test_whose_answers_mean_nothing():
    strange, known = subject("insects_swin", "china"), subject("insects_swin", "mayfly nymph")
    assert caveat([strange]) == f"{strange.name} {STRANGE}"
    own = Subject(known.open, known.original, image="IMG_1.jpg")  # of a visitor nobody knows what it shows
    photographs = subject("photographs_vit", "mayfly nymph")  # answers how like an image is
    assert caveat([known, own, photographs]) == ""
    assert caveat([strange, subject("digits_vit", "china")]).count("means nothing") == 2


def test_a_view_of_answers_says_so_in_its_first_sentence_and_no_other_view():
    strange = subject("insects_swin", "china")
    assert first_of(SwitchedOff().content(strange)).endswith(STRANGE)
    assert STRANGE not in first_of(SwitchedOff().content(subject("insects_swin", "mayfly nymph")))
    assert first_of(Shift().content([strange])).endswith(STRANGE)  # which takes time
    assert STRANGE not in first_of(Window().content(strange))


def test_it_is_said_once():
    blocks = [Said(""), Said("One."), Later(subject("insects_swin", "china"), (), lambda found: [Said("Two.")])]
    told = with_caveat(iter(blocks), [blocks[2].of])
    texts = [block.text for block in settled(told) if isinstance(block, Said)]
    assert [text.count("means nothing") for text in texts] == [0, 1, 0]
