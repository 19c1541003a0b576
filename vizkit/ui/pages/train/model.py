"""The model that learns, where it begins, and whom it learns from."""

import hashlib
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

import streamlit as st

from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder, runs_root
from vizkit.training.runs.naming import safe_name
from vizkit.training.tuning import PROBE, TUNE, TUNING, classes_in, head_words, refuse_other_task
from vizkit.ui.pages.train.fields import KEY, PARTS, put, what_learns
from vizkit.ui.plain import plain
from vizkit.ui.session import chosen, model_names, models, uploads
from vizkit.ui.session.chosen import Opened
from vizkit.writing import name_of_file

OURS = {  # name → what it is; a test holds the names equal to those of `vizkit.training.architectures`
    "small_vit": "a ViT for a laptop: 6 layers of 4 heads, 112 pixels in patches of 8",
    "small_deit": "the same with a distillation token, for learning from a teacher",
    "small_swin": "a Swin for a laptop: windows of 7 on 28 × 28 and 14 × 14 patches, 112 pixels",
    "small_cnn": "a ResNet for a laptop, to compare with, 112 pixels",
    "small_vit_fine": "a plain ViT of 8 layers, 112 pixels in patches of 8; to compare the next ones with",
    "small_vit_coarse": "the same with patches of 16",
    "small_dual": "the same with both, merged in layer 6 by a share α that is learned",
    "small_dual_half": "the same with α = ½",
    "small_gradual": "patches of 8 again, whose tokens are halved after layers 3 and 6",
    "digits_vit": "a ViT for 32 pixels, as digits have",
    "digits_deit": "the same with a distillation token, to learn from a teacher",
    "digits_swin": "a Swin for 32 pixels, as digits have",
    "digits_cnn": "a ResNet for 32 pixels, as digits have; the quickest of all",
    "digits_lenet": "LeNet-5 of 1998, on 32 grey pixels",
    "digits_mlp": "a multilayer perceptron on 32 grey pixels, which knows no neighbours",
    "digits_vit_fine": "a plain ViT of 4 layers, 32 pixels in patches of 4; to compare the next ones with",
    "digits_vit_coarse": "the same with patches of 8",
    "digits_dual": "the same with both, merged in layer 3 by a share α that is learned",
    "digits_dual_half": "the same with α = ½",
    "digits_gradual": "patches of 4 again, whose tokens are halved after layers 1, 2 and 3",
}

OTHERS = {  # of other tasks: its name for people, and what it is
    "detr_small": ("DETR", "a small CNN, then a transformer whose learned queries each answer with one box or none"),
    "detr_masks": ("masks of DETR", "marks the pixels in each box; the DETR before it stays as it is"),
    "seq2seq_transformer": ("Transformer", "one half reads the date, the other writes it, both by attention"),
    "seq2seq_lstm_attention": (
        "LSTM with attention",
        "one LSTM reads; one writes, and looks back at all that was read",
    ),
    "seq2seq_lstm": ("LSTM", "one LSTM reads the date into one vector, from which another writes"),
    "seq2seq_rnn": ("RNN", "one recurrent network without gates reads into one vector, from which another writes"),
    "masked_lm": ("BERT", "a transformer that sees a line and guesses its hidden words"),
    "causal_lm": ("GPT", "a transformer that guesses each next word from those before it"),
    "ttsr_small": (
        "TTSR",
        "a CNN that adds what bicubic enlargement misses, with texture from a reference by attention",
    ),
    "sr_small": ("CNN", "the network of TTSR without its reference"),
}
KINDS = {"vit": "ViT", "deit": "DeiT", "swin": "Swin", "cnn": "CNN", "lenet": "LeNet-5", "mlp": "MLP"}


def in_words(name: str) -> str:
    """A network of the form: "small_vit_fine" is "small ViT fine"; others by their own name."""
    if name not in OURS:
        return OTHERS.get(name, (name,))[0]
    return " ".join(KINDS.get(part, part) for part in name.split("_"))


def choose() -> None:
    """The model's part of the form."""
    own = model_names.trained()
    model = st.selectbox(
        "Model",
        [*OURS, *own, *opened(), *model_names.timm_names()],
        format_func=_title,
        key=f"{KEY}model",
        persist_state="session",
        accept_new_options=True,
        help="small_… and digits_… are ours and learn within minutes. run:… goes on from the weights of a run of "
        "yours, checkpoint:… from what you have opened in the sidebar. All others are timm's; type a name with "
        "its tag for other published weights.",
    )
    st.caption(about(str(model or ""), own))


def choose_trained(labels: tuple[str, ...]) -> None:
    """The same where a trained model learns on. `labels`: of the pictures, () while they are not known."""
    source = st.selectbox(
        "Model",
        trained_models(),
        format_func=model_names.title,
        key=f"{KEY}model",
        persist_state="session",
        accept_new_options=True,
        help="First those that you look at on the other pages, then those that come with vizkit, your runs, and what "
        "you have opened in the sidebar. Type a timm name, or owner/name on the hub, for other published weights.",
    )
    part = what_learns(_fit_rate)
    if labels and source:
        with suppress(RecipeError):  # which stands beside the button
            known = classes_known(str(source))
            st.caption(f"{head_words(known, labels, whole=part == PARTS[0])} Size and normalisation stay its own.")


def trained_models() -> list[str]:
    """What can be fine-tuned and needs no typing; first what is chosen on the other pages."""
    here = [chosen.bare(source) for source in chosen.sources()]
    all_of = [*here, *model_names.bundled(), *model_names.trained(), *opened()]
    return list(dict.fromkeys(each for each in all_of if not each.startswith("random:")))


