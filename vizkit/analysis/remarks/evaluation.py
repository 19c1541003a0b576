"""What a table of answers to labelled images says first."""

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int

from vizkit.analysis.remarks.remark import begun, counted, joined, of_all, percent
from vizkit.percent import in_percent

MOST_TIED = 3  # mistakes of one number that are named
EPOCHS = 3  # in which one accuracy has to be ahead
SETTINGS = 3  # that are named
CLEARLY = 0.1  # a share beyond that of chance, and one accuracy beyond another
ONE_WAY = 0.9  # of a calibration error, where it is nearly all in one direction


def most_frequent_mistake(
    counts: Int[np.ndarray, "label answer"], labels: Sequence[str], answers: Sequence[str]
) -> str | None:
    """`counts`: the diagonal is right; there may be one more answer than labels. None where all is right, or no mistake
    was made twice."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    times = int(wrong.max())
    if times < 2:
        return None
    places = np.argwhere(wrong == times).tolist()
    taken = [f"“{labels[row]}” for “{answers[column]}”" for row, column in places[:MOST_TIED]]
    if len(places) == 1:
        of_label = int(counts[places[0][0]].sum())
        return (
            f"The most frequent mistake: it takes {taken[0]}, on {of_all(times, of_label, 'image')} "
            f"({percent(times / of_label)})."
        )
    more = f", and {counted(len(places) - MOST_TIED, 'other pair')}" if len(places) > MOST_TIED else ""
    return f"The most frequent mistakes, on {times:,} images each: it takes {joined(taken)}{more}."


def ahead(
    train: Sequence[float], validation: Sequence[float], harder: Sequence[str], images: tuple[int, int] | None
) -> str:
    """The two accuracies, 0 to 1 epoch by epoch, and why one is ahead by a point, where it was so by two standard
    errors in each of the last `EPOCHS`: a single epoch may lie anywhere, but for one that is ahead `CLEARLY`. `harder`:
    what is done to training images alone ("are turned"). `images`: how many there are to train on and to validate, None
    where nobody knows."""
    begin = f"After {counted(len(train), 'epoch')} {percent(validation[-1])} of the validation images are right and "
    begin += f"{percent(train[-1])} of those in training"
    if images is None or abs(train[-1] - validation[-1]) < (CLEARLY if len(train) < EPOCHS else 0.01):
        return f"{begin}."
    recent = [*zip(train, validation, strict=True)][-EPOCHS:]
    beyond = [2 * math.sqrt(sum(p * (1 - p) / n for p, n in zip(each, images, strict=True))) for each in recent]
    gaps = [own - trained for trained, own in recent]
    if all(gap < -chance for gap, chance in zip(gaps, beyond, strict=True)):
        return f"{begin}: part of what it has learned holds for its own images alone."
    if not all(gap > chance for gap, chance in zip(gaps, beyond, strict=True)):
        return f"{begin}; neither stays ahead by more than chance."
    why = joined([*harder, "are judged while the weights still change"])
    return f"{begin}. Likely why: those in training {why}."


def best_run(tests: Mapping[str, tuple[float, int, str]], differ: Sequence[str] = ()) -> str | None:
    """Of runs by name the share of test images that is right, 0 to 1, how many there are, and how long it trained: the
    best against the next. `differ`: the settings in which they do. None for less than two runs."""
    if len(tests) < 2:
        return None
    (best, (right, images, took)), (second, (less, others, next_took)) = sorted(
        tests.items(), key=lambda run: -run[1][0]
    )[:2]
    half = 1.96 * math.sqrt(right * (1 - right) / images + less * (1 - less) / others)
    words = f"Of these {len(tests)} runs {best} is right most often, on {100 * right:.1f} % of the test images after "
    words += f"{took} of training"
    of_next = f"{second} with {100 * less:.1f} % after {next_took}"
    if right - less <= half:
        return f"{words}; {of_next} is not told apart from it by so few images and one seed."
    words += f"; then {of_next}."
    if len(differ) < 2:
        return words
    more = [f"{len(differ) - SETTINGS} more"] if len(differ) > SETTINGS else []
    return f"{words} The runs differ in {joined([*differ[:SETTINGS], *more])}: any of these may be the reason."


def leader(right: Mapping[str, int], images: int, apart: Collection[str]) -> str:
    """`right`: by model on how many of the `images` it is, the best one first; `apart`: those from whom a paired test
    tells that one apart."""
    (first, best), *others = right.items()
    share = f"{of_all(best, images, 'image')} ({in_percent(best / images, 1)})"
    if not others:
        return f"{first} is right on {share}."
    alike = [name for name, count in right.items() if count == best]
    who = f"{first} is right most often, on" if len(alike) == 1 else f"{joined(alike)} are right most often, each on"
    better = [name for name, _ in others if name in apart]
    equal = [name for name, _ in others if name not in apart]
    whole = others[0][0] if len(others) == 1 else f"all {len(others)} others"
    if not equal:
        test = f"finds {first} better than {whole}"
    elif not better:
        test = f"finds no significant difference from {whole if len(others) == 1 else 'any other'}"
    else:
        test = f"finds {first} better than {joined(better)}, but not than {joined(equal)}"
    return f"{who} {share}; the paired test {test}."


def absent(untested: Sequence[str], features: Sequence[str], alone: bool) -> str:
    """Of chosen models that have no part in an evaluation, for want of a test or of classes: what one can do. `alone`:
    no other was chosen."""
    said = []
    if untested:
        it, were = ("it", "was") if len(untested) == 1 else ("them", "were")
        said += [f"{joined(untested)} {were} not tested on these images: evaluate {it} above."]
    if features:
        it, give = ("it", "gives") if len(features) == 1 else ("them", "give")
        said += [f"{joined(features)} {give} features, not classes: fine-tune {it} (page Train) to see {it} here."]
    said += ["Shown instead: models that come with vizkit."] if alone else []
    return " ".join(said)


def around(
    name: str,
    loss: Float[np.ndarray, "row column"],
    x: Float[np.ndarray, " column"],
    y: Float[np.ndarray, " row"],
    images: int,
) -> str:
    """Of a run's loss in nats on a plane whose axes are in filter norms, its checkpoint at 0: what it is there, one
    filter norm away along either axis, and whether it is lower anywhere."""
    row, column = np.flatnonzero(y == 0).item(), np.flatnonzero(x == 0).item()
    centre = float(loss[row, column])
    away = np.concatenate([loss[row, np.isclose(np.abs(x), 1)], loss[np.isclose(np.abs(y), 1), column]])
    said = f"The loss of {name} on {images} test images is {centre:.3g} at its last checkpoint and {away.min():.3g} to "
    said += f"{away.max():.3g} nats at a distance of one filter norm; "
    if loss.min() == centre:
        return f"{said}nowhere on this plane is it lower."
    return f"{said}the lowest on this plane is {loss.min():.3g}."


def on_the_path(
    name: str,
    checkpoints: int,
    centre: float,
    lowest: float,
    shares: Float[np.ndarray, " component"],
    walk: Float[np.ndarray, " component"],
) -> str:
    """Of a run's checkpoints: what part of their spread the first component explains, and how much it would of a random
    walk, on a plane on which the loss is `centre` nats at the last one and `lowest` at least."""
    said = f"The loss of {name} on test images is {centre:.3g} nats at its last checkpoint"
    beside = f" and {lowest:.3g} at the lowest place of this plane: the run ended beside it"
    said += f"{', nowhere lower on this plane' if lowest == centre else beside}. The first component explains "
    said += f"{percent(shares[0])} of how {checkpoints} checkpoints spread; of a random walk with steps as long as "
    said += f"theirs, in random directions, it would explain {percent(walk[0])}"
    if shares[0] - walk[0] > CLEARLY:
        return f"{said}: this path is straighter than chance alone."
    return f"{said}: so the shape of the path proves little."


def calibrated(first: str, ece: Mapping[str, float], surer: float) -> str | None:
    """Whose expected calibration error, 0 to 1, is the least and whose the largest; None where there is no difference.
    `first`: the model that is right most often; `surer`: by how much the mean of its confidence is above its accuracy,
    −1 to 1."""
    best, worst = min(ece, key=lambda name: ece[name]), max(ece, key=lambda name: ece[name])
    if ece[best] == ece[worst]:
        return None
    if ece[first] < ece[worst]:
        least, most = (f"{100 * ece[name]:.1f}" for name in (best, worst))
        return f"{best} is the best calibrated, off by {least} points on average, {worst} the worst, by {most} (ECE)."
    off, least = (f"{100 * ece[name]:.1f}" for name in (first, best))
    way = ("too unsure", "too sure")[surer > 0] if abs(surer) > ONE_WAY * ece[first] else "too sure or too unsure"
    return (
        f"But {first} is the worst calibrated: on average it is {way} by {off} points; {best}, the best, is off by "
        f"{least} (ECE)."
    )


def placed(name: str, right: int, images: int, better: Collection[str], worse: Collection[str]) -> str:
    """Of one model on how many of the `images` it is right, and the models that a paired test finds `better` than it
    and `worse`."""
    words = f"{name} is right on {of_all(right, images, 'image')} ({in_percent(right / images, 1)})"
    found = [f"{what} than {joined([*names])}" for what, names in (("better", worse), ("worse", better)) if names]
    return f"{words}; the paired test finds it {joined(found) if found else 'neither better nor worse than others'}."


def detector(name: str, ap: float, faultless: int, scenes: int, mistakes: Mapping[str, int]) -> str:
    """Average precision, NaN where there is nothing to find; in how many scenes everything is found and nothing else
    said; and the mistakes by kind, of which "missed" are things, all others boxes."""
    known = "" if ap != ap else f"an AP of {ap:.3f} and "
    words = (
        f"{name} has {known}no mistake in {of_all(faultless, scenes, 'scene')} ({in_percent(faultless / scenes, 1)})"
    )
    most = max(mistakes.values(), default=0)
    if not most:
        return f"{words}."
    other = f"{sum(mistakes.values()):,} in the other {counted(scenes - faultless, 'scene')}"
    counts = [
        f"{most:,} {(('thing is', 'things are') if kind == 'missed' else ('box is', 'boxes are'))[most != 1]} "
        f"{IS.get(kind, kind)}"
        for kind, count in mistakes.items()
        if count == most
    ]
    return f"{words}, {other}; the most frequent: {joined(counts)}."


IS = {
    "wrong class": "of the wrong class",
    "wrong class and place": "wrong in class and place",
}


def texts(name: str, right: int, count: int, words: float) -> str:
    """Of the texts those whose answer is wholly right, and of all words of the answers the share that is."""
    share = f"{of_all(right, count, 'text')} wholly right ({in_percent(right / count, 1)})"
    if right == count:
        return f"{name} answers {share}."
    return f"{name} answers {share}, and {percent(words)} of the single words."


def accuracy_for_cost(models: Sequence[tuple[str, float, float]], cost: str, quantity: str) -> str:
    """(name, cost, accuracy in per cent) of each: what the best one costs beside the one with the highest cost, as the
    axes are called."""
    best, most = max(models, key=lambda model: model[2]), max(models, key=lambda model: model[1])
    what, of_cost = (title.partition(" (")[0] for title in (quantity, cost))
    of_cost = of_cost if of_cost[:2].isupper() else f"{of_cost[:1].lower()}{of_cost[1:]}"
    if len(models) == 1:
        return f"{best[0]} reaches {best[2]:g} % ({what})."
    said = f"{best[0]} reaches the highest {what}, {best[2]:g} %"
    if best[1] == most[1]:
        return f"{said}, and has the most {of_cost}."
    return f"{said}, with {percent(best[1] / most[1])} of the {of_cost} of {most[0]}, which has the most."


def learned(
    steps: Sequence[int],
    right: Sequence[int],
    images: int,
    on_object: Sequence[float | None],
    called: str = "",
    area: float = 0.0,
    at: int = 0,
) -> str:
    """Of a run between its first and its last checkpoint, and `at` a step between. `right`: how many of the `images`
    are right after each of the `steps`; `on_object`: the mean share of the map that lies on what is `called` so and
    covers `area` of the images; None where there is no map."""
    said = f"Of {counted(images, 'test image')} {right[0]} {'is' if right[0] == 1 else 'are'} right"
    said += f" after step {steps[0]:,}"
    if len(steps) == 1:
        return f"{said}."
    shown = [each for each in (at, steps[-1]) if each in steps[1:]]
    said += "".join(f", {right[steps.index(each)]} after step {each:,}" for each in dict.fromkeys(shown))
    before, after = on_object[0], on_object[-1]
    if not called or before is None or after is None:
        return f"{said}."
    first, last = percent(before), percent(after)
    ends = f"{first} at first and at last" if first == last else f"{first} at first, {last} at last"
    return f"{said}. Of what speaks for the right class {ends} lies on the {called}, by chance {percent(area)}."


# ---- what changed inside, from the first checkpoint of a run to its last ---------------------------------------------
SETTLED = 0.9  # of CKA


def changed_most(values: Float[np.ndarray, "step layer head"]) -> list[tuple[int, int]]:
    """(layer, head), from 0, of those that there are at all steps: the one that changed most from the first to the last
    comes first."""
    known, change = np.isfinite(values).all(axis=0), np.abs(values[-1] - values[0])
    order = np.argsort(-np.where(known, change, -1), axis=None, kind="stable")[: known.sum()]
    return [divmod(at, values.shape[2]) for at in order.tolist()]


def heads_over_steps(
    what: str, unit: str, steps: Sequence[int], values: Float[np.ndarray, "step layer head"], digits: int
) -> str:
    """The mean of all heads, and the head that changed most; NaN where a layer has fewer heads."""
    first, last, heads = values[0], values[-1], changed_most(values)
    if not heads:
        return f"The {what} has no number here: the layers do not say where their tokens lie."
    words = f"From step {steps[0]:,} to {steps[-1]:,} the {what} of {counted(len(heads), 'head')}, in the mean,"
    means = [f"{each[*np.transpose(heads)].mean():.{digits}f}{unit}" for each in (first, last)]
    layer, head = heads[0]
    ends = [f"{each[layer, head]:.{digits}f}{unit}" for each in (first, last)]
    if ends[0] == ends[1]:
        return f"{words} stayed at {means[0]}, and no head changed: training has not touched it."
    moved = f"stayed at {means[0]}" if means[0] == means[1] else f"went from {means[0]} to {means[1]}"
    return f"{words} {moved}; most in head {head + 1} of layer {layer + 1}, from {ends[0]} to {ends[1]}."


def near_alike(steps: Sequence[int], correlation: Float[np.ndarray, " step"]) -> str:
    """Spearman's, of the likeness of positions with their nearness, at each of the steps."""
    first, last = (f"{each:z.2f}".replace("-", "−") for each in (correlation[0], correlation[-1]))
    end = correlation[-1]
    verdict = "nearer places have more similar positions" if end >= 0.5 else "a little of the grid is in the positions"
    if abs(end) < 0.1:
        verdict = "the positions do not tell which places are near"
    elif end < 0:
        verdict = "nearer places have less similar positions"
    return (
        f"The rank correlation of similar positions with near places is {first} after step {steps[0]:,} and {last} "
        f"after step {steps[-1]:,}: {verdict}."
    )


