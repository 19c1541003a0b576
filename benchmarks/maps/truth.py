"""Do the bundled models look at the insect? Attention, rollout and Grad-CAM against the drawn truth.

Mass per pixel on the insect over mass per pixel beside it, and the pointing game (Zhang et al. 2016): how often the
hottest pixel of the map, enlarged bilinearly, lies on the insect or within 3 % of the side of it (15 pixels there), how
often exactly on it, and how often a point put anywhere would.
"""

import math

import numpy as np

IMAGES = 500
MODELS = ("insects_cnn", "insects_vit", "insects_deit", "insects_swin")


def scores(heat: np.ndarray, insect: np.ndarray):
    """Everything of one map (`truth_score.Placed`). `heat`: rows × columns, ≥ 0."""
    import torch

    from vizkit.analysis.trust.truth_score import Truth, placed

    return placed(torch.from_numpy(heat), Truth(torch.from_numpy(insect)))


def class_token(trace):
    """Its row in the last layer; a model without one has no such map."""
    from vizkit.analysis.attention.attention_map import attention_map, layers
    from vizkit.traces import NotApplicable

    seen = attention_map(layers(trace)[-1], "cls") if layers(trace) else None
    if seen is None or seen.fallback:
        raise NotApplicable("There is no class token.")
    return seen.places


def maps(loaded, picture) -> dict[str, np.ndarray]:
    """Every map that applies to the model, by its name."""
    import vizkit
    from vizkit.analysis.attribution.grad_cam import grad_cam
    from vizkit.analysis.attribution.rollout import rollout
    from vizkit.traces import NotApplicable

    plain = vizkit.trace(loaded, picture)
    target = int(plain.logits.argmax())
    trace = vizkit.trace(loaded, picture, target=target)
    found = {}
    for name, make in (
        ("class token, last layer", lambda: class_token(trace)),
        ("rollout", lambda: rollout(trace, "cls")),
        ("rollout, mean of patches", lambda: rollout(trace, "mean")),
        ("Grad-CAM", lambda: grad_cam(trace)),
    ):
        try:
            found[name] = make().double().numpy()
        except NotApplicable:
            continue
    return found


def run() -> None:
    import vizkit
    from vizkit.datasets.insects import draw

    print(f"{IMAGES} insects of the test split, normal difficulty; 1.0 would be no preference")
    for name in MODELS:
        loaded = vizkit.load(f"bundled:{name}")
        side = loaded.preprocessing.size_hw[0]
        found: dict[str, list] = {}
        for index in range(IMAGES):
            sample = draw(index, split="test", size_px=side)
            for method, heat in maps(loaded, sample.picture).items():
                found.setdefault(method, []).append(scores(heat, sample.insect))
        for method, each in found.items():
            ratio = math.exp(float(np.mean([math.log(max(one.per_pixel, 1e-6)) for one in each])))
            mean = float(np.mean([one.per_pixel for one in each]))
            hits, near, strict, share = (
                float(np.mean([getattr(one, part) for one in each]))
                for part in ("pointing", "near_share", "pointing_strict", "thing_share")
            )
            print(
                f"{name:14} {method:26} {mean:6.2f} × (geometric {ratio:.2f} ×)   pointing within 3 % {hits:.3f} "
                f"(chance {near:.3f}), exactly {strict:.3f} (chance {share:.3f})"
            )
