"""What the vectors of patches know, as numbers of these very images."""

from collections.abc import Mapping, Sequence

from vizkit.analysis.remarks.remark import begun, counted, joined, percent
from vizkit.percent import in_percent

TOLD = 0.5  # an IoU from which two masks are of one thing, as detection counts it


def of_colours(
    explained: float, patches: int, after: str, images: int, of_images: float, of_insects: float | None
) -> str:
    """`explained`: the share of the variance of three components. `of_images`: of how many patches the nearest mean
    colour is that of their own image; `of_insects`: within the images, that of their own side of insect and ground,
    which count alike; None of other images."""
    ground = "" if of_insects is None else f"insect from ground: {percent(of_insects)}, by chance 50 %"
    if images == 1:
        held = f"three components hold {percent(explained)} of the variance of {counted(patches, 'patch', 'patches')}"
        return f"After {after}, {f'the colours {_tell(of_insects, 2)} {ground}' if of_insects else held}."
    said = (
        f"After {after}, the colours {_tell(of_images, images)} the images apart: of {percent(of_images)} of the "
        f"patches the nearest mean colour is that of their own image, by chance {percent(1 / images)}."
    )
    return f"{said} Within an image, they {_tell(of_insects, 2)} {ground}." if of_insects else said


def _tell(share: float, groups: int) -> str:
    """From half of the way from chance to all."""
    return "tell" if share >= (1 + 1 / groups) / 2 else "hardly tell"


def of_first(own: float, whole: float) -> str:
    """`own`: the IoU of the places of the first image where the first component is positive with the drawn insect,
    `whole` that of all places."""
    how = "lies on the insect" if own >= TOLD else "is not the insect alone" if own > whole else "misses the insect"
    return (
        f"The first component {how}: where it is positive in the first image the IoU with it is {own:.2f}, that of the "
        f"whole image {whole:.2f}."
    )


def of_basis(rule: str, left_out: int, clipped: int, patches: int) -> str:
    """How sign, basis and range of the colours were chosen."""
    out = f"{counted(left_out, 'patch', 'patches')} of far larger norm left out" if left_out else "no patch left out"
    return (
        f"One basis for all images, {out}. The sign of a component is open: red, green and blue are bright on the side "
        f"of {rule}. Colours end at the 1st and 99th percentile, beyond which "
        f"{'lies' if clipped == 1 else 'lie'} {clipped} of {patches:,} patches."
    )


def of_object(
    name: str,
    share: float,
    scored: Mapping[str, float] | None,
    every: float,
    chance: float,
    others: Mapping[str, float],
) -> str:
    """`scored`: the IoU of each rule with the drawn insect, `every` that of the whole image, `chance` that of as many
    patches laid anywhere. `others`: the IoU of the mask with that of each other rule."""
    if scored is None:
        nearest, farthest = (choose(others, key=others.__getitem__) for choose in (max, min))
        return (
            f"{name} takes {percent(share)} of the image for the object. {nearest} comes nearest to it, with an IoU of "
            f"{others[nearest]:.2f}, {farthest} is farthest, with {others[farthest]:.2f}: which is right is not known "
            "here."
        )
    best = max(scored.values())
    leaders = [each for each, value in scored.items() if value == best]
    lead = "the best of the rules here" if name in leaders else f"{joined(leaders)} has {best:.2f}"
    return (
        f"{name} {'finds' if scored[name] > chance else 'misses'} the insect with an IoU of {scored[name]:.2f}, "
        f"{lead}; the whole image has {every:.2f}, as many patches laid anywhere {chance:.2f}."
    )


def of_matches(right: float, swapped: float, patches: int, limit: float) -> str:
    """Of the image and its mirror image: the shares of patches that find their own place there, and of those that match
    what now is where they stood."""
    return (
        f"In the mirrored image, {percent(right)} of {patches:,} patches find their own place within "
        f"{percent(limit)} of the side (PCK); {percent(swapped)} stay where they were, as if left were right."
    )


def of_others(back: float, limit: float) -> str:
    """Of images in which no right place is known: the share of the matches from whose end the most similar patch lies
    where they began."""
    return (
        f"In the other images there may be no right place: of {percent(1 - back)} of the matches the way back ends "
        f"elsewhere, more than {percent(limit)} of the side away, and their lines are dashed."
    )