def settling(steps: Sequence[int], cka: Float[np.ndarray, "step layer"]) -> str:
    """From which step on each layer is as it ends: CKA with its end of at least `SETTLED`, at all later ones too."""
    unlike = cka < SETTLED  # NaN, of a layer that is the same for all images, counts as settled
    first = [int(np.flatnonzero(each).max(initial=-1)) + 1 for each in unlike.T]
    early, late = int(np.argmin(first)), len(first) - 1 - int(np.argmax(first[::-1]))
    if not max(first):
        low = f"{np.nanmin(cka):.2f}"
        return f"Every layer is like its own end from step {steps[0]:,} on: the lowest CKA of all is {low}."
    if min(first) == max(first):
        return (
            f"All layers are like their own end, with a CKA of at least {SETTLED}, from step {steps[max(first)]:,} on."
        )
    return (
        f"Layer {early + 1} is the first that stays like its own end, with a CKA of at least {SETTLED}: from step "
        f"{steps[first[early]]:,} on; layer {late + 1} is the last, from step {steps[first[late]]:,} on."
    )


def on_the_object(steps: Sequence[int], shares: Float[np.ndarray, "step image"], called: str, area: float) -> str:
    """The median share of the map that lies on what is `called` so, which covers `area` of the images, both 0 to 1."""
    first, last = (float(np.median(np.nan_to_num(each))) for each in (shares[0], shares[-1]))
    return (
        f"Of what speaks for the right class {percent(first)} lies on the {called} after step {steps[0]:,} and "
        f"{percent(last)} after step {steps[-1]:,}, in the median; by chance it would be {percent(area)}, what it "
        "covers."
    )


