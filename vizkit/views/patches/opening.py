"""Where the cursor stands before anybody has set it: on a patch that a model looks at, for the middle may be empty."""

from functools import partial

from vizkit.analysis.attention.attention_map import most_attended
from vizkit.analysis.attention.feature_strength import feature_strength
from vizkit.geometry import into_box, middle_of, out_of_box
from vizkit.views.subject import CENTRE, Subject


def asked(of: Subject) -> tuple[float, float]:
    """The cursor, in fractions of what the model sees. Where nobody has set it the patch that gets most attention, for
    all models that are shown the same: that of the first by name, one with a class token before others."""
    if of.point != CENTRE:
        return of.asked
    among = sorted((of, *of.beside), key=lambda each: (not each.special, each.name))
    first = next((each for each in among if each.layers), of)
    point = first.kept("most attended", partial(looked_at, first))
    size_hw = of.rgb.shape[0], of.rgb.shape[1]
    return into_box(out_of_box(point, first.box_xyxy, size_hw), of.box_xyxy, size_hw)


def looked_at(of: Subject) -> tuple[float, float]:
    """In fractions of what this model sees; of one without attention, where its last features are strongest."""
    if of.layers:
        return most_attended(of.whole()) or of.asked
    last = next((features for features in reversed(of.seen.features) if features.tokens.grid), None)
    if last is None:
        return of.asked
    return middle_of(last.tokens, len(last.tokens.special) + int(feature_strength(last).argmax()))
