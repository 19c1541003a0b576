"""Convolutional networks: what stands out in an output."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import counted, joined, percent

LOSS = 0.05  # of the answers
WEAK = 0.1  # of the strongest response


def strongest(output: Float[Tensor, "row column"], kind: str) -> str | None:
    """Where the output of a kernel is farthest from 0, and how much of it is nearly 0. None for pooling and for an
    output without weak places: a blurred image has no response that stands out."""
    size = output.abs()
    most = float(size.max())
    weak = float((size < WEAK * most).double().mean()) if most > 0 else 0.0
    if kind != "convolution" or weak < WEAK:
        return None
    row, column = divmod(int(size.argmax()), output.shape[1])
    value = float(output[row, column])
    return (
        f"The strongest response, {value:.4g}".replace("-", "−") + f", is in row {row + 1}, column "
        f"{column + 1}; {percent(weak)} of the output is less than a tenth of it."
    )


def contrast(image: Float[Tensor, "channel height width"], output: Float[Tensor, "row column"]) -> str | None:
    """How far the numbers spread before and after a kernel that makes an image of an image. None for one colour."""
    if output.numel() < 2 or (before := float(image.std())) == 0:
        return None
    after = float(output.std())
    how = "smoother" if after < before else "sharper"
    verb = "falls" if after < before else "rises"
    return f"The standard deviation {verb} from {before:.3g} in the image to {after:.3g} in the output, which is {how}."


def vanished(norms: Mapping[str, Float[np.ndarray, " layer"]]) -> str | None:
    """The activation whose gradient is smallest at the first layer beside the last, and the one that keeps most."""
    shares = {name: float(each[0] / each[-1]) for name, each in norms.items() if each[-1] > 0}
    if not shares:
        return None
    least, most = min(shares, key=lambda name: shares[name]), max(shares, key=lambda name: shares[name])
    words = f"With {least} the first layer's gradient is {_times(shares[least])} the last one's"
    words += "" if least == most else f", with {most} {_times(shares[most])}"
    return words + "."


def deeper(depths: Sequence[int], pre: Float[np.ndarray, " depth"], post: Float[np.ndarray, " depth"]) -> str | None:
    """The last layer's gradient of the deepest network beside that of the shallowest, for both places of a norm. None
    where a gradient is 0."""
    if not (pre.all() and post.all()):
        return None
    before, after = float(pre[-1] / pre[0]), float(post[-1] / post[0])
    expected = float((depths[0] / depths[-1]) ** 0.5)
    words = f"From {depths[0]} to {depths[-1]} layers the last layer's gradient becomes {_times(before)} as large with "
    words += f"pre-norm, where 1/√L would be {_times(expected)}; with post-norm it "
    words += "stays about as large" if 0.8 < after < 1.25 else f"becomes {_times(after)} as large"
    return f"{words}."


def _times(share: float) -> str:
    """As a factor that can be read: "0.42 times", "3 × 10⁻⁹ times"."""
    if 0.01 <= share < 1000:
        return f"{share:.2g} times"
    digits, power = f"{share:.0e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits} × 10{raised} times"


def alone(numbers: Mapping[str, tuple[float, float]], count: int) -> str | None:
    """What becomes of one number under every norm, (in a batch of one, among `count` images): which norms change it."""
    if count < 2:
        return (
            "In a batch of one, BatchNorm has only the tokens of this image to take its mean over; add "
            "images and its number changes."
        )
    changed = [name for name, (single, many) in numbers.items() if abs(single - many) > 1e-4]
    if not changed:
        return None
    single, many = numbers[changed[0]]
    kept = [name for name in numbers if name not in changed]
    words = (
        f"The other {count - 1} images change what {changed[0]} gives for this one from {single:z.2f} to {many:z.2f}"
    )
    words = words.replace("other 1 images change", "other image changes").replace("-", "−")
    return f"{words}; {joined(kept)} give the same."


def negative(layers: Sequence[tuple[str, float]]) -> str:
    """(name of the activation, share of what it is given below 0) of every layer, in order: the most and the least."""
    least, most = (pick(range(len(layers)), key=lambda index: layers[index][1]) for pick in (min, max))
    (name, share), (other, lowest) = layers[most], layers[least]
    end = ", which it sets to 0" if name == "ReLU" else ""
    words = f"{name} {most + 1} is given most numbers below 0, {percent(share)}{end}"
    words += f"; {other} {least + 1} least, {percent(lowest)}" if len(layers) > 1 else ""
    return words + "."


def made_of(channels: Sequence[int], shares: Sequence[float], value: float) -> str:
    """How many channels of the layer before, the largest first, make half of all that is added and taken away."""
    order = sorted(range(len(shares)), key=lambda index: -abs(shares[index]))
    total = sum(map(abs, shares)) or 1.0
    count, covered = 0, 0.0
    while count < len(order) and covered < total / 2:
        covered += abs(shares[order[count]])
        count += 1
    first = f"Channel {channels[order[0]] + 1} of the layer before adds most to this number, {shares[order[0]]:+.2f}"
    words = f"{first}; {counted(count, 'channel')} of {len(shares)} {'makes' if count == 1 else 'make'} half of all"
    return f"{words} that is added or taken away.".replace("-", "−")


def moved(
    distance_px: Sequence[int],
    answers: Mapping[str, Sequence[str]],
    values: Mapping[str, Float[np.ndarray, " distance"]],
    chosen_px: int,
    words: Mapping[str, tuple[str, Callable[[float], str]]],
) -> str:
    """By model: the answer at every distance, and the value of its answer to the unmoved image there, with what it is
    and how it is said. The nearest distance at which a model answers otherwise, and what; else whose value changes most
    at the chosen distance."""
    zero, at = list(distance_px).index(0), list(distance_px).index(chosen_px)
    changed = {
        name: min((px for px, answer in zip(distance_px, each, strict=True) if answer != each[zero]), key=abs)
        for name, each in answers.items()
        if set(each) != {each[zero]}
    }
    if changed:
        name = min(changed, key=lambda each: abs(changed[each]))
        px, each = changed[name], answers[name]
        said = (
            f"{name} answers {each[list(distance_px).index(px)]} instead of {each[zero]} once the image moves by "
            f"{counted(abs(px), 'pixel')} to the {'left' if px < 0 else 'right'}"
        )
        steady = [other for other in answers if other not in changed]
        keep = f"{joined(steady)} {'keep their answers' if len(steady) > 1 else 'keeps its answer'}" if steady else ""
        return f"{said}; {keep} up to {counted(max(distance_px), 'pixel')}." if keep else f"{said}."
    most = max(values, key=lambda name: abs(float(values[name][at] - values[name][zero])))
    quantity, text = words[most]
    before, after = (text(float(values[most][place])) for place in (zero, at))
    whose = f"All answers stay; the {quantity} of {most}’s" if len(answers) > 1 else f"The answer stays; its {quantity}"
    whose = "The likeness to the unmoved image" if quantity == "likeness" and len(answers) == 1 else whose
    falls = "falls" if values[most][at] < values[most][zero] else "rises"
    goes = f"stays {after}" if before == after else f"{falls} from {before} to {after}"
    return f"{whose} {goes} when the image moves by {counted(abs(chosen_px), 'pixel')}."


def robust(lines: Mapping[str, tuple[Sequence[int], Sequence[float], Sequence[float]]]) -> str | None:
    """By model: distances, shares of right answers, halves of their 95 % intervals. The farthest distance up to which
    the best and the worst model stay within `LOSS` of the unmoved images, or where the worst leaves it for a while;
    None where all go equally far."""
    reach = {
        name: max(px for i, px in enumerate(distances) if min(right[: i + 1]) >= right[0] - LOSS)
        for name, (distances, right, _) in lines.items()
    }
    most, least = max(reach, key=lambda name: reach[name]), min(reach, key=lambda name: reach[name])
    if reach[most] == reach[least]:
        return None
    far = counted(reach[most], "pixel")
    distances, right, _ = lines[least]
    beyond = [(px, each) for px, each in zip(distances, right, strict=True) if px > reach[least]]
    how = f"loses more at {beyond[0][0]}, and less again beyond"
    if all(each < right[0] - LOSS for _, each in beyond):
        how = f"only up to {reach[least]}"
    return f"{most} loses less than {percent(LOSS)} of the answers up to {far}, {least} {how}."


def field_used(stage: str, seen_px: int, used_px: float, image_px: int, held: float) -> str | None:
    """`seen_px`: the side of the theoretical field, `used_px` that of the square which holds `held` of the effect, both
    of a unit of `stage`; `image_px`: the shorter side of the model's input. None where the square is no smaller."""
    most = min(seen_px, image_px)
    if used_px >= most:
        return None
    beyond = seen_px > image_px
    area = (used_px / most) ** 2
    return (
        f"The marked unit of {stage} can see {seen_px} × {seen_px} pixels"
        + (f", more than the image has, but {percent(held)}" if beyond else f", but {percent(held)}")
        + f" of what changes it lies in the {used_px:.0f} × {used_px:.0f} pixels around its middle: {percent(area)} of "
        + ("the image." if beyond else "its field.")
    )


def seen(models: Mapping[str, tuple[str, float]]) -> str:
    """By model: after which layer, and the share of the image that the marked cell can see by then."""
    cells = (
        f"that of {name} sees {percent(share)} of the image after {layer}" for name, (layer, share) in models.items()
    )
    return f"The marked cell{'; '.join(cells).removeprefix('that')}."


def reached(models: Mapping[str, tuple[str, int | None, int, float]]) -> str:
    """By model: what its layers are called, after how many of them the marked cell can see the whole image (None:
    never), how many there are, and the share of the image that is seen after the first."""
    parts = []
    for name, (noun, whole, count, first) in models.items():
        if whole == 1:
            parts.append(f"the marked cell of {name} sees the whole image in its first {noun}")
            continue
        when = f"after {noun} {whole} of {count}" if whole else f"after none of its {count} {noun}s"
        parts.append(f"that of {name} sees {percent(first)} after its first {noun} and all {when}")
    words = "; ".join(sorted(parts, key=lambda part: not part.startswith("the")))
    words = words.replace("that of", "the marked cell of", 1) if words.startswith("that of") else words
    return f"{words[0].upper()}{words[1:]}."