def norms_over_steps(
    what: str, steps: Sequence[int], norm: Float[np.ndarray, "step part"], parts: Sequence[str]
) -> str:
    """Of all parts together, and of the part that it changed most, of those that neither begin nor end at 0."""
    whole = np.sqrt((norm.astype(float) ** 2).sum(1))
    peak, top = "", int(whole.argmax())
    if 0 < top < len(steps) - 1:
        peak = f", largest after step {steps[top]:,} ({_in_short(whole[top])})"
    said = (
        f"The norm of {what} goes from {_in_short(whole[0])} after step {steps[0]:,} to {_in_short(whole[-1])} after "
        f"step {steps[-1]:,}{peak}"
    )
    rated = np.flatnonzero((norm[0] > 0) & (norm[-1] > 0))
    if not rated.size:
        return f"{said}."
    factors = np.log(norm[-1, rated].astype(float)) - np.log(norm[0, rated].astype(float))
    most = int(np.abs(factors).argmax())
    times = float(np.exp(abs(factors[most])))
    factor = f"{'×' if factors[most] >= 0 else '÷'} {'more than 1,000' if times > 1000 else f'{times:.3g}'}"
    return f"{said}; most by its factor in “{parts[rated[most]]}”, {factor}."


def _in_short(norm: float) -> str:
    return f"{norm:.3g}" if norm >= 0.001 or not norm else "less than 0.001"