def of_parts(share: tuple[float, float, float], matches: int, chance: float, images: Sequence[str]) -> str:
    """Of the patches of a drawn insect that have a part, how many match the same part of the other insects: the share,
    and its 95 % interval. `chance`: the share if the matches lay anywhere on them."""
    own, low, high = share
    if low <= chance <= high:
        verdict = "no better than by chance"
    else:
        verdict = "more than by chance" if own > chance else "less than by chance"
    return (
        f"{begun(percent(own))} (95 % interval {100 * low:.0f} to {percent(high)}) of "
        f"{counted(matches, 'match', 'matches')} from the insect's patches to {joined(images)} lie on the same part: "
        f"{verdict}, {percent(chance)}."
    )


def of_labels(
    painted: Mapping[int, int],
    things: Sequence[tuple[str, Sequence[int]]],
    on_insects: tuple[int, int, float, float] | None,
) -> str:
    """`painted`: things by patches; `things`: of all patches of each image, beside its name. `on_insects`: how many are
    drawn, their patches that nobody painted, the mean IoU of insect and ground there, and that of as many patches
    anywhere."""
    if not painted:
        return "No patch is painted: choose a thing and click a patch of it."
    first, *others = sorted({*painted.values()})
    shares = [f"{percent(sum(each == first for each in own) / len(own))} of {name}" for name, own in things]
    one = counted(len(painted), "painted patch", "painted patches")
    rest = f"; all else is {'thing' if len(others) == 1 else 'things'} {joined([*map(str, others)])}" if others else ""
    given = f"the probe finds thing {first} on {joined(shares)}{rest}."
    if on_insects is None:
        return f"After {one}, {given}"
    count, patches, mean, chance = on_insects
    others = counted(patches, "other patch", "other patches")
    return (
        f"After {one}, insect and ground have a mean IoU of {mean:.2f} on {others} of "
        f"{counted(count, 'drawn insect')}; as many patches laid anywhere have {chance:.2f}. {begun(given)}"
    )


def of_artifacts(
    counts: Sequence[int], at: int, times: float, patches: int, neuron: tuple[int, int, float, float] | None
) -> str:
    """`counts`: of artifacts after each layer. `at`: the layer, from 0, where a norm stands out most, and how many
    `times` the median it is. `neuron`: the one that is strongest there, its MLP and itself counted from 0, and
    its mean |activation| at them and elsewhere."""
    where = f"after layer {at + 1} of {len(counts)}, the largest norm is {times:.1f} times the median"
    if not any(counts):
        return f"No artifacts here: no patch of {patches:,} has a norm far above all others, in any layer; {where}."
    layers = [number for number, count in enumerate(counts, 1) if count]
    first, last = layers[0], layers[-1]
    among = f"layers {first} to {last}" if len(layers) > 1 else f"layer {first}"
    among = among if len(layers) == last - first + 1 else f"{len(layers)} of the {among}"
    are = "is an artifact" if counts[at] == 1 else "are artifacts"
    strong = ""
    if neuron is not None:
        block, unit, there, elsewhere = neuron
        strong = (
            f"; neuron {unit + 1} of block {block + 1} is strongest at them ({there:.3g}; elsewhere {elsewhere:.3g})"
        )
    return f"{counts[at]} of {patches:,} patches {are} (in {among}): {where}{strong}."


def of_register(neurons: int, layer: int, times: Sequence[float], left: Sequence[int], attends: Sequence[float]) -> str:
    """Of the model as it is and with the register: the largest norm after a layer in medians, how many artifacts there
    are, and the share of attention that they get in the last layer."""
    return (
        f"With {counted(neurons, 'neuron')} in the register, the largest norm after layer {layer} is {times[1]:.1f} "
        f"instead of {times[0]:.1f} times the median, there {'is' if left[1] == 1 else 'are'} "
        f"{counted(left[1], 'artifact')} instead of {left[0]}, and {in_percent(attends[1])} instead of "
        f"{in_percent(attends[0])} of the attention in the last layer goes to where they were."
    )
