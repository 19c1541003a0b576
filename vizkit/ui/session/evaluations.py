"""Evaluations as processes of their own: `python -m vizkit evaluate` with a folder that the page watches.

The folder's name follows from the request, by content, so a reloaded page, a link and a second visitor find what is
at work or done. One at a time on this machine. When the server ends, so does its evaluation; what it has answered stays
in the cache, and the next start goes on from there.
"""

import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from vizkit.datasets.image_set import digest_of
from vizkit.datasets.opening import kind_of
from vizkit.datasets.scenes.opening import ABOUT
from vizkit.evaluation.job import JobFolder
from vizkit.heads import EMBEDDING, HEADS
from vizkit.ui.session import allowed, model_names
from vizkit.ui.session.chosen import bare, classes_of, title
from vizkit.ui.session.runner import GRACE_S, JobError, Runner, vizkit_command
from vizkit.views import bundled

MOST_KEPT = 60  # folders of finished evaluations


@dataclass(frozen=True)
class Request:
    """What is to be evaluated. `models`: as the command takes them; `content`: digest of pictures and weights;
    `classes`: those typed for the models that read text; `head`: of those that do not say their own; `part`: of files
    with several networks; `shown_by`: the field of the view that shows what comes of it, by its name in the address."""

    data: str
    split: str
    images: int
    models: tuple[str, ...]
    architecture: str
    content: str
    classes: tuple[str, ...] = ()
    head: str = ""
    part: str | None = None
    shown_by: str = "evaluated"

    @property
    def job(self) -> JobFolder:
        parts = (self.data, self.split, self.images, self.models, self.architecture, self.content)
        parts += (self.head, *self.classes)
        return JobFolder.of(digest_of("evaluation", *parts))

    def arguments(self) -> list[str]:
        """Of the command line, without those that only a page needs."""
        words = ["evaluate", self.data, *(f"--model={name}" for name in self.models)]
        words += [f"--architecture={self.architecture}"] if self.architecture else []
        words += [] if self.part is None else [f"--part={self.part}"]
        words += [f"--head={self.head}"] if self.head else []
        words += ["--classes=" + "".join(f"{text}\n" for text in self.classes)] if self.classes else []
        words += [f"--split={self.split}"] if self.split else []
        return words + ([f"--images={self.images}"] if self.images else [])

    def in_words(self) -> str:
        return shlex.join(["python", "-m", "vizkit", *self.arguments(), "-o", "report.html"])


def command(request: Request) -> list[str]:
    return vizkit_command(*request.arguments(), "--folder", str(request.job.path))


# ---- what the sidebar calls them, and the command --------------------------------------------------------------------
def request_for(
    data: str, split: str, images: int, sources: list[str], pictures_digest: str
) -> tuple[Request, list[str]]:
    """What to start, and a sentence for each model that cannot take part. `data`: a set's name or a path."""
    models, weights, refused = list[str](), list[object](), list[str]()
    architectures, heads = set[tuple[str, str | None]](), set[str]()
    own = st.session_state.get("_checkpoints", {})
    typed = next((classes_of(source) for source in sources if bare(source) != source), ())
    for source in map(bare, sources):
        if source.startswith("random:"):
            refused.append(f"{source} is untrained, so it is left out.")
        elif bundled.without_classes(source):
            refused.append(EMBEDDING.left_out(title(source)))
        elif source in own:
            opened = own[source]
            head = opened.head or ""
            if head and HEADS[head].unjudged:
                refused.append(HEADS[head].left_out(title(source)))
                continue
            models.append(opened.path)
            weights.append(source)
            architectures.add((opened.architecture or "", opened.part))
            heads.add(head)
        elif source.startswith("run:"):
            found = model_names.opened_of(source)
            if found is None or not found[1].is_file():
                refused.append(f"There is no finished run {source.removeprefix('run:')[:60]!r} here.")
                continue
            facts = found[1].stat()
            models.append(str(Path(found[0]).absolute()))
            weights.append((facts.st_mtime_ns, facts.st_size))
        else:
            hub = "/" in source and not source.startswith("hf-hub:")
            name = f"hf-hub:{source}" if hub else source
            if model_names.is_name(name):
                models.append(name)
            else:
                refused.append(f"{source[:60]!r} is no name of a model.")
    if len(architectures) > 1:
        refused.append("Opened checkpoints of two architectures cannot be evaluated together; choose one of them.")
        models = [name for name in models if name not in {opened.path for opened in own.values()}]
    data = absolute(data)
    content = digest_of(pictures_digest, weights)
    architecture, part = next(iter(architectures)) if len(architectures) == 1 else ("", None)
    head = next(iter(heads)) if len(heads) == 1 else ""
    named = tuple(dict.fromkeys(models))
    return Request(data, split, images, named, architecture, content, typed, head, part), refused


