"""Weights from the network: what is already on this machine first, then one question with a short time-out."""

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import torch

from vizkit.settings import settings
from vizkit.writing import write

TIMEOUT_S = 4.0
WEIGHTS = ("model.safetensors", "open_clip_model.safetensors")  # other formats can carry code
TEXTS = ("README.md", "preprocessor_config.json", "tokenizer_config.json", "tokenizer.json", "config.json")
MAX_TEXT_BYTES = 64 * 2**20  # of each of these; the tokenizer of SigLIP 2 takes 34 MB
LONGEST = 250  # characters of a sentence
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)
_HASH = re.compile(r"-([0-9a-f]{8,64})\.")  # PyTorch's custom: the name of a file ends in the start of its SHA-256

Answer = TypeVar("Answer")


class ModelError(ValueError):
    """A model cannot be loaded; the message is one sentence for the user."""

    def __init__(self, sentence: str) -> None:
        # Names come from users and strangers, and may be as long as a book.
        super().__init__(sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 1]}…")


class UnnamedError(ModelError):
    """A file does not say of which architecture its weights are; `fits`: names that its shapes fit, the best first."""

    def __init__(self, sentence: str, fits: list[str]) -> None:
        super().__init__(sentence)
        self.fits = fits


class PartError(ModelError):
    """A file holds several networks, and nothing says which is meant; `what` it holds, in words; `parts`: their
    prefixes, of which `usual` is what one means where it fits too."""

    def __init__(self, what: str, parts: Sequence[str], usual: str | None = None) -> None:
        super().__init__(f'{what}: say which is meant, as in part="{parts[0][:40]}".')
        self.what, self.parts, self.usual = what, list(parts), usual


class OfflineError(ModelError):
    """The weights are not on this machine and cannot be fetched."""


def over_budget(title: str, size: int, limit: int) -> ModelError:
    return ModelError(
        f"{title} takes {size / 2**30:.1f} GiB of memory, more than the {limit / 2**30:.1f} GiB that one model may; "
        "choose a smaller one, or let the owner of this server set VIZKIT_MODEL_GIB higher."
    )


def weights_file(repo: str, check: Callable[[Path], object] | None = None) -> Path:
    """The safetensors file of a hub repository, "owner/name" or "owner/name@revision", downloaded on first use.

    `check`: is given the folder with the config.json, which then has to be there, before the weights are downloaded.
    Raises OfflineError without a network, after a few seconds at most, and ModelError when there is no such repository,
    or it holds no safetensors, or more than a model may take.
    """
    name, _, revision = repo.partition("@")
    return cached(name, revision or None, check is not None) or _download(name, revision or None, check)


def cached(repo: str, revision: str | None = None, with_config: bool = False) -> Path | None:
    """The weights of an earlier download, by vizkit, timm or anything else, without asking the network."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        paths = [try_to_load_from_cache(repo, name, revision=revision) for name in (*WEIGHTS, "config.json")]
    except HFValidationError:
        raise ModelError(f"{repo!r} is not the name of a hub repository; write it as owner/name.") from None
    weights = next((Path(path) for path in paths[:-1] if isinstance(path, str)), None)
    return None if with_config and not isinstance(paths[-1], str) else weights


def refuse_unreachable(repo: str) -> None:
    """Ask the hub whether it answers for a repository; nothing is downloaded. Raises as `weights_file` does."""
    if cached(repo) is None:
        with _in_a_sentence(repo, None):
            _files_of(repo, None)


def _download(repo: str, revision: str | None = None, check: Callable[[Path], object] | None = None) -> Path:
    from huggingface_hub import hf_hub_download

    with _in_a_sentence(repo, revision):
        sizes = _files_of(repo, revision)
        weights = [name for name in WEIGHTS if name in sizes][:1]
        if "adapter_config.json" in sizes:
            raise ModelError(f"{repo} is an adapter: fetch its files into a folder, and open that.")
        if weights and sizes[weights[0]] > settings().model_bytes:
            raise over_budget(repo, sizes[weights[0]], settings().model_bytes)
        path = None
        for name in (*TEXTS, *weights):  # the weights last: where they are, all is there
            if weights and name in sizes and (name in weights or sizes[name] <= MAX_TEXT_BYTES):
                path = Path(hf_hub_download(repo, name, revision=revision, etag_timeout=TIMEOUT_S))
            if path is not None and name == "config.json" and check is not None:
                check(path.parent)
        if path is not None and weights:
            return path
    raise ModelError(f"{repo} holds no model.safetensors; other formats can run code and are not opened.")


def _files_of(repo: str, revision: str | None) -> dict[str, int]:
    """Bytes by name. A cheap question, with a time-out of our own: a download itself would retry for a long while."""
    from huggingface_hub import HfApi

    about = _within(
        TIMEOUT_S, lambda: HfApi().model_info(repo, revision=revision, timeout=TIMEOUT_S, files_metadata=True)
    )
    return {file.rfilename: getattr(file, "size", None) or 0 for file in about.siblings or []}


@contextmanager
def _in_a_sentence(repo: str, revision: str | None) -> Iterator[None]:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except ModelError:
        raise
    except GatedRepoError:
        raise ModelError(f"{repo} asks for an agreement on the hub: accept it there and log in first.") from None
    except RevisionNotFoundError:
        raise ModelError(f"{repo} has no revision {revision!r} on the hub.") from None
    except RepositoryNotFoundError:
        raise ModelError(f"There is no model {repo} on the hub, or it is private.") from None
    except Exception as error:  # whatever the network library raises: the sentence for the user is the same
        raise _unreachable(repo, error) from error


def fetch(url: str) -> Path:
    """A weights file of the web in torch's own cache, downloaded on first use and checked by the hash in its name."""
    name = url.rsplit("/", 1)[-1]
    target = Path(torch.hub.get_dir(), "checkpoints", name)
    if target.is_file():
        return target
    request = Request(url, headers={"User-Agent": "vizkit"})  # such addresses come from timm and torchvision

    def download_to(partial: Path) -> None:
        # Unlike torch's own download this one has a time-out, for the first byte and for every further one.
        with _within(TIMEOUT_S, lambda: urlopen(request, timeout=TIMEOUT_S)) as answer, partial.open("wb") as file:
            if (answer.length or 0) > settings().model_bytes:
                raise over_budget(name, answer.length, settings().model_bytes)
            shutil.copyfileobj(answer, file)
        digest = _HASH.search(name)
        with partial.open("rb") as file:
            if digest and not hashlib.file_digest(file, "sha256").hexdigest().startswith(digest[1]):
                raise ModelError(f"The download of {name} arrived damaged; try again.")

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write(target, download_to)
    except ModelError:
        raise
    except Exception as error:
        if isinstance(error, HTTPError):
            error.close()  # it is an answer too, with an open connection
        raise _unreachable(name, error) from error
    return target


def _within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """The answer, or TimeoutError: a silent name server does not care for the time-outs of network libraries."""
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=run, daemon=True, name="network question").start()
    return answer.result(seconds)


def _unreachable(what: str, error: Exception) -> ModelError:
    if isinstance(error, OSError) and error.errno in _DISK:
        return ModelError(f"The weights of {what} cannot be stored on this machine: {os.strerror(error.errno)}.")
    return OfflineError(
        f"The weights of {what} are not on this machine and cannot be fetched ({type(error).__name__}): "
        "choose a bundled model, or load it once with a network."
    )
