"""LeGrad: at which keys would more attention raise the class, for every layer on its own.

Bousselham et al. 2024 (arXiv 2404.03214), § 3: for every layer l, relu(∂s_l/∂A_l) averaged over heads and queries, s_l
being the class's score read off the tokens that leave block l; then the mean over layers.

Here s_l is the logit that the model's own last normalisation and head give those tokens: of the class token in most
ViTs, of their mean in a mean-pooled one. All layers count. The authors' code (github.com/WalBouss/LeGrad, a9edb03) does
otherwise: for CLIP it normalises and projects the mean of all tokens, the class token among them, and takes the cosine
with a text; it reads the last two blocks by default (`layer_index=-2`) and adds up their maps; for models with
attention pooling it takes the gradient at the pool's attention. `start_layer` gives the last layers here too.
"""

import torch

from vizkit.analysis.attention.attention_map import layers
from vizkit.traces import Attention, Map, NotApplicable, Trace, refuse


def legrad(trace: Trace, start_layer: int = 0) -> Map:
    """Mean over layers from `start_layer` on, at every place; ≥ 0, in logits per unit of attention.

    Needs a trace with a target, of a model with one stream of tokens whose head can read every layer (ViT, DeiT, EVA,
    BEiT and the like). NotApplicable for others, and where no layer's score rises with any attention.
    """
    by_layer = legrad_by_layer(trace)
    if not 0 <= start_layer < len(by_layer):
        raise ValueError(f"There is no layer {start_layer}: there are {len(by_layer)}, counted from 0.")
    places = torch.stack(by_layer[start_layer:]).mean(0)
    differ = places.max() > places.min()
    refuse(~differ, "LeGrad gives nothing for this class here: all places are alike.")  # NaN too
    return places


def legrad_by_layer(trace: Trace) -> list[Map]:
    """The map of each layer, on the same scale, and where tokens become fewer on the grid of the most.

    Layers on a second stream of tokens, which no head reads, are left out.
    """
    if trace.target is None:
        raise NotApplicable("LeGrad needs the gradient of a class: choose a target class first.")
    learned = layers(trace)
    if not learned:
        raise NotApplicable(f"{trace.no_attention}.")
    if len(learned) < trace.check.layers_found:
        raise NotApplicable("LeGrad needs every attention layer; some were not recorded.")
    maps = []
    for layer in _read_by_the_head(trace):
        if layer.score_gradient is None or not layer.key.grid:
            raise NotApplicable("LeGrad reads the class off every layer, which the head of this model does not allow.")
        first, last = len(layer.key.special), len(layer.key) - layer.key.free
        given = layer.score_gradient.float().flatten()
        by_id = given.new_zeros(len(layer.key) + 1)  # PADDING picks the last
        by_id = by_id.index_add(0, layer.key_ids.flatten() % len(by_id), given)
        maps.append(by_id[first:last].unflatten(0, layer.key.grid))
    rows, columns = (max(sides) for sides in zip(*(heat.shape for heat in maps), strict=True))
    # A token that stands for several places speaks for each of them.
    return [
        heat.repeat_interleave(rows // len(heat), 0).repeat_interleave(columns // heat.shape[1], 1) for heat in maps
    ]


def _read_by_the_head(trace: Trace) -> list[Attention]:
    """Those on the tokens of the last layer, or on tokens that were averaged to become those."""
    learned = layers(trace)
    known = {learned[-1].query.name, learned[-1].key.name} | {a.key.name for a in trace.attention if not a.learned}
    return [layer for layer in learned if layer.key.name in known]