def filters_over_steps(steps: Sequence[int], filters: Float[np.ndarray, "step filter height width channel"]) -> str:
    """How long the filters have become, and how far they have turned."""
    flat = filters.reshape(*filters.shape[:2], -1).astype(float)
    norms = np.linalg.norm(flat, axis=-1)
    cosine = (flat[0] * flat[-1]).sum(-1) / np.maximum(norms[0] * norms[-1], 1e-12)
    return (
        f"From step {steps[0]:,} to {steps[-1]:,} the mean norm of {counted(filters.shape[1], 'filter')} goes from "
        f"{norms[0].mean():.2f} to {norms[-1].mean():.2f}; their cosine with what they were is "
        f"{cosine.mean():z.2f} on average, 1 being not turned at all.".replace("-", "−")
    )


def forgotten(right: Float[np.ndarray, "step image"]) -> tuple[Int[np.ndarray, " image"], Int[np.ndarray, " image"]]:
    """Of each image the place of the step from which on it stays right, as many as there are steps where it never
    does, and how often it was forgotten: right after a step and wrong after the next that is kept."""
    known = right > 0.5
    since = [int(np.flatnonzero(~each).max(initial=-1)) + 1 for each in known.T]
    return np.array(since), (known[:-1] & ~known[1:]).sum(0)


def learned_when(steps: Sequence[int], right: Float[np.ndarray, "step image"]) -> str:
    since, times = forgotten(right)
    count, lost = right.shape[1], (right.max(0) > right[-1]).sum()
    kept = [int((since == at).sum()) for at in range(len(steps))]
    most = int(np.argmax(kept))
    begin = f"{begun(of_all(int(right[-1].sum()), count, 'test image'))} are right after step {steps[-1]:,}, "
    begin += f"{int(right[0].sum())} after step {steps[0]:,}"
    if not sum(kept):
        return f"{begin}: nothing was learned for good."
    once = int((times > 0).sum())
    return (
        f"{begin}; the largest group of them, {kept[most]}, for good since step {steps[most]:,}. "
        f"{counted(once, 'image')} {'was' if once == 1 else 'were'} right and then wrong after a later step, of which "
        f"{int(lost)} at the end."
    )
