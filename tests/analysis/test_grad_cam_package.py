"""Grad-CAM against the package grad-cam (pip install grad-cam), an implementation that shares nothing with ours.

It works by hooks on a layer that the user names, and needs to be told how a transformer's tokens lie; where it works,
the two agree. The package is a development requirement only.
"""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tests.analysis.conftest import GRID, SWIN, TARGET, image, made, traced
from vizkit.analysis.attribution.grad_cam import grad_cam, hires_cam

package = pytest.importorskip("pytorch_grad_cam")


def theirs(method, model, layer, pixels, reshape=None):
    """(map before it is scaled, after relu; what the package hands out: enlarged to the input, 0 to 1)."""
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    raw = []
    with method(model=model, target_layers=[layer], reshape_transform=reshape) as cam:
        cam.compute_input_gradient = True  # our weights are frozen
        original = cam.get_cam_image

        def seen(*args, **kwargs):
            raw.append(original(*args, **kwargs))
            return raw[-1]

        cam.get_cam_image = seen
        shown = cam(input_tensor=pixels.clone(), targets=[ClassifierOutputTarget(TARGET)])
    return torch.from_numpy(np.maximum(raw[0][0], 0)), torch.from_numpy(shown[0])


def places(tokens):
    return tokens[:, 1:].unflatten(1, GRID).permute(0, 3, 1, 2)


def channels_first(features):
    return features.permute(0, 3, 1, 2)


def cases():
    resnet, vit = made("test_resnet"), made("test_vit", depth=3)
    swin = made("swin_tiny_patch4_window7_224", **SWIN)
    yield "resnet", resnet, resnet.model.layer4[-1], image(1, (96, 160)), None
    yield "vit", vit, vit.model.blocks[-1].norm1, image(1), places
    yield "swin", swin, swin.model.norm, image(1, SWIN["img_size"]), channels_first


@pytest.mark.parametrize("name", ["resnet", "vit", "swin"])
def test_the_package_says_the_same(name):
    _, loaded, layer, pixels, reshape = next(case for case in cases() if case[0] == name)
    trace = traced(loaded, pixels)
    for method, ours in ((package.GradCAM, grad_cam(trace)), (package.HiResCAM, hires_cam(trace))):
        raw, shown = theirs(method, loaded.model, layer, pixels, reshape)
        assert_close(ours, raw, rtol=0, atol=1e-5 * float(raw.abs().max()))
        assert float(ours.max()) > 0
        # What is handed out is the same map, min–max scaled and enlarged: the hottest places agree.
        enlarged = torch.nn.functional.interpolate(ours[None, None], shown.shape, mode="bilinear")[0, 0]
        scaled = (enlarged - enlarged.min()) / (enlarged.max() - enlarged.min())
        assert float((scaled - shown).abs().mean()) < 0.05


def test_where_the_package_gives_zeros_we_look_further():
    """After the last attention of a ViT the patches have no say: at the last block's norm2 the package hands out zeros
    without a word, while we go back to where they have one."""
    loaded, pixels = made("test_vit", depth=3), image(1)
    raw, _ = theirs(package.GradCAM, loaded.model, loaded.model.blocks[-1].norm2, pixels, places)
    assert float(raw.abs().max()) == 0
    assert float(grad_cam(traced(loaded, pixels)).max()) > 0