def absolute(data: str) -> str:
    """Of a folder or a zip its path from the root; the name of a set as it is."""
    return str(Path(data).expanduser().absolute()) if data and kind_of(data)[0] in ("folder", "archive") else data


def request_for_scenes(
    data: str, split: str, images: int, sources: list[str], scenes_digest: str
) -> tuple[Request, list[str]]:
    """Of detectors: "bundled:…", or the folder of a run."""
    files = [Path(source) / "model.safetensors" for source in sources]
    weights = [(file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.is_file()]
    data = data if data in ABOUT else absolute(data)
    content = digest_of(scenes_digest, weights)
    return Request(data, split, images, tuple(sources), "", content, shown_by="evaluated_scenes"), []


# ---- what came of it
def tell_of(request: Request) -> bool:
    """Let the view offer what came of it; True where that is new, and the view is to show it."""
    known: list[str] = st.session_state.setdefault("_evaluated", [])
    name, result = request.job.path.name, request.job.outcome
    stamp = (name, str(result))
    if result is None or stamp == st.session_state.get("_evaluated_last"):
        return False
    st.session_state["_evaluated_last"] = stamp
    st.session_state["_evaluated"] = [name, *(other for other in known if other != name)]
    st.session_state["_evaluated_new"] = request.shown_by, name
    return True


def at_hand() -> list[str]:
    """The evaluations that this session has asked for, the latest first; a new one is chosen."""
    if new := st.session_state.pop("_evaluated_new", ()):
        st.session_state[new[0]] = new[1]
    return st.session_state.get("_evaluated", [])


# ---- processes -------------------------------------------------------------------------------------------------------
class Evaluations(Runner):
    """Those that this server has started; at most one is at work."""

    stopped = "Stopped; what was answered of images is kept."

    def __init__(self, command: Callable[[Request], list[str]] = command, grace_s: float = GRACE_S) -> None:
        super().__init__(grace_s)
        self.command = command

    def start(self, request: Request) -> None:
        """Begin, or go on. JobError while another one is at work, or where the folder cannot be written."""
        if not allowed.jobs():
            raise JobError(allowed.NO_JOBS)
        with self.lock:
            if (other := self.at_work()) is not None:
                here = "This" if other.path == request.job.path else "Another"
                raise JobError(f"{here} evaluation is at work on this machine; wait for its end, or stop it.")
            _forget_oldest(request.job.path.parent)
            try:
                request.job.path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise JobError(f"It cannot be started: {error.strerror or type(error).__name__}.") from error
            self.launch(request.job, self.command(request), {"state": "preparing"})


@st.cache_resource(show_spinner=False)
def evaluations() -> Evaluations:
    """The only one of this server."""
    return Evaluations()


def _forget_oldest(root: Path) -> None:
    if not root.is_dir():
        return
    folders = [folder for folder in root.iterdir() if folder.is_dir()]
    folders.sort(key=lambda folder: -folder.stat().st_mtime)
    for folder in folders[MOST_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)
