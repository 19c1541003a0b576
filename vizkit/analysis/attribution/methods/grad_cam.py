"""Grad-CAM, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attribution.methods.record import Map
    from vizkit.traces import Trace


def run(given: Given) -> "Map":
    from vizkit.analysis.attribution.grad_cam import grad_cam, where

    heat, place = grad_cam(given.trace), where(given.trace)
    return (heat, place) if place else heat


def signed_run(given: Given, against: "Trace") -> "Tensor":
    from vizkit.analysis.attribution.grad_cam import signed_grad_cam

    return signed_grad_cam(given.trace, against)


def applies(trace: "Trace") -> None:
    from vizkit.analysis.attribution.grad_cam import cam_layer

    cam_layer(trace)


METHOD = Method(
    name="grad_cam",
    title="Grad-CAM",
    needs="target",
    run=run,
    signed_run=signed_run,
    applies=applies,
    layered=True,
    asks="Where do the late features hold what raises the answer on the mean of all places?",
    caveat="Late features are coarse and have seen the whole image; their place is not the place of their cause.",
    even="Each of its few late cells has seen the whole image.",
    source="Selvaraju et al. 2017 (arXiv 1610.02391), eq. 1 and 2",
)
