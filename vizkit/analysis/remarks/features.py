"""What the vectors of patches know, as numbers of these very images."""

from collections.abc import Mapping, Sequence

from vizkit.analysis.remarks.remark import begun, counted, joined, percent
from vizkit.percent import in_percent

TOLD = 0.5  # an IoU from which two masks are of one thing, as detection counts it


def of_colours(explained: float, patches: int, images: int, after: str, on_insect: tuple[float, float] | None) -> str:
    """`explained`: the share of the variance of three components. `on_insect`: the IoU of the places where the first is
    positive with the drawn insect, and that of all places."""
    held = f"three components hold {percent(explained)} of the variance of {counted(patches, 'patch', 'patches')}"
    where = f" of {counted(images, 'image')}" if images > 1 else ""
    if on_insect is None:
        return f"After {after}, {held}{where}."
    own, every = on_insect
    how = "lies on the insect" if own >= TOLD else "is not the insect alone" if own > every else "misses the insect"
    return (
        f"After {after}, the first component {how}: where it is positive in the first image the IoU with it is "
        f"{own:.2f}, that of the whole image {every:.2f}; {held}{where}."
    )


def of_basis(rule: str, left_out: int, clipped: int, patches: int) -> str:
    """How sign, basis and range of the colours were chosen."""
    out = f"{counted(left_out, 'patch', 'patches')} of far larger norm left out" if left_out else "no patch left out"
    return (
        f"One basis for all images, {out}. Red, green and blue grow towards {rule}; they end at the 1st and 99th "
        f"percentile; beyond them {'is' if clipped == 1 else 'are'} {clipped} of {patches:,} patches."
    )


def of_object(
    name: str, share: float, scored: Mapping[str, float] | None, every: float, chance: float, agreed: float
) -> str:
    """`scored`: the IoU of each rule with the drawn insect, `every` that of the whole image, `chance` that of as many
    patches laid anywhere. `agreed`: the mean IoU of the mask with those of the other rules."""
    if scored is None:
        doubt = "" if agreed >= TOLD else "; they disagree, so it may be the ground"
        return (
            f"{name} takes {percent(share)} of the image for the object; whether it is one is not known here. The "
            f"other rules share an IoU of {agreed:.2f} with it on average{doubt}."
        )
    best = max(scored.values())
    leaders = [each for each, value in scored.items() if value == best]
    lead = "the best of the rules here" if name in leaders else f"{joined(leaders)} has {best:.2f}"
    return (
        f"{name} finds the insect with an IoU of {scored[name]:.2f}, {lead}; the whole image has {every:.2f}, as many "
        f"patches laid anywhere {chance:.2f}."
    )


def of_matches(right: float, swapped: float, patches: int, limit: float) -> str:
    """Of the image and its mirror image: the shares of patches that find their own place there, and of those that match
    what now is where they stood."""
    return (
        f"In the mirrored image, {percent(right)} of {patches:,} patches find their own place within "
        f"{percent(limit)} of the side (PCK); {percent(swapped)} stay where they were, as if left were right."
    )


def of_parts(right: int, asked: int, chance: float, images: Sequence[str]) -> str:
    """Of the patches of a drawn insect that have a part, how many match the same part of the other insects."""
    share = right / max(1, asked)
    more = "" if share > chance else ", so no part is found"
    return (
        f"{begun(percent(share))} of {counted(asked, 'match', 'matches')} from the insect's patches to "
        f"{joined(images)} lie on the same part; by chance it would be {percent(chance)}{more}."
    )


def of_labels(
    painted: Mapping[int, int], things: Sequence[int], images: int, on_insects: tuple[int, int, float, float] | None
) -> str:
    """`painted`: things by patches; `things`: of all patches. `on_insects`: how many are drawn, their patches that
    nobody painted, the mean IoU of insect and ground there, and that of as many patches anywhere."""
    if not painted:
        return "No patch is painted: choose a thing and click a patch of it."
    own = sorted({*painted.values()})
    told = [f"{percent(sum(each == thing for each in things) / len(things))} are thing {thing}" for thing in own]
    one = counted(len(painted), "painted patch", "painted patches")
    where = f"{counted(len(things), 'patch', 'patches')} of {counted(images, 'image')}"
    if on_insects is None:
        return f"After {one}, {joined(told)} of {where}."
    count, patches, mean, chance = on_insects
    others = counted(patches, "other patch", "other patches")
    return (
        f"After {one}, insect and ground have a mean IoU of {mean:.2f} on {others} of "
        f"{counted(count, 'drawn insect')}; as many patches laid anywhere have {chance:.2f}. Of all, {joined(told)}."
    )


def of_artifacts(
    counts: Sequence[int], at: int, times: float, patches: int, neuron: tuple[int, int, float, float] | None
) -> str:
    """`counts`: of artifacts after each layer. `at`: the layer, from 0, where a norm stands out most, and how many
    `times` the median it is. `neuron`: the one that is strongest there, its MLP and itself counted from 0, and
    its mean |activation| at them and elsewhere."""
    where = f"after layer {at + 1} of {len(counts)}, the largest norm is {times:.1f} times the median"
    if not any(counts):
        return f"No artifacts here: no patch of {patches:,} is far longer than all others in any layer; {where}."
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
    are, and the share of attention that they, or the longest patch, get in the last layer."""
    trial, gone, where = "There is nothing to move; as a trial, those of the longest patch: ", "", "that patch"
    if left[0]:
        are = "is" if left[1] == 1 else "are"
        trial, where = "", "where they were"
        gone = f", there {are} {counted(left[1], 'artifact')} instead of {left[0]}"
    said = (
        f"with {counted(neurons, 'neuron')} in the register, the largest norm after layer {layer} is {times[1]:.1f} "
        f"instead of {times[0]:.1f} times the median{gone}, and {in_percent(attends[1])} instead of "
        f"{in_percent(attends[0])} of the attention in the last layer goes to {where}."
    )
    return f"{trial}{said}" if trial else begun(said)
