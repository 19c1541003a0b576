"""The sentences on convolutional networks, on both sides of every threshold."""

from itertools import starmap

import numpy as np
import pytest
import torch

from vizkit.analysis.remarks import convolution as rules


def test_the_strongest_response():
    output = torch.tensor([[0.0, 1.0, -8.0, 2.0]])  # 0 alone is weaker than 0.8
    said = rules.strongest(output, "convolution")
    assert said == ("The strongest response, −8, is in row 1, column 3; 25 % of the output is less than a tenth of it.")
    assert rules.strongest(output, "maximum") is None
    assert rules.strongest(torch.zeros(2, 2), "convolution") is None
    tenth = torch.ones(2, 5)
    tenth[0, 0] = 0.0  # one of ten places is enough
    assert rules.strongest(tenth, "convolution") is not None
    assert rules.strongest(torch.ones(2, 5), "convolution") is None


def test_contrast():
    """±1 has the standard deviation √(4 / 3) = 1.15 as a sample of four."""
    image, half = torch.tensor([[[1.0, -1.0, 1.0, -1.0]]]), torch.tensor([[0.5, -0.5, 0.5, -0.5]])
    said = rules.contrast(image, half)
    assert said == ("The standard deviation falls from 1.15 in the image to 0.577 in the output, which is smoother.")
    assert rules.contrast(image, 4 * half) == (
        "The standard deviation rises from 1.15 in the image to 2.31 in the output, which is sharper."
    )
    assert rules.contrast(torch.ones(3, 2, 2), half) is None
    assert rules.contrast(image, half[:, :1]) is None
    assert rules.contrast(image, half[:, :2]) is not None


def test_gradients_that_vanish():
    norms = {"ReLU": [1.0, 2.0], "tanh": [3e-9, 1.0], "dead": [1.0, 0.0]}
    said = rules.vanished({name: np.array(each) for name, each in norms.items()})
    assert said == ("With tanh the first layer's gradient is 3 × 10⁻⁹ times the last one's, with ReLU 0.5 times.")
    assert rules.vanished({"ReLU": np.array([0.01, 1.0])}) == (
        "With ReLU the first layer's gradient is 0.01 times the last one's."
    )
    assert rules.vanished({"ReLU": np.array([1000.0, 1.0])}) == (
        "With ReLU the first layer's gradient is 1 × 10³ times the last one's."
    )
    assert rules.vanished({"dead": np.zeros(2)}) is rules.vanished({}) is None


@pytest.mark.parametrize(
    "pre, post, end",
    [
        (0.5, 1.0, "stays about as large"),
        (0.5, 1.25, "becomes 1.2 times as large"),
        (0.5, 0.8, "becomes 0.8 times as large"),
        (0.59, 0.81, "stays about as large"),
    ],
)
def test_deeper_networks(pre, post, end):
    """From 2 to 8 layers 1 / √L halves."""
    said = rules.deeper((2, 8), np.array([1.0, pre]), np.array([1.0, post]))
    assert said == (
        f"From 2 to 8 layers the last layer's gradient becomes {pre:.2g} times as large with pre-norm, where 1/√L "
        f"would be 0.5 times; with post-norm it {end}."
    )
    assert rules.deeper((2, 8), np.array([1.0, 0.0]), np.array([1.0, post])) is None
    assert rules.deeper((2, 8), np.array([1.0, pre]), np.array([0.0, post])) is None


def test_one_image_among_others():
    numbers = {"BatchNorm": (0.5, -0.25), "LayerNorm": (0.5, 0.5), "RMSNorm": (2.0, 2.0)}
    said = rules.alone(numbers, 3)
    assert said == (
        "The other 2 images change what BatchNorm gives for this one from 0.50 to −0.25; LayerNorm and RMSNorm give "
        "the same."
    )
    assert str(rules.alone(numbers, 2)).count("The other image changes what BatchNorm gives") == 1
    assert rules.alone({"LayerNorm": (0.5, 0.5)}, 2) is None
    few = rules.alone(numbers, 1)
    assert few.startswith("In a batch of one, BatchNorm has only")


def test_what_activations_are_given():
    said = rules.negative([("ReLU", 0.75), ("tanh", 0.25)])
    assert said == "ReLU 1 is given most numbers below 0, 75 %, which it sets to 0; tanh 2 least, 25 %."
    assert rules.negative([("tanh", 0.5)]) == "tanh 1 is given most numbers below 0, 50 %."
    said = rules.negative([("ReLU", 0.25), ("GELU", 0.75)])
    assert said == "GELU 2 is given most numbers below 0, 75 %; ReLU 1 least, 25 %."


