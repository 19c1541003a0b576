"""Changes as switches have them, by hand."""

import pytest

from vizkit.analysis.comparison.pixel_edits import PixelEdit
from vizkit.interventions import Changes
from vizkit.interventions.switched import Switched, edits_from, followed, in_words, paint, painted, switched
from vizkit.models.recording.edits import ALL, Edit

HEADS = (2, 3)


def test_strokes_of_one_brush_are_one_change():
    grid = (4, 4)
    first = paint((), "erase", grid, "", (1, 2))
    assert first == (PixelEdit("erase", grid, (1, 2)),)
    assert painted(first, "erase", grid, "") == (1, 2)
    assert painted(first, "grey", grid, "") == ()
    longer = paint(first, "erase", grid, "", (1, 2, 5))
    assert longer == (PixelEdit("erase", grid, (1, 2, 5)),)
    assert paint(longer, "erase", grid, "", ()) == ()
    swapped = paint(longer, "swap", grid, "", (3, 9))
    assert paint(swapped, "swap", grid, "", (9, 3))[1:] == (
        PixelEdit("swap", grid, (3, 9)),
        PixelEdit("swap", grid, (9, 3)),
    )


def test_switches_and_edits_are_the_same():
    now = Switched((0, 5), ((0, 1), (1, 0), (1, 1), (1, 2)), ((1, 2.0),), (Edit("uniform", 0, 0),))
    edits = (
        Edit("blind", ALL, tokens=(1, 6)),
        Edit("heads", 0, 1),
        Edit("heads", 1),
        Edit("uniform", 0, 0),
        Edit("temperature", 1, None, 2.0),
    )
    assert edits_from(now, HEADS, 1) == edits
    assert switched(edits, HEADS, 1) == now


@pytest.mark.parametrize("text", ["heads:99=0", "nonsense", "heads:1.99=0", "<script>", "none", "", "blind:all=9,,9"])
def test_what_a_model_cannot_follow_is_left_out(text):
    assert not followed([text], HEADS)
    assert followed([text, "heads:1.2=0"], HEADS).texts == ("heads:1.2=0",)


@pytest.mark.parametrize(
    "texts, words",
    [
        ([], ""),
        (["heads:1.2=0"], "head 2 of layer 1 off"),
        (["heads:1.1=0", "heads:2.3=0"], "2 heads off"),
        (["heads:2=0"], "all heads of layer 2 off"),
        (["blind:all=1,2,3"], "3 patches hidden"),
        (["blind:all=1"], "1 patch hidden"),
        (["temperature:2=0.5"], "layer 2 at temperature 0.5"),
        (["pixels:4x4:erase=1,2", "pixels:4x4:erase=3"], "3 patches erased"),
        (["pixels:4x4:swap=1-2", "heads:1.1=0"], "2 patches exchanged and head 1 of layer 1 off"),
        (["pixels:4x4:paste=digit 3@1"], "1 patch of digit 3 pasted"),
        (["drop:3,4"], "2 tokens taken out"),
        (["positions:zero", "uniform:1.1"], "no positions and 1 change of the attention"),
    ],
)
def test_they_are_said_without_program_text(texts, words):
    assert in_words(Changes.parse(texts), HEADS, 1) == words
