"""Every view as a record of settings with a function: `VIEWS` lists them, and hosts draw any of them.

    Rollout(depth=3).show(Subject(lambda: loaded, image))     # the blocks, without any host
    vizkit.show("rollout", loaded, image, depth=3)            # in a notebook
    vizkit show rollout photo.jpg --depth 3 -o rollout.png    # on the command line

A new view is one file with its class, and one line in `VIEWS`.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from vizkit.views.rollout import Rollout as Rollout
    from vizkit.views.view import View

__all__ = ["VIEWS", "Entry", "class_of", "entry", "name_of"]

Reads = Literal["picture and models", "picture", "models", "nothing"]


@dataclass(frozen=True)
class Entry:
    """One view of a page. `title` is its place in the address, `line` one sentence, `module` its file: that of its
    class, "rollout:Rollout", with `name` in a notebook and on the command line and `page`, its page's address.

    `needs`: what a model has to have (a key of `ui.session.needs.NEEDS`), "" for a view without models; `beside`: what
    another has to have that it is compared with. `fragment`: a change inside draws this view alone again, not the page.
    `query`: the token whose rows it asks for, where the page's own choice does not decide. `formerly`: an earlier
    title, so that old addresses still open it. `answers`: whether it shows what models answer. `reads`: what it shows
    something of; the sidebar offers that alone.
    """

    title: str
    line: str
    module: str
    needs: str = "model"
    fragment: bool = True
    query: str = ""
    formerly: str = ""
    answers: bool = False
    reads: Reads = "picture and models"
    name: str = ""
    page: str = ""
    beside: str = ""


VIEWS = {
    each.name: each
    for each in (
        Entry(
            "Cards",
            "Where every layer and head attends, all models side by side.",
            "explore:Explore",
            answers=True,
            name="explore",
            page="explore",
        ),
        Entry(
            "Cut",
            "The image in patches, and each patch as a row of numbers.",
            "patches.cut:Cut",
            "transformer",
            name="cut",
            page="patches",
        ),
        Entry(
            "Compare in depth",
            "Cosine similarity of the chosen patch with all others, after every block.",
            "patches.depth:Depth",
            name="similarity-in-depth",
            page="patches",
        ),
        Entry(
            "Filters",
            "The patterns that the patch embedding responds to.",
            "patches.filters:Filters",
            "transformer",
            reads="models",
            name="patch-filters",
            page="patches",
        ),
        Entry(
            "Token norms by layer",
            "The norm of every token's vector after each layer.",
            "patches.token_norms:TokenNorms",
            formerly="Norms",
            name="token-norms",
            page="patches",
        ),
        Entry(
            "Cost",
            "What patch size and image size cost.",
            "patches.cost:Cost",
            "",
            reads="picture",
            name="patch-cost",
            page="patches",
        ),
        Entry(
            "Shuffle",
            "What happens if the order is lost? The same patches in another order, with and without positions.",
            "positions.shuffle:Shuffle",
            "transformer",
            name="shuffle",
            page="positions",
        ),
        Entry(
            "Kinds",
            "How near two patches are: learned, sinusoidal, relative and rotary positions on one grid.",
            "positions.kinds:Kinds",
            "transformer",
            name="position-kinds",
            page="positions",
        ),
        Entry(
            "Learned",
            "Cosine similarity of the learned positions of two patches.",
            "positions.learned:Learned",
            "learned positions",
            name="learned-positions",
            page="positions",
        ),
        Entry(
            "Relative",
            "What a score gains or loses by the offset of two patches.",
            "positions.relative:Relative",
            "relative positions",
            reads="models",
            name="relative-positions",
            page="positions",
        ),
        Entry(
            "Sinusoids",
            "A fixed pattern of slow and fast waves for every position.",
            "positions.sinusoids:Sinusoids",
            "",
            reads="nothing",
            name="sinusoids",
            page="positions",
        ),
        Entry(
            "Walk-through",
            "One query in one head, step by step, in the model's own numbers.",
            "attention.walkthrough:WalkThrough",
            "transformer",
            name="walk-through",
            page="attention",
        ),
        Entry(
            "Explorer",
            "The heads of a layer fused, as a map and as the whole matrix.",
            "attention.explorer:Explorer",
            "transformer",
            name="fused-heads",
            page="attention",
        ),
        Entry(
            "Statistics",
            "How far and how evenly every head attends, and to which tokens.",
            "attention.statistics:Statistics",
            "transformer",
            name="head-statistics",
            page="attention",
        ),
        Entry(
            "Masked",
            "The causal mask of a decoder.",
            "attention.masked:Masked",
            "",
            reads="nothing",
            name="causal-mask",
            page="attention",
        ),
        Entry(
            "Entropy",
            "How evenly every patch spreads its attention, layer by layer.",
            "attention.entropy:Entropy",
            "transformer",
            name="entropy",
            page="attention",
        ),
        Entry(
            "Maps",
            "Evidence for a class, by every method that applies.",
            "relevance.maps:Maps",
            answers=True,
            name="relevance",
            page="relevance",
        ),
        Entry(
            "Rollout",
            "Which patches contribute to one token when all layers are multiplied.",
            "rollout:Rollout",
            "transformer",
            name="rollout",
            page="rollout",
        ),
        Entry(
            "Stages",
            "What a token and a window cover in every stage.",
            "swin.stages:Stages",
            "swin",
            name="swin-stages",
            page="swin",
        ),
        Entry(
            "Shift",
            "Roll, windows, mask, attention, roll back: one block step by step.",
            "swin.shift:Shift",
            "swin",
            name="shifted-windows",
            page="swin",
        ),
        Entry(
            "Window",
            "What a token attends to in its window, with and without the relative bias.",
            "swin.window:Window",
            "swin",
            name="window-attention",
            page="swin",
        ),
        Entry(
            "Reach",
            "Which pixels can reach a token of the last stage, and how strongly.",
            "swin.reach:Reach",
            "swin",
            name="swin-reach",
            page="swin",
        ),
        Entry(
            "Merging",
            "How four tokens become one between two stages.",
            "swin.merging:Merging",
            "swin",
            name="patch-merging",
            page="swin",
        ),
        Entry(
            "Cost",
            "Global attention against windows: counted, and measured on this device.",
            "swin.cost:Cost",
            "swin",
            reads="models",
            name="window-cost",
            page="swin",
        ),
        Entry(
            "Beside a ViT",
            "The same image in a Swin and in a ViT.",
            "swin.beside:Beside",
            "swin",
            beside="vit",
            name="beside-a-vit",
            page="swin",
        ),
        Entry(
            "Switched off",
            "The same weights without the shift, or without the relative bias.",
            "swin.switched_off:SwitchedOff",
            "swin",
            name="swin-switched-off",
            page="swin",
        ),
        Entry(
            "Temperature",
            "One prediction, softened by the temperature.",
            "distillation.temperature:Temperature",
            "",
            name="temperature",
            page="distillation",
        ),
        Entry(
            "Teacher and student",
            "The loss of a student whose predictions differ from its teacher's.",
            "distillation.pair:TeacherStudent",
            "classes",
            name="teacher-student",
            page="distillation",
        ),
        Entry(
            "Two tokens",
            "What the class token and the distillation token of a DeiT predict.",
            "distillation.tokens:TwoTokens",
            "two tokens",
            fragment=False,
            query="cls",
            name="two-tokens",
            page="distillation",
        ),
        Entry(
            "Does it help?",
            "The same student with no, a soft and a hard teacher.",
            "distillation.runs:DoesItHelp",
            "",
            fragment=False,
            reads="nothing",
            name="teacher-gain",
            page="distillation",
        ),
        Entry(
            "Augmentation",
            "What a recipe does to a picture before the model learns from it.",
            "distillation.augmentation:Augmentation",
            "",
            name="augmentation",
            page="distillation",
        ),
        Entry(
            "Slide",
            "A kernel walks over the image: pixels times weights, summed.",
            "convolution.slide:Slide",
            name="slide",
            page="convolution",
        ),
        Entry(
            "Feature maps",
            "What every channel of a layer sees, where, and what its numbers are made of.",
            "convolution.feature_maps:FeatureMaps",
            "cnn",
            name="feature-maps",
            page="convolution",
        ),
        Entry(
            "Receptive field",
            "How much of the image a unit can see, and uses.",
            "convolution.receptive_field:ReceptiveField",
            name="receptive-field",
            page="convolution",
        ),
        Entry(
            "Filters",
            "The first layer's filters, and the patches that a channel answers to most.",
            "convolution.filters:Filters",
            "cnn",
            name="filters",
            page="convolution",
        ),
        Entry(
            "Shift by a pixel",
            "The picture moves by a few pixels, and the answers with it or not.",
            "convolution.shift:Shift",
            answers=True,
            name="shift",
            page="convolution",
        ),
        Entry(
            "Activations",
            "What lets a network bend: the curves, and what a model's own are given.",
            "convolution.activations:Activations",
            name="activations",
            page="convolution",
        ),
        Entry(
            "Norms",
            "Which numbers share a mean, on the model's own tokens.",
            "convolution.norms:Norms",
            name="norms",
            page="convolution",
        ),
        Entry(
            "Vanishing gradients",
            "What is left of the gradient at the first of many layers.",
            "convolution.vanishing:Vanishing",
            "",
            reads="nothing",
            name="vanishing-gradients",
            page="convolution",
        ),
    )
}


def class_of(name: str) -> "type[View]":
    """The class of a view by its name in `VIEWS`, imported now. KeyError for others."""
    module, _, cls = VIEWS[name].module.partition(":")
    return getattr(import_module(f"vizkit.views.{module}"), cls)


def name_of(view: "View | type[View]") -> str:
    """In `VIEWS`."""
    cls = view if isinstance(view, type) else type(view)
    where = f"{cls.__module__.removeprefix('vizkit.views.')}:{cls.__qualname__}"
    return next(name for name, each in VIEWS.items() if each.module == where)


def entry(view: "View | type[View]") -> Entry:
    return VIEWS[name_of(view)]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """The classes by their own names, `vizkit.views.Rollout`, imported when they are used."""
    for each in VIEWS.values():
        module, _, cls = each.module.partition(":")
        if cls == name:
            return getattr(import_module(f"vizkit.views.{module}"), cls)
    raise AttributeError(f"module 'vizkit.views' has no attribute {name!r}")