def test_what_a_number_is_made_of():
    said = rules.made_of([4, 7, 9], [0.25, -1.0, 0.75], 0.0)
    assert said == (
        "Channel 8 of the layer before adds most to this number, −1.00; 1 channel of 3 makes half of all that is added "
        "or taken away."
    )
    assert "; 2 channels of 3 make half of all" in rules.made_of([4, 7, 9], [1.0, 1.0, 1.0], 3.0)


def test_the_answers_of_a_move():
    values = {"CNN": np.array([1.0, 0.75]), "ViT": np.array([1.0, 0.5])}
    words = dict.fromkeys(values, ("probability", "{:.2f}".format))
    steady = rules.moved((0, 4), {"CNN": ["ant", "ant"], "ViT": ["bee", "bee"]}, values, 4, words)
    assert (
        steady == "All answers stay; the probability of ViT’s falls from 1.00 to 0.50 when the image moves by 4 pixels."
    )
    own = {"ViT": np.array([1.0, 0.995])}
    alike = rules.moved((0, 4), {"ViT": ["", ""]}, own, 4, {"ViT": ("likeness", "{:.3f}".format)})
    assert alike == "The likeness to the unmoved image falls from 1.000 to 0.995 when the image moves by 4 pixels."
    answers = {"CNN": ["ant", "bee", "bee", "ant"], "ViT": ["bee", "bee", "bee", "ant"]}
    flat = dict.fromkeys(answers, np.ones(4))
    said = rules.moved((-4, -2, 0, 6), answers, flat, 0, words)
    assert said == "CNN answers ant instead of bee once the image moves by 4 pixels to the left."
    answers["ViT"] = ["bee"] * 4
    said = rules.moved((-4, -2, 0, 6), answers, flat, 0, words)
    assert said.endswith("to the left; ViT keeps its answer up to 6 pixels.")


def test_where_the_whole_image_is_seen():
    models = {"CNN": ("stage", 4, 4, 0.25), "LeNet": ("stage", None, 2, 0.04), "ViT": ("layer", 1, 1, 1.0)}
    assert rules.reached(models) == (
        "The marked cell of ViT sees the whole image in its first layer; that of CNN sees 25 % after its first stage "
        "and all after stage 4 of 4; that of LeNet sees 4 % after its first stage and all after none of its 2 stages."
    )


def test_up_to_where_the_best_and_the_worst_model_hold():
    """Right answers: 0.75 and then 5 points less at most; what recovers later was lost, and that is said."""
    distances, half = (0, 4, 8), (0.0, 0.0, 0.0)
    lines = {"CNN": (distances, (0.75, 0.71, 0.71), half), "ViT": (distances, (0.75, 0.25, 0.75), half)}
    said = rules.robust(lines)
    assert said == "CNN loses less than 5 % of the answers up to 8 pixels, ViT loses more at 4, and less again beyond."
    assert rules.robust({"CNN": lines["CNN"]}) is None
    assert rules.robust({"CNN": lines["CNN"], "ViT": (distances, (0.25, 0.25, 0.25), half)}) is None
    lines["ViT"] = distances, (0.75, 0.25, 0.25), half
    assert rules.robust(lines) == "CNN loses less than 5 % of the answers up to 8 pixels, ViT only up to 0."


def test_how_much_of_a_field_is_used():
    def said(*given):
        return rules.field_used("stage 2", int(given[0]), given[1], int(given[2]), 0.9)

    inside, beyond, whole = starmap(said, ((40, 20.0, 80), (100, 40.0, 80), (40, 40.0, 80)))
    assert inside == (
        "The marked unit of stage 2 can see 40 × 40 pixels, but 90 % of what changes it lies in the 20 × 20 "
        "pixels around its middle: 25 % of its field."
    )
    assert beyond == (
        "The marked unit of stage 2 can see 100 × 100 pixels, more than the image has, but 90 % of what changes "
        "it lies in the 40 × 40 pixels around its middle: 25 % of the image."
    )
    assert whole is None
    used = rules.field_used("stage 2", 80, 20.0, 80, 0.9)
    assert used.endswith("of its field.")
