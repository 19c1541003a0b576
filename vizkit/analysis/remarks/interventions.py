"""What becomes of an answer when something in the model is changed."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.head_importance import for_all, matters_most, not_chance
from vizkit.analysis.attribution.logit_lens import stays_from
from vizkit.analysis.attribution.smallest_set import Search
from vizkit.analysis.remarks.remark import begun, joined, percent, value_of
from vizkit.heads import ITSELF_IN_WORDS, LIKENESS, SOFTMAX, Head

LITTLE = 0.02
HARM = 0.05  # of what a corruption took
SOME, MUCH = 0.25, 0.6  # of a rank correlation
MOST_NAMED = 3  # heads with the same number


def of_answers(
    names: Sequence[str], before: Sequence[float], after: Sequence[float], changes: str, head: Head = SOFTMAX
) -> str | None:
    """Values of the same outputs, before and after `changes` in words, such as "head 3 of layer 5 off". None without
    any."""
    if not changes or not names:
        return None
    text = value_of(head)
    first, now = (max(range(len(names)), key=each.__getitem__) for each in (before, after))
    with_, was, its = f"With {changes}", text(before[first]), text(after[first])
    fell = f"at {its}" if was == its else f"from {was} to {its}"
    little = was == its or (head.bounded and abs(after[first] - before[first]) < LITTLE)
    moves = f"hardly moves, {fell}" if little else f"goes {fell}"
    if not head.probable:
        return f"{with_}, the {names[first]} {moves}{_nearest(names, before, after) if head is LIKENESS else ''}."
    if first != now:
        return f"{with_}, the answer is {names[now]} ({text(after[now])}) and no longer {names[first]}, which {moves}."
    if little:
        return f"{with_}, the answer hardly moves: {names[first]}, {fell}."
    return f"{with_}, the answer stays {names[first]}, {fell}."


def _nearest(names: Sequence[str], before: Sequence[float], after: Sequence[float]) -> str:
    """Which of the other images, all but the first, is nearest before and after; "" without any."""
    if len(names) < 2:
        return ""
    was, now = (max(range(1, len(names)), key=each.__getitem__) for each in (before, after))
    if after[now] > after[0]:
        return f", and it is nearer to {names[now]}, {LIKENESS.text(after[now])}"
    likeness = LIKENESS.text(after[now])
    if was != now or abs(after[now] - before[now]) >= LITTLE:
        likeness = f"{LIKENESS.text(before[was])} before and {likeness} now"
    return f"; the nearest other image {'stays' if was == now else f'was {names[was]} and is'} {names[now]}, {likeness}"


def of_overlap(title: str, shared: float) -> str:
    """`title`: of the map, "Where the class token looks in layer 1"; `shared`: its overlap with that before, 0 to 1."""
    return f"{title} overlaps by {percent(shared)} with where it looked before."


def of_smallest(
    result: Search,
    what: str,
    name: str,
    head: Head = SOFTMAX,
    instead: str = "no image",
    other: tuple[str, float] = ("", 0.0),
    had: float | None = None,
) -> str:
    """How many parts, called `what`, the answer `name` needs, or falls without. `instead`: what the model is given
    where none of them is there, "a plain image"; `other`: the answer without the parts, or of the other images the
    nearest, with its value; `had`: what the answer has with all parts."""
    text, count, (rival, high) = value_of(head), len(result.order), other
    first, last = (text(result.probability[at]) for at in (0, -1))
    some, s = f"{count} of {result.parts} {what}", "s" if count == 1 else ""
    if not result.reached:
        return f"{some} {'is' if count == 1 else 'are'} not enough yet: {name} is at {last}."
    if not head.probable and result.goal == "flip":
        nearer = f"; {rival} is nearer now ({text(high)})" * (high > result.probability[-1])
        half = f"more than half way to that of {instead}"
        return f"Without {some} the {name} falls from {first} to {last}, {half}{nearer}."
    if not head.probable:
        was_below = result.probability[0] < max(result.outputs[0]) if result.outputs else bool(rival)
        above = f" and above that to every other image (at most {text(high)}, {rival})" * was_below
        way = f"more than half way to 1 ({last}){above}"
        return f"{begun(instead)} already has a {name} of {first}; {some} bring{s} it {way}."
    if not count:
        return f"No {what} are needed: {name} is the answer without any, at {first}."
    if result.goal == "keep":
        without = f"without any the answer is {rival} ({text(high)}) and it has" if rival else "without any it has"
        all_ = "" if had is None or text(had) == last else f", with all {result.parts} at {text(had)}"
        return f"{some} alone keep{s} the answer {name}, at {last}{all_}; {without} {first}."
    if rival:
        return f"Without {some} the answer is {rival} ({text(high)}) and no longer {name}, which falls to {last}."
    return f"Without {some} the answer is no longer {name}, which falls to {last}."


def of_deciding(differences: Mapping[str, tuple[float, float]]) -> str:
    """By model how many logits more deciding parts cost than other pixels, with the half of its 95 % interval."""
    surely = {name: mean for name, (mean, half) in differences.items() if mean > half}
    rest = [name for name in differences if name not in surely]
    if not surely:
        return "No model surely loses more by the deciding parts than by as many other pixels."
    best = max(surely, key=surely.__getitem__)
    mean, half = differences[best]
    who = f"{len(surely)} of {len(differences)} models surely lose" if len(surely) > 1 else f"{best} surely loses"
    words = f"{who} more by the deciding parts{f', {best} the most' if len(surely) > 1 else ''}"
    words += f": {mean:.2f} ± {half:.2f} logits more"
    return f"{words}; not {joined(rest)}." if rest else f"{words}."


def of_heads(
    names: Sequence[tuple[int, int]],
    lost: Sequence[float],
    half: Sequence[float],
    correlation: float,
    likeness: bool = False,
) -> str:
    """Nats that the answer loses without each head, (layer, head) from 0, with halves of 95 % intervals of each by
    itself, which are widened so that all hold together, and the rank correlation of a gradient's estimate with them;
    `likeness`: what an embedding loses of its cosine with its own."""
    told, best = not_chance(lost, half), matters_most(lost, half)
    (layer, head), surely, idle = names[best], told[best] and lost[best] > 0, told.count(False)
    what, unit = (
        (f"the likeness to {ITSELF_IN_WORDS} falls from 1 by", "") if likeness else ("the answer loses", " nats")
    )
    loss = [f"{value:.3f} ± {width:.3f}" for value, width in zip(lost, for_all(half), strict=True)]
    bound = f"95 % for all {len(lost)} heads together, Bonferroni" if len(lost) > 1 else "95 %"
    loses = f"{what} {loss[best]}{unit} ({bound})"
    which, largest = f"head {head + 1} of layer {layer + 1}", max(range(len(lost)), key=lost.__getitem__)
    chance = f"; a larger loss ({loss[largest]}) may be chance" if largest != best else ""
    most = f"{f'Of heads whose loss is no chance, {which}' if chance else begun(which)} matters most"
    most = f"Only {which} certainly matters" if told.count(True) == 1 < len(lost) else most
    words = (
        f"{most}: without it {loses}{chance}"
        if surely
        else f"No head certainly matters alone: without {which} {loses}, which may be chance"
    )
    words += f". {idle} of {len(lost)} heads cannot be told from no loss at all" if surely else ""
    alike = f"; the gradient's estimate ranks them with a correlation of {correlation:.2f}"
    words += f"{alike if correlation == correlation else ''}."
    return words


def of_lens(name: str, answers: Sequence[int], target: int, shares: Sequence[float], read: str) -> str:
    """From which layer on `read`, what the head reads, says class `target`, called `name`. `answers`: the likeliest
    class after each layer, `shares`: the probability of `target` there."""
    layers, first = len(answers), stays_from(answers, target)
    there = [layer for layer, answer in enumerate(answers, 1) if answer == target]
    if first is None:
        when = f"not after the last layer, but after {_listed(there)}" if there else "after no layer"
        return f"{name} is the likeliest answer {when}; at the end it has {percent(shares[-1])}."
    if first == 0:
        return f"Read off {read}, the answer {name} is there after the first of {layers} layers already and stays."
    when = "only after the last layer" if first == layers - 1 else f"from layer {first + 1} of {layers} on and stays"
    earlier = [layer for layer in there if layer <= first]
    lost = f"; it was there before, after {_listed(earlier)}, and was lost again" if earlier else ""
    return f"Read off {read}, the answer {name} is there {when}{lost}."


def of_lens_value(name: str, values: Sequence[float], read: str, head: Head) -> str:
    """How a value that is no class grows from layer to layer, read off `read`: with which layer where one alone brings
    more than half of it, else after which it is half way and stays beyond."""
    first, last, text = values[0], values[-1], head.text
    steps = [(value - before) * (last - first) for before, value in pairwise(values)]
    words = f"Read off {read}, the {name}"
    if max(steps, default=0.0) > (last - first) ** 2 / 2:
        at = 1 + steps.index(max(steps))
        before = f"is {text(first)} after the first layer"
        if at > 1:
            before = f"stays between {text(min(values[:at]))} and {text(max(values[:at]))} up to layer {at}"
        end = "" if at == len(values) - 1 else f", and it is {text(last)} at the end"
        return f"{words} {before}: layer {at + 1} of {len(values)} alone brings it to {text(values[at])}{end}."
    words += f" goes from {text(first)} after the first layer to {text(last)}"
    half = stays_from([(value - first) * (last - first) >= (last - first) ** 2 / 2 for value in values], True)
    return f"{words}, more than half of the way from layer {half + 1} of {len(values)} on." if half else f"{words}."


def of_likest(name: str, values: Float[Tensor, "row column"], layer: int, head: Head) -> str:
    """From where to where a value that is no class goes over the patches, read one by one after a layer, from 1."""
    row, column = divmod(int(values.argmax()), values.shape[1])
    low, high = (head.text(float(each)) for each in (values.min(), values.max()))
    what = f"of each patch by itself the {name} is {low} to {high}"
    return f"After layer {layer}, {what}, the most in row {row + 1}, column {column + 1}."


def of_strongest(features: Sequence[tuple[str, int]], layer: int) -> str:
    """(output, at how many patches it is the largest), the most frequent first, after a layer, from 1."""
    patches, (name, most) = sum(count for _, count in features), features[0]
    if len(features) == 1:
        return f"After layer {layer}, {name} is the strongest at all {patches:,} patches."
    return (
        f"After layer {layer}, {len(features):,} features are each the strongest somewhere; {name} is at the most "
        f"patches, {most:,} of {patches:,}."
    )


def of_patches(
    name: str,
    saying: int,
    patches: int,
    layer: int,
    others: Sequence[tuple[str, int]],
    parts: Sequence[tuple[str, str, int, int]] = (),
) -> str:
    """How many patches say a class after a layer, from 1, and which other class is the most frequent. `parts`: of
    places in the image, such as ("on the insect", the most frequent class there, how many, of how many)."""
    rest = f"; {others[0][1]:,} {'says' if others[0][1] == 1 else 'say'} {others[0][0]}" if others else ""
    says = "says" if saying == 1 else "say"
    each = ", ".join(f"{place} {said} ({n:,} of {all_:,})" for place, said, n, all_ in parts)
    where = f" The most frequent answer: {each}." if parts else ""
    return f"After layer {layer}, {saying:,} of {patches:,} patches {says} {name}{rest}.{where}"


def of_contributions(
    name: str,
    heads: Float[Tensor, "layer head"],
    attention: Float[Tensor, " layer"],
    mlp: Float[Tensor, " layer"],
    total: float,
    before: int = 0,
) -> str:
    """Which layer's attention, all heads together, or MLP adds the most to a logit, and which takes the most from it;
    and of the heads the largest. `before`: layers before these."""
    kinds = {"attention": attention, "MLP": mlp}
    parts = {f"the {kind} of layer {i}": v for kind in kinds for i, v in enumerate(kinds[kind].tolist(), before + 1)}
    most, least = max(parts, key=parts.__getitem__), min(parts, key=parts.__getitem__)
    gives = f"{most} gives the most ({_signed(parts[most])})" if parts[most] > 0 else "no attention or MLP adds to it"
    words = f"Of the {_signed(total)} for {name}, {gives}"
    against = f"; {least} says most against it ({_signed(parts[least])})" if parts[least] <= -0.005 else ""
    layer, head = divmod(int(heads.argmax()), heads.shape[1])
    one = f"head {head + 1} of layer {before + layer + 1} gives the most ({_signed(float(heads.max()))})"
    return f"{words}{against}. Of the heads, {one if heads.max() > 0 else 'not one adds to it'}."


def of_patching(
    name: str,
    before: float,
    after: float,
    regions: Float[Tensor, "layer row column"],
    special: Float[Tensor, "layer special"],
    names: Sequence[str],
    head: Head = SOFTMAX,
    over: str = "",
    rough: bool = False,
    heads: Sequence[Float[np.ndarray, " head"]] = (),
) -> str:
    """Which region of a clean run restores the most of an answer whose value a corruption took from `before` to
    `after`, which takes the most away, and from which block on a special token alone restores half. `over`: the answer
    that its logit is compared with; `rough`: finer regions are still to come; `heads`: of every layer."""

    def place(share: float) -> str:
        layer, row, column = (int(at[0]) + 1 for at in (regions == share).nonzero().T)
        return f"row {row}, column {column} after block {layer}"

    best, worst, text = float(regions.max()), float(regions.min()), value_of(head)
    the, its = ("", f"its lead over {over}" if over else f"its {head.number}") if head.probable else ("the ", "it")
    _, rows, columns = regions.shape
    was, now = text(before), text(after)
    does = f"leaves {the}{name} at {was}" if was == now else f"takes {the}{name} from {was} to {now}"
    words = (
        f"The corruption {does}; {'so far, ' * rough}of {rows} × "
        f"{columns} regions, {place(best)} restores the largest share of {its} ({percent(best)})"
    )
    words += f", and {place(worst)} takes the most away ({percent(worst)})" if worst <= -HARM else ""
    for at, token in enumerate(names):
        half = stays_from((special[:, at] >= 0.5).tolist(), True)
        if half is not None and half < len(special) - 1:  # after the last block that is so of what the head reads
            words += f"; from block {half + 1} on the {token} token alone restores more than half"
            break
    every = [(float(each), at, layer) for layer, row in enumerate(heads, 1) for at, each in enumerate(row, 1)]
    if not every:
        return f"{words}."
    share, at, layer = max(every, key=lambda each: abs(each[0]))
    most = "takes the most away" if share < 0 else "restores the most"
    return f"{words}. Of the heads, head {at} of layer {layer} {most} ({percent(share)})."


def of_steering(
    names: Sequence[str],
    factors: Sequence[float],
    values: Float[Tensor, "factor label"],
    steered: str,
    head: Head = SOFTMAX,
) -> str:
    """Values of all outputs, called `names`, when a direction is added by each factor, 0 among them."""
    start = min(range(len(factors)), key=lambda at: abs(factors[at]))
    if not head.probable:
        own = names.index(steered) if steered in names else 0
        what = f"{head.quantity} to {steered}" if steered in names else names[own]
        best = start + int(values[start:, own].argmax())
        was, now = (head.text(float(values[at, own])) for at in (start, best))
        not_here = f"Towards {steered} it does not steer here:"
        if best == start:
            return f"{not_here} no λ up to {factors[-1]:g} makes the {what} larger than {was}."
        gains = (values[start:] - values[start]).amax(0)
        most = int(gains.argmax())
        if most == own:
            turned = list[int]()
            if own:  # of an image beside its own, which is first
                nearest = values[:, 1:].argmax(1) + 1 == own
                turned = [at for at in range(start + 1, len(factors)) if nearest[at] and not nearest[start]]
            then = f", and from λ = {factors[turned[0]]:g} on it is the nearest other image" if turned else ""
            largest = f"goes from {was} to {now}, its largest, at λ = {factors[best]:g}"
            return f"Towards {steered}: the {what} {largest}{then}."
        at = start + int(values[start:, most].argmax())
        first, last = (head.text(float(values[each, most])) for each in (start, at))
        grows = f"while that to {names[most]} grows from {first} to {last}"
        return f"{not_here} the {what} grows from {was} to {now} at most, {grows}."
    answers = values.argmax(1).tolist()
    first = names[answers[start]]
    turned = [at for at in range(start, len(factors)) if answers[at] != answers[start]]
    if not turned:
        return f"Towards {steered}: up to λ = {factors[-1]:g} the answer stays {first}."
    last = answers[-1]
    stays = stays_from(answers, last)
    left = f"Towards {steered}: from λ = {factors[turned[0]]:g} on the answer is no longer {first}"
    if last == answers[start] or stays is None:
        return f"{left}, but at λ = {factors[-1]:g} it is again."
    settled = f"{names[last]} ({percent(float(values[stays, last]))})"
    if stays == turned[0]:
        return f"{left} but {settled}."
    return f"{left}, from λ = {factors[stays]:g} on it is {settled}."


def _signed(value: float) -> str:
    return f"{value:+z.2f}".replace("-", "−")


def _listed(layers: Sequence[int]) -> str:
    """ "layer 3", "layers 3 and 5", "layers 3 to 6", "7 layers"."""
    if len(layers) == 1:
        return f"layer {layers[0]}"
    if layers[-1] - layers[0] == len(layers) - 1:
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layers {joined([*map(str, layers)])}" if len(layers) < 5 else f"{len(layers)} layers"


def of_behaviour(
    what: str, names: Sequence[tuple[int, int]], values: Sequence[float], importance: float | None, unit: str = ""
) -> str | None:
    """Which heads do the most and the least of `what`, (layer, head) from 0; `importance`: the rank correlation with
    what the answer loses without them; `unit`: of the values, "" of shares. None where no head has a number."""
    known = [i for i, value in enumerate(values) if value == value]
    if not known:
        return None
    told = {i: f"{values[i]:.2f} {unit}".rstrip() for i in known}
    where = []
    for end in (max, min):
        value = told[end(known, key=values.__getitem__)]
        alike = [f"head {names[i][1] + 1} of layer {names[i][0] + 1}" for i in known if told[i] == value]
        where.append(f"{joined(alike) if len(alike) <= MOST_NAMED else f'{len(alike)} heads'} ({value})")
    words = f"{what[:1].upper()}{what[1:]}: the most in {where[0]}, the least in {where[1]}"
    if importance is None or importance != importance:
        return f"{words}."
    tells = "hardly tells" if abs(importance) < SOME else "tells a little" if abs(importance) < MUCH else "tells much"
    signed = f"{importance:.2f}".replace("-", "−")
    words += f". It {tells} of how much a head matters: rank correlation {signed} with what the answer loses."
    return words


def of_pruning(heads: int, can_go: dict[str, int], share: float) -> str:
    """How many of the heads can go, by order, while at least this share of the answers stays."""
    return (
        f"{can_go['measured']} of {heads} heads can go, the least important first, while {percent(share)} of the "
        f"answers stay; in the gradient's order {can_go['estimate']}, at random {can_go['random']}."
    )


def of_alignment(values: Float[np.ndarray, "layer layer2"], name: str, other: str) -> str:
    """CKA of the layers of two models, or of a model with itself where `other` is empty."""
    last = len(values) - 1
    if not other:
        near = np.diagonal(values, 1) if last else np.ones(1)
        at = int(near.argmin()) + 1
        least = f", least layers {at} and {at + 1} ({near.min():.2f})" if last > 1 else ""
        words = f"By CKA, which is 1 for the same, neighbouring layers of {name} agree to {near.mean():.2f} on average"
        return f"{words}{least}; the first and the last agree to {values[0, last]:.2f}."
    row, column = np.unravel_index(np.nanargmax(values), values.shape)
    return (
        f"By CKA, which is 1 for the same, the most alike are layer {row + 1} of {name} and layer {column + 1} of "
        f"{other} ({values[row, column]:.2f}); the last layers of both agree to {values[-1, -1]:.2f}."
    )
