"""Grad-CAM against the package grad-cam (pip install grad-cam), an implementation that shares nothing with ours.

It works by hooks on a layer that the user names, and needs to be told how a transformer's tokens lie; where it works,
the two agree. The package is a development requirement only.
"""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tests.analysis.conftest import GRID, SWIN, TARGET, image, made, traced
from vizkit.analysis.attribution.grad_cam import cam_layer, grad_cam, hires_cam

package = pytest.importorskip("pytorch_grad_cam")


def theirs(method, model, layer, pixels, reshape=None):
    """The map before it is scaled and enlarged, after relu."""
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    raw = []
    with method(model=model, target_layers=[layer], reshape_transform=reshape) as cam:
        cam.compute_input_gradient = True  # our weights are frozen
        original = cam.get_cam_image

        def seen(*args, **kwargs):
            raw.append(original(*args, **kwargs))
            return raw[-1]

        cam.get_cam_image = seen
        cam(input_tensor=pixels.clone(), targets=[ClassifierOutputTarget(TARGET)])
    return torch.from_numpy(np.maximum(raw[0][0], 0))


def places(tokens):
    return tokens[:, 1:].unflatten(1, GRID).permute(0, 3, 1, 2)


def channels_first(features):
    return features.permute(0, 3, 1, 2)


def cases():
    resnet, vit = made("test_resnet"), made("test_vit", depth=3)
    swin = made("swin_tiny_patch4_window7_224", **SWIN)
    yield "before the head", resnet, resnet.model.layer4[-1], image(1, (96, 160)), None
    yield "into the last attention", vit, vit.model.blocks[-1].norm1, image(1), places
    yield "before the head", swin, swin.model.norm, image(1, SWIN["img_size"]), channels_first


def test_the_package_says_the_same():
    for name, loaded, layer, pixels, reshape in cases():
        trace = traced(loaded, pixels)
        assert cam_layer(trace).name == name
        for method, ours in ((package.GradCAM, grad_cam(trace)), (package.HiResCAM, hires_cam(trace))):
            raw = theirs(method, loaded.model, layer, pixels, reshape)
            assert_close(ours, raw, rtol=0, atol=1e-5 * float(raw.abs().max()))
            assert float(ours.max()) > 0


def test_where_the_package_gives_zeros_we_look_further():
    """After the last attention of a ViT the patches have no say: at the last block's norm2 the package hands out zeros
    without a word, while we go back to where they have one."""
    loaded, pixels = made("test_vit", depth=3), image(1)
    raw = theirs(package.GradCAM, loaded.model, loaded.model.blocks[-1].norm2, pixels, places)
    assert float(raw.abs().max()) == 0
    assert float(grad_cam(traced(loaded, pixels)).max()) > 0
