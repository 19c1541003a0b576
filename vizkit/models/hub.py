"""Pretrained weights from the Hugging Face hub: from the local cache first, then the network with a short time-out."""

from pathlib import Path

TIMEOUT_S = 4.0
WEIGHTS = ("model.safetensors", "config.json", "README.md")


class ModelError(ValueError):
    """A model cannot be loaded; the message is one sentence for the user."""


class OfflineError(ModelError):
    """The weights are not on this machine and the hub cannot be reached."""


def weights_folder(repo: str) -> Path:
    """The folder with `model.safetensors` of a hub repository, downloaded on first use.

    Only safetensors are taken: other formats can carry code. Raises OfflineError without a network, after a few seconds
    at most, and ModelError when there is no such repository or it holds no safetensors.
    """
    folder = cached(repo)
    return folder if folder is not None else download(repo)


def cached(repo: str) -> Path | None:
    """The folder of an earlier download, found without asking the network."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(repo, local_files_only=True, allow_patterns=list(WEIGHTS)))
    except LocalEntryNotFoundError:
        return None
    except HFValidationError:
        raise ModelError(f"{repo!r} is not the name of a hub repository; write it as owner/name.") from None
    return folder if (folder / "model.safetensors").exists() else None


def download(repo: str) -> Path:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        # A cheap question first, with a time-out of our own: the download itself would retry for a long while.
        files = {file.rfilename for file in HfApi().model_info(repo, timeout=TIMEOUT_S).siblings or []}
        if "model.safetensors" in files:
            return Path(snapshot_download(repo, allow_patterns=list(WEIGHTS), etag_timeout=TIMEOUT_S))
    except GatedRepoError:
        raise ModelError(f"{repo} asks for an agreement on the hub: accept it there and log in first.") from None
    except RepositoryNotFoundError:
        raise ModelError(f"There is no model {repo} on the hub, or it is private.") from None
    except Exception as error:  # whatever the network library raises: the user is told the same
        raise OfflineError(
            f"The weights of {repo} are not on this machine and the hub cannot be reached ({type(error).__name__}). "
            "Choose a bundled model, or load it once with a network."
        ) from error
    raise ModelError(f"{repo} holds no model.safetensors; other formats can run code and are not opened.")
