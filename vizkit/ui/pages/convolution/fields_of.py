"""What the view Receptive field shows of each model: computed once for a model, whatever picture is chosen."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vizkit.analysis.convolution.field_size import MOST, half_side_of, side_holding
from vizkit.figure.convolution.fields import Line
from vizkit.ui.session import cached, model_names
from vizkit.ui.session.shown import Shown, one_after_another, title
from vizkit.ui.sidebar import inputs
from vizkit.ui.views import Page

if TYPE_CHECKING:
    from vizkit.image import Picture
    from vizkit.models.probes.convolution.effective_field import EffectiveField
    from vizkit.models.probes.convolution.receptive_field import Seen, Walk

SAMPLES = 8
CAN_SEE, USES, ATTENDS = "can see", "68 % of the effect", "mean attention distance"
TRANSFORMERS = ("vit", "swin")


def samples_for(source: str) -> list[str]:
    """Samples that the model knows, where they are known."""
    digits = model_names.knows(source) == model_names.KNOWN["digits"]
    return [name for name in inputs.samples() if name.startswith("digit ") == digits][:SAMPLES]


def pictures_for(source: str) -> "list[Picture]":
    return [inputs.sample(name) for name in samples_for(source)]


def walked(shown: Shown) -> "Walk":
    from vizkit.models.probes.convolution.receptive_field import walk

    first = pictures_for(shown.source)[0]  # stands for no picture: nothing of it is used
    return cached.made(shown.source, first, shown.loaded, ("receptive fields",), lambda: walk(shown.loaded))


def effective(shown: Shown, own: "Picture | None" = None) -> "tuple[EffectiveField, ...]":
    """A mean over samples, or of one picture alone."""
    pictures = pictures_for(shown.source) if own is None else [own]

    def make() -> "tuple[EffectiveField, ...]":
        import torch

        from vizkit.models import pixels_of
        from vizkit.models.probes.convolution.effective_field import effective_fields

        with cached.device_lock(), torch.enable_grad():
            return effective_fields(shown.loaded, (pixels_of(shown.loaded, picture.rgb) for picture in pictures))

    return cached.made(shown.source, pictures[0], shown.loaded, ("effective fields", own is None), make)


def last_layer(walked: "Walk", seen: "Seen") -> str:
    """The formula of the layer after which a stage has its field."""
    from vizkit.models.probes.convolution.field_table import formula

    layers = [layer for layer in walked.layers if layer.seen.rows == seen.rows]
    return formula(layers[-1]) if layers else ""


def of_cnn(shown: Shown, walked: "Walk", effective: "tuple[EffectiveField, ...]") -> Iterator[Line]:
    """From the middle of the image: half of the field, half of the square that holds most of the effect."""
    name, count, side_px = title(shown.source), len(walked.layers), max(walked.size_hw)
    depth = [(i + 1) / count for i in range(count)]
    sizes_px = [1, *(layer.seen.rows.size for layer in walked.layers)]
    yield Line(name, CAN_SEE, [0, *depth], [size_px / 2 / side_px for size_px in sizes_px])
    ends = [
        max((i + 1 for i, layer in enumerate(walked.layers) if stage and layer.seen.rows == stage.rows), default=count)
        for stage in walked.stages
    ]
    yield Line(name, USES, [end / count for end in ends], _used(effective))


def _used(effective: "tuple[EffectiveField, ...]") -> list[float]:
    return [side_holding(field.share, field.centre_yx, MOST) / 2 / max(field.share.shape) for field in effective]


def beside(page: Page) -> list[Shown]:
    """The chosen ViTs and Swins, else the bundled two that know what the CNN knows."""
    from vizkit.models import family_of

    def is_one(source: str) -> bool:
        return family_of(cached.model(source).model) in TRANSFORMERS

    chosen = [source for source in page.chosen if source not in page.sources and is_one(source)]
    data = "digits" if model_names.knows(page.focus.source) == model_names.KNOWN["digits"] else "insects"
    sources = chosen or [f"bundled:{data}_{kind}" for kind in TRANSFORMERS]
    return one_after_another(page.picture, sources, "patch")


def of_transformers(page: Page, own: "Picture | None") -> Iterator[Line]:
    for shown in beside(page):
        yield from of_transformer(page, shown, own)


def of_transformer(page: Page, shown: Shown, own: "Picture | None") -> Iterator[Line]:
    from vizkit.models import family_of
    from vizkit.models.recording.stages import gives_features

    name, measured = title(shown.source), cached.statistics(shown.source, page.picture, shown.loaded)
    depth = [(i + 1) / len(measured) for i in range(len(measured))]
    side_px = max(shown.trace.image_size)
    yield Line(name, ATTENDS, depth, [float(layer.distance_px.mean()) / side_px for layer in measured])
    ends = depth
    if family_of(shown.loaded.model) == "swin":
        reached, ends = _swin_reach(shown)
        yield Line(name, CAN_SEE, depth, reached)
    else:
        yield Line(name, CAN_SEE, depth, [0.5] * len(depth))
    if gives_features(shown.loaded.model):
        used = _used(effective(shown, own))
        evenly = [(i + 1) / len(used) for i in range(len(used))]
        yield Line(name, USES, ends if len(ends) == len(used) else evenly, used)


def _swin_reach(shown: Shown) -> tuple[list[float], list[float]]:
    """(how far the token in the middle can see after each block, the depth at which each stage ends)."""
    from vizkit.analysis.swin.receptive_field import receptive_fields
    from vizkit.analysis.swin.shifted_windows import cut, layout
    from vizkit.models.probes.swin_stages import hierarchy

    stages = hierarchy(shown.loaded, shown.trace.image_size)
    regions = [
        cut(layout(stage.grid, block.window, block.shift, pad_first=stage.pad_first).regions, block.window)
        for stage in stages
        for block in stage.blocks
    ]
    fields = receptive_fields(shown.trace, regions, (0.5, 0.5))
    ends, count = [], 0
    for stage in stages:
        count += len(stage.blocks)
        ends.append(count / len(fields))
    side_px = max(shown.trace.image_size)
    return [half_side_of(field.places, shown.trace.image_size) / side_px for field in fields], ends
