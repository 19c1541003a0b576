"""HiResCAM, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.grad_cam import applies
from vizkit.analysis.attribution.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attribution.methods.record import Map
    from vizkit.traces import Trace


def run(given: Given) -> "Map":
    from vizkit.analysis.attribution.grad_cam import hires_cam, where

    heat, place = hires_cam(given.trace), where(given.trace)
    return (heat, place) if place else heat


def signed_run(given: Given, against: "Trace") -> "Tensor":
    from vizkit.analysis.attribution.grad_cam import signed_hires_cam

    return signed_hires_cam(given.trace, against)


METHOD = Method(
    name="hires_cam",
    title="HiResCAM",
    needs="target",
    run=run,
    signed_run=signed_run,
    applies=applies,
    layered=True,
    asks="Where does each late feature itself raise the answer, gradient times feature place by place?",
    caveat="As coarse as Grad-CAM; under a mean over places the two are the same map.",
    even="Each of its few late cells has seen the whole image.",
    source="Draelos & Carin 2020 (arXiv 2011.08891), eq. 3",
)