def classes_known(source: str) -> tuple[str, ...]:
    """The classes of a model that lies here, () of others. Raises RecipeError as `folder_of`."""
    folder = folder_of(source)
    here = model_names.BUNDLED / folder.removeprefix("bundled:") if folder.startswith("bundled:") else Path(folder)
    return classes_in(here)


def _fit_rate() -> None:
    """A new head alone wants a larger rate than a body that has learned already."""
    whole = st.session_state.get("train_part") == PARTS[0]
    put("lr", TUNING[TUNE if whole else PROBE][1].lr)


def misfit() -> str:
    """What would be followed, but not as somebody new to it may expect."""
    model, pretrained = str(st.session_state.get(f"{KEY}model") or ""), bool(st.session_state.get(f"{KEY}pretrained"))
    part, own = st.session_state.get("train_part"), model_names.trained()
    if model in OURS and pretrained:
        return "There are no published weights of this one: it begins at random."
    if part != PARTS[0] and model not in {*own, *opened()} and not pretrained:
        return "What does not learn stays random: this is meant for published weights, or those of a run."
    return ""


def about(model: str, own: dict[str, Path]) -> str:
    if model in OURS:
        return OURS[model]
    if model in opened():
        return "goes on from the opened weights, with a new head unless it knows the classes"
    if model in own:
        return "goes on from its best weights"
    known = not model or model_names.is_name(model)
    return "a model of timm; with a GPU, or with patience" if known else f":red[{plain(unknown(model))}]"


def unknown(model: str) -> str:
    return f"{model[:60]!r} is no name of a model; choose one of the list, or type a timm name."


def teacher(labels: tuple[str, ...]) -> None:
    """Distillation: another model's answers beside the labels. Offered are those that know these classes."""
    st.selectbox(
        "Teacher",
        [name for name in (*model_names.bundled(), *model_names.trained(), *opened()) if knows(name, labels)],
        format_func=_title,
        key=f"{KEY}teacher",
        index=None,
        placeholder="none",
        persist_state="session",
        accept_new_options=True,
        on_change=_choose_kind,
        help="A trained model whose answers the new one learns from beside the labels (distillation). Here are those "
        "that know the classes of the data; a timm name can be typed. What it gives, and its share, stand under More.",
    )


def knows(source: str, labels: tuple[str, ...]) -> bool:
    """Whether a model knows these classes, or may: nobody can say."""
    known: tuple[str, ...] = ()
    with suppress(RecipeError):
        known = classes_known(source)
    unknown = not known and not source.startswith("bundled:")
    return unknown or not labels or sorted(known) == sorted(labels)


def teacher_of(data: str, chosen: str = "") -> str | None:
    """Who knows the classes of these data: the chosen one where it does, else one that comes with vizkit, None where
    none is known to."""
    with suppress(RecipeError):
        known = {name: classes_known(f"bundled:{name}_cnn") for name in ("insects", "digits")}
        own, classes = known.get(data.partition(":")[0]), classes_known(chosen)
        if chosen and (classes == own if own else classes not in known.values()):
            return chosen
        return f"bundled:{data.partition(':')[0]}_cnn" if own else None
    return None


def _choose_kind() -> None:
    """A teacher without anything to give would be refused."""
    if st.session_state[f"{KEY}teacher"] and st.session_state.get(f"{KEY}distillation") == "none":
        st.session_state[f"{KEY}distillation"] = "hard"


def opened() -> dict[str, Opened]:
    """What this visitor has opened, by the names of the sidebar."""
    return st.session_state.get("_checkpoints", {})


def _title(source: str) -> str:
    return model_names.title(source) if source in opened() else source


def folder_of(source: str) -> str:
    """A model as a recipe names it: a run, or what was opened, by its folder. RecipeError where a visitor typed
    something else than a name: the recipe's command would take it as a path of this machine."""
    if source in opened():
        return str(_kept(source))
    if re.fullmatch(r"[\w-][\w.-]*/\w[\w.-]*", source):  # as the sidebar takes it
        source = f"hf-hub:{source}"
    if not source.startswith("run:"):
        if source and source not in OURS and not model_names.is_name(source):
            raise RecipeError(unknown(source))
        return source
    folder = model_names.trained().get(source)
    if folder is None and (run := RunFolder(runs_root() / safe_name(source.removeprefix("run:")))).has_model:
        refuse_other_task(run.name, run.recipe.model)
    if folder is None:
        raise RecipeError(f"There is no finished run {source.removeprefix('run:')[:60]!r} any more; choose another.")
    return str(folder)


def _kept(source: str) -> Path:
    """An opened model in timm's layout, for the process that trains: kept as long as uploads are, so that a run can be
    resumed. RecipeError where it is no model that timm makes again."""
    name = name_of_file(model_names.title(source).partition(":")[2])
    place = uploads.root() / hashlib.sha256(source.encode()).hexdigest() / name
    if not (place / "config.json").is_file():
        from vizkit.models import ModelError
        from vizkit.training.runs.saving import save_opened

        place.mkdir(parents=True, exist_ok=True)
        try:
            save_opened(place, models.model(source))
        except (ModelError, RecipeError) as error:
            shutil.rmtree(place.parent, ignore_errors=True)
            raise RecipeError(
                f"{model_names.title(source)}: {error}" if isinstance(error, ModelError) else str(error)
            ) from None
    os.utime(place.parent)
    return place
