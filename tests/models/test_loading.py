"""Models from every source, without a network; and files that were made to do harm."""

import argparse
import http.server
import io
import json
import os
import pickle
import re
import shutil
import socket
import struct
import tarfile
import threading
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import numpy as np
import pytest
import safetensors.torch
import timm
import torch
import torchvision
from huggingface_hub import constants
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from PIL import Image

import vizkit
from tests.drawn import noisy_picture, seeded
from vizkit.datasets import insects
from vizkit.image import prepare
from vizkit.models import ModelError, OfflineError
from vizkit.models.sources import hub
from vizkit.models.sources.checkpoint import read_checkpoint
from vizkit.models.sources.creating import create, known
from vizkit.models.sources.loaded import imagenet_labels
from vizkit.models.sources.loading import TORCHVISION, bundled_names
from vizkit.models.sources.sizing import refuse_missing_numbers
from vizkit.views.bundled import MODELS

SMALL = "test_vit"  # 6 layers, 371,240 parameters, 160×160


def refusal(source, **options):
    """The sentence with which a source is refused, fit to be shown to a user."""
    with pytest.raises(ModelError) as caught:
        vizkit.load(source, **options)
    sentence = str(caught.value)
    assert len(sentence) <= hub.LONGEST
    assert "\n" not in sentence
    assert sentence[-1] in ".?…"
    assert not re.search(r"[.!?] [A-Z]", sentence), f"more than one sentence: {sentence}"
    assert not re.search(r"(^|[\s'\"(])/\w", sentence), f"a path of this machine: {sentence}"
    return sentence


def weights(classes=1000, seed=5, **options):
    with seeded(seed):
        return timm.create_model(SMALL, num_classes=classes, **options).state_dict()


def same(loaded, state):
    found = loaded.model.state_dict()
    return found.keys() == state.keys() and all(torch.equal(found[key], state[key]) for key in state)


# ---- files that were made to do harm, or met with an accident --------------------------------------------------------
class Harmful:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def make_code(path):
    torch.save({"state_dict": weights(), "x": Harmful(f"touch {path.parent}/marker")}, path)


def make_code_in_old_format(path):
    torch.save({"x": Harmful(f"touch {path.parent}/marker")}, path, _use_new_zipfile_serialization=False)


def make_bare_pickle(path):
    path.write_bytes(pickle.dumps(Harmful(f"touch {path.parent}/marker")))


def make_lying(path):
    safetensors.torch.save_file(weights(), path)
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header["cls_token"]["data_offsets"][1] += 4 * 10**12
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])


def make_torch(path, content):
    torch.save(content, path)


def make_tar(path):
    with tarfile.open(path, "w") as archive:
        for name in ("../../escaped", "tensors", "storages"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())


def make_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../escaped", b"x")


def make_cut_zip(path):
    make_torch(path, weights())
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def make_ring(path):
    ring = {}
    ring["model"] = ring
    torch.save(ring, path)


REFUSED = {  # file → (how it is made, what the sentence says)
    "code.pt": (make_code, "posix.system, which could run code"),
    "old code.pth": (make_code_in_old_format, "posix.system, which could run code"),
    "bare pickle.bin": (make_bare_pickle, "plain weights"),
    "lying.safetensors": (make_lying, "not a whole safetensors"),
    "long header.safetensors": (lambda path: path.write_bytes(b"\xff" * 7 + b"\x7f{}"), "not a whole safetensors"),
    "empty.safetensors": (lambda path: path.touch(), "not a whole safetensors"),
    "image.pt": (lambda path: Image.new("RGB", (9, 9)).save(path, "PNG"), "not a whole torch checkpoint"),
    "archive.tar": (make_tar, "not a whole torch checkpoint"),
    "archive.pt": (make_zip, "not a whole torch checkpoint"),
    "cut.pt": (make_cut_zip, "not a whole torch checkpoint"),
    "ring.pt": (make_ring, "no tensors"),
    "other model.pt": (lambda path: make_torch(path, timm.create_model("test_resnet").state_dict()), "does not fit"),
    "scalar head.pt": (lambda path: make_torch(path, {**weights(), "head.weight": torch.tensor(1.0)}), "does not fit"),
    "part.pt": (lambda path: make_torch(path, dict(list(weights().items())[9:])), "3|4|5|6|7|8|9 tensors differ"),
    "other size.pt": (
        lambda path: make_torch(path, weights(img_size=(96, 160))),
        "another size .*61 places, 101 expected",
    ),
    "link to nothing.pt": (lambda path: path.symlink_to("nothing"), "There is no checkpoint"),
    "link to itself.pt": (lambda path: path.symlink_to(path.name), "There is no checkpoint|cannot be read"),
    "folder.pt": (lambda path: path.mkdir(), "is no checkpoint: it is a folder"),
    "n" * 300 + ".pt": (lambda path: None, "cannot be read"),
}


@pytest.mark.product
@pytest.mark.parametrize("name", REFUSED, ids=lambda name: name[:30])
def test_bad_checkpoint_is_refused_in_one_sentence(tmp_path, name):
    make, expected = REFUSED[name]
    make(tmp_path / name)
    assert re.search(expected, refusal(tmp_path / name, architecture=SMALL))
    assert not (tmp_path / "marker").exists()
    assert not [path for path in (tmp_path.parents[1]).glob("escaped*")]


def test_checkpoint_needs_an_architecture_that_exists(tmp_path):
    make_torch(tmp_path / "w.pt", weights())
    assert "does not say which architecture" in refusal(tmp_path / "w.pt")
    assert "no model 'resnet_of_mine'" in refusal(tmp_path / "w.pt", architecture="resnet_of_mine")
    assert "for random ones load test_vit" in refusal(tmp_path / "w.pt", architecture=SMALL, pretrained=False)


# ---- checkpoints that are right --------------------------------------------------------------------------------------
def prefixed(prefix, state):
    return {f"{prefix}{key}": value for key, value in state.items()}


RIGHT = {  # file → its content, made from the weights; `other` are weights that must not be chosen
    "plain.pt": lambda state, other: state,
    "state_dict.ckpt": lambda state, other: {"state_dict": prefixed("model.", state), "hyper_parameters": {}},
    "parallel.pt": lambda state, other: prefixed("module.", state),
    "compiled.pt": lambda state, other: {"model": prefixed("module._orig_mod.", state)},
    "timm average.pth.tar": lambda state, other: {"state_dict": other, "state_dict_ema": state, "arch": SMALL},
    "dinov2.pt": lambda state, other: {**state, "mask_token": torch.zeros(1, 64)},  # as the authors publish it
}


@pytest.mark.parametrize("name", RIGHT)
def test_nested_and_prefixed_weights_are_found(tmp_path, name):
    state = weights()
    make_torch(tmp_path / name, RIGHT[name](state, weights(seed=6)))
    loaded = vizkit.load(tmp_path / name, architecture=SMALL)
    assert same(loaded, state)
    assert loaded.source == "checkpoint of test_vit" + (", moving average" if "average" in name else "")
    assert loaded.trained
    assert "state_dict" not in loaded.model.pretrained_cfg


def test_file_may_name_its_architecture(tmp_path):
    state = weights()
    options = argparse.Namespace(model=SMALL, lr=0.1)  # as the training scripts of timm and DeiT store theirs
    make_torch(tmp_path / "arch.pt", {"arch": SMALL, "state_dict": state, "args": options})
    make_torch(tmp_path / "args.pt", {"model": state, "args": options})
    safetensors.torch.save_file(state, tmp_path / "own.safetensors", {"architecture": SMALL})
    for name in ("arch.pt", "args.pt", "own.safetensors"):
        assert same(vizkit.load(tmp_path / name), state)


def test_old_format_and_link_are_loaded(tmp_path):
    state = weights()
    torch.save(state, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    (tmp_path / "link.pth").symlink_to("old.pth")
    assert same(vizkit.load(str(tmp_path / "link.pth"), architecture=SMALL), state)


def test_head_of_seven_classes(tmp_path, photo):
    safetensors.torch.save_file(weights(classes=7), tmp_path / "fine.safetensors")
    loaded = vizkit.load(tmp_path / "fine.safetensors", architecture=SMALL)
    assert [loaded.label(i) for i in range(7)] == [f"class {i}" for i in range(7)]
    assert vizkit.trace(loaded, photo).logits.shape == (7,)


def test_without_head_it_gives_features(tmp_path, photo):
    make_torch(tmp_path / "headless.pt", {k: v for k, v in weights().items() if not k.startswith("head.")})
    loaded = vizkit.load(tmp_path / "headless.pt", architecture=SMALL)
    assert not loaded.classifies
    assert loaded.label(3) == "feature 3"
    assert vizkit.trace(loaded, photo).logits.shape == (64,)


def test_checking_safetensors_does_not_read_the_weights(tmp_path, monkeypatch):
    write_folder(tmp_path)
    monkeypatch.setattr("vizkit.models.sources.checkpoint.renamed", lambda *_: pytest.fail("read the whole file"))
    vizkit.load(tmp_path)


# ---- run folders -----------------------------------------------------------------------------------------------------
CONFIG = {
    "architecture": SMALL,
    "num_classes": 3,
    "label_names": ["ant", "bee", "cat"],
    "pretrained_cfg": {
        "num_classes": 3,
        "input_size": [3, 160, 160],
        "fixed_input_size": True,
        "license": "cc0-1.0",
        "classifier": "head",
    },
}


def write_folder(folder, config=CONFIG, state=None):
    folder.mkdir(exist_ok=True)
    text = config if isinstance(config, str) else json.dumps(config)
    (folder / "config.json").write_text(text)
    safetensors.torch.save_file(state or weights(classes=3), folder / "model.safetensors")
    return folder


def changed(**entries):
    return {**CONFIG, **entries}


def with_preprocessing(**entries):
    return changed(pretrained_cfg={**CONFIG["pretrained_cfg"], **entries})


BAD_CONFIGS = {
    "no json": ("{'architecture': ", "config.json of .* is damaged"),
    "not utf-8": ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "is damaged"),
    "a list": ([SMALL], "is damaged"),
    "no architecture": ({"num_classes": 3}, "does not name"),
    "too deep": ("[" * 100_000, "is damaged"),
    "outside": (changed(architecture="../../../etc/passwd"), "timm has no model"),
    "another source": (changed(architecture="hf-hub:owner/name"), "timm has no model"),
    "unknown": (changed(architecture="vit_of_tomorrow"), "timm has no model"),
    "other shape": (changed(model_args={"depth": 7}), "cannot be made"),
    "huge": (changed(model_args={"embed_dim": 10**9}), "above 65536"),
    "another file": (changed(model_args={"checkpoint_path": "/etc/passwd"}), "cannot be made"),
    "two counts": (changed(model_args={"num_classes": 5}), "two different numbers of classes"),
    "unknown entry": (with_preprocessing(colour="red"), "cannot be made"),
    "no spread": (with_preprocessing(std=[0, 0, 0]), "makes no sense"),
    "no numbers": (with_preprocessing(mean="grey"), "makes no sense"),
}


@pytest.mark.product
@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_bad_config_is_refused_in_one_sentence(tmp_path, name):
    config, expected = BAD_CONFIGS[name]
    assert re.search(expected, refusal(write_folder(tmp_path / "run", config)))


def test_folder_with_something_missing(tmp_path):
    folder = write_folder(tmp_path / "run")
    (folder / "model.safetensors").write_bytes(b"")
    assert "not a whole safetensors" in refusal(folder)
    (folder / "model.safetensors").unlink()
    assert "run is no run folder" in refusal(folder)
    (folder / "model.safetensors").mkdir()
    assert "run is no run folder" in refusal(folder)
    assert "no folder 'nowhere'" in refusal(str(tmp_path / "nowhere"))


def test_run_folder(tmp_path, photo):
    state = weights(classes=3)
    loaded = vizkit.load(write_folder(tmp_path / "run", state=state))
    assert same(loaded, state)
    assert (loaded.labels, loaded.licence, loaded.source) == (("ant", "bee", "cat"), "cc0-1.0", "run folder")
    untrained = vizkit.load(str(tmp_path / "run"), pretrained=False)
    assert not same(untrained, state)
    assert (untrained.trained, untrained.source) == (False, "run folder, random weights")
    wide = vizkit.load(tmp_path / "run", image_size=(96, 160))
    assert vizkit.trace(wide, photo).image_size == (96, 160)


@pytest.mark.parametrize("said", [{"fixed_input_size": False}, {"input_size": [3, 480, 480]}])
def test_a_folder_whose_positions_are_of_another_size_opens_at_it(tmp_path, said):
    """101 places: the class token, and 10 × 10 patches of 16 pixels."""
    state = weights(classes=3)
    loaded = vizkit.load(write_folder(tmp_path / "run", with_preprocessing(**said), state))
    assert loaded.preprocessing.size_hw == (160, 160)
    assert same(loaded, state)
    assert loaded.source.startswith("run folder, at 160×160 as its positions say, a square image supposed")


def test_a_folder_whose_positions_are_of_no_square_asks_for_their_size(tmp_path):
    state = weights(classes=3, img_size=(96, 160))
    folder = write_folder(tmp_path / "run", state=state)
    assert "61 places, 101 expected); give the image size" in refusal(folder)
    loaded = vizkit.load(folder, image_size=(96, 160))
    assert loaded.preprocessing.size_hw == (96, 160)
    assert same(loaded, state)


def test_folder_called_like_a_model_is_had_by_its_path(tmp_path, monkeypatch):
    write_folder(tmp_path / SMALL)
    monkeypatch.chdir(tmp_path)
    assert vizkit.load(SMALL, pretrained=False).preprocessing.size_hw == (160, 160)
    assert len(vizkit.load(Path(SMALL)).labels) == 3


# ---- the hub ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """An empty cache in place of the user's; whoever asks the network fails the test."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    forbid_network(monkeypatch)
    return tmp_path


def forbid_network(monkeypatch):
    def asked(*_, **__):
        raise AssertionError("the network was asked")

    for module in (timm.models._hub, timm.models._builder):
        for name in ("hf_hub_download", "load_state_dict_from_hf", "load_state_dict_from_url", "download_cached_file"):
            monkeypatch.setattr(module, name, asked, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", asked)


def put_in_cache(cache, repo, state, revision="main", **texts):
    """As huggingface_hub lays it out: a snapshot of links to blobs, and a reference to it."""
    folder, sha = cache / f"models--{repo.replace('/', '--')}", "0123456789abcdef0123456789abcdef01234567"
    snapshot = folder / "snapshots" / sha
    for each in (folder / "refs", folder / "blobs", snapshot):
        each.mkdir(parents=True, exist_ok=True)
    (folder / "refs" / revision).write_text(sha)
    safetensors.torch.save_file(state, folder / "blobs" / "weights")
    (snapshot / "model.safetensors").symlink_to("../../blobs/weights")
    for name, text in texts.items():
        (snapshot / name.replace("_", ".")).write_text(text)


@pytest.mark.parametrize("name", ["test_vit", "test_vit.r160_in1k"])
def test_timm_name_from_the_cache(hub_cache, name):
    state = weights()
    put_in_cache(hub_cache, "timm/test_vit.r160_in1k", state)
    loaded = vizkit.load(name)
    assert same(loaded, state)
    assert (loaded.source, loaded.licence) == ("hub: timm/test_vit.r160_in1k", "apache-2.0")
    assert loaded.labels[0].startswith("tench")
    assert loaded.trained
    wide = vizkit.load(name, image_size=(96, 160))
    assert wide.model.pos_embed.shape == (1, 61, 64)  # stretched by timm to 6×10 patches and the class


def test_hub_id_from_the_cache(hub_cache):
    state = weights(classes=3)
    card = "---\ntags:\n- x\nlicense: mit\n---\n# License: none\n"
    config = with_preprocessing(license=None)
    put_in_cache(hub_cache, "somebody/ants", state, config_json=json.dumps(config), README_md=card)
    loaded = vizkit.load("hf-hub:somebody/ants")
    assert same(loaded, state)
    assert (loaded.labels, loaded.source, loaded.licence) == (("ant", "bee", "cat"), "hub: somebody/ants", "mit")


def test_hub_revision_from_the_cache(hub_cache):
    put_in_cache(hub_cache, "somebody/ants", weights(classes=3), "v2", config_json=json.dumps(CONFIG))
    assert vizkit.load("hf-hub:somebody/ants@v2").labels == ("ant", "bee", "cat")
    assert "not on this machine" in refusal("hf-hub:somebody/ants")


def test_hub_model_of_another_library(hub_cache):
    put_in_cache(hub_cache, "google/vit", weights(), config_json='{"architectures": ["ViTForImageClassification"]}')
    assert refusal("hf-hub:google/vit") == "The config.json of google/vit does not name a timm architecture."


@pytest.mark.parametrize("repo", ["", "..", "../x", "a/b/c", "a b", "a/\0"])
def test_no_hub_name(repo):
    assert re.search("owner/name|not on this machine", refusal(f"hf-hub:{repo}"))


def test_every_published_model_has_a_place():
    """What `from_timm` relies on: a full name on the hub, or an address."""
    for name in timm.list_pretrained():
        config = timm.get_pretrained_cfg(name)
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", config.hf_hub_id or "") or config.url.startswith("https://")
        assert not config.hf_hub_filename


def online(monkeypatch, files=("model.safetensors", "config.json", "x.py", "pytorch_model.bin"), error=None):
    """A hub that answers; what is downloaded from it is noted."""
    taken = []

    def model_info(self, repo, **options):
        assert options["timeout"] < 5
        if error is not None:
            raise error
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=name) for name in files])

    def hf_hub_download(repo, name, **options):
        taken.append(name)
        return f"/cache/{name}"

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hf_hub_download)
    return taken


def test_download_takes_safetensors_only_and_last(hub_cache, monkeypatch):
    taken = online(monkeypatch)
    assert hub.weights_file("somebody/ants") == Path("/cache/model.safetensors")
    assert taken == ["config.json", "model.safetensors"]
    online(monkeypatch, files=("pytorch_model.bin",))
    assert "holds no model.safetensors" in refusal("hf-hub:somebody/ants")


def response_error(kind):
    """As the hub's own code makes them; its releases use different libraries for what is sent and received."""
    return kind("no", response=SimpleNamespace(status_code=404, headers={}, request=None))


@pytest.mark.parametrize(
    "error, expected, kind",
    [
        (response_error(RepositoryNotFoundError), "no model somebody/ants on the hub", ModelError),
        (response_error(GatedRepoError), "asks for an agreement", ModelError),
        (TimeoutError("read timed out"), "not on this machine and cannot be fetched", OfflineError),
        (ConnectionResetError(104, "reset"), "not on this machine and cannot be fetched", OfflineError),
        (OSError(28, "No space left on device"), "cannot be stored", ModelError),
    ],
)
def test_what_the_hub_answers(hub_cache, monkeypatch, error, expected, kind):
    online(monkeypatch, error=error)
    assert expected in refusal("hf-hub:somebody/ants")
    with pytest.raises(kind) as caught:
        vizkit.load("hf-hub:somebody/ants")
    assert type(caught.value) is kind


# ---- no network ------------------------------------------------------------------------------------------------------
@pytest.fixture
def black_hole():
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def switch_hub_on(monkeypatch, tmp_path, address):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(hub, "TIMEOUT_S", 0.5)


WAITED_S = 60  # on a machine with other work; who waits for an answer waits ten times as long


def timed_refusal(source):
    start = time.perf_counter()
    with pytest.raises(OfflineError, match="choose a bundled model"):
        vizkit.load(source)
    sentence = refusal(source)
    assert "not on this machine" in sentence
    return (time.perf_counter() - start) / 2


def test_nobody_listens(monkeypatch, tmp_path):
    switch_hub_on(monkeypatch, tmp_path, "http://127.0.0.1:9")
    assert timed_refusal("vit_tiny_patch16_224") < WAITED_S


def test_connection_is_never_answered(monkeypatch, tmp_path, black_hole):
    switch_hub_on(monkeypatch, tmp_path, black_hole)
    assert timed_refusal("vit_tiny_patch16_224") < WAITED_S


def test_name_server_is_silent(monkeypatch, tmp_path):
    """No time-out of a network library covers this."""
    switch_hub_on(monkeypatch, tmp_path, "http://hub.invalid")
    silence = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: silence.wait(600) and [])
    assert timed_refusal("hf-hub:somebody/ants") < WAITED_S
    silence.set()


def test_hub_switched_off_by_the_user(monkeypatch, tmp_path):
    forbid_network(monkeypatch)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert timed_refusal("vit_tiny_patch16_224") < WAITED_S


# ---- files of the web ------------------------------------------------------------------------------------------------
@pytest.fixture
def web(tmp_path, monkeypatch):
    """A folder that is served, and torch's cache beside it."""
    folder = tmp_path / "web"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given):
            super().__init__(*given, directory=folder)

        def log_message(self, *_):
            pass

    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "torch"))
    monkeypatch.setattr(hub, "TIMEOUT_S", 0.5)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield SimpleNamespace(address=f"http://127.0.0.1:{server.server_port}", folder=folder, cache=tmp_path / "torch")
        server.shutdown()
        thread.join()


def test_fetch_checks_the_hash_and_keeps_the_file(web):
    (web.folder / "a-2cf24dba.pth").write_bytes(b"hello")
    (web.folder / "b-00000000.pth").write_bytes(b"hello")
    path = hub.fetch(f"{web.address}/a-2cf24dba.pth")
    assert path.read_bytes() == b"hello"
    (web.folder / "a-2cf24dba.pth").unlink()
    assert hub.fetch(f"{web.address}/a-2cf24dba.pth") == path
    with pytest.raises(ModelError, match="arrived damaged"):
        hub.fetch(f"{web.address}/b-00000000.pth")
    with pytest.raises(OfflineError):
        hub.fetch(f"{web.address}/missing.pth")
    assert [each.name for each in path.parent.iterdir()] == ["a-2cf24dba.pth"]


def test_fetch_does_not_wait_for_ever(web, black_hole):
    with pytest.raises(OfflineError):  # after hub.TIMEOUT_S: a server that never answers would be waited for for ever
        hub.fetch(f"{black_hole}/a-2cf24dba.pth")
    assert not list((web.cache / "checkpoints").iterdir())


def test_torchvision(monkeypatch, tmp_path):
    untrained = vizkit.load("torchvision:swin_t", pretrained=False)
    assert (len(untrained.labels), untrained.preprocessing.size_hw) == (1000, (224, 224))
    make_torch(tmp_path / "swin.pth", untrained.model.state_dict())
    asked = []
    monkeypatch.setattr(hub, "fetch", lambda url: asked.append(url) or tmp_path / "swin.pth")
    trained = vizkit.load("torchvision:swin_t")
    assert same(trained, untrained.model.state_dict())
    assert asked == ["https://download.pytorch.org/models/swin_t-704ceda3.pth"]
    assert (trained.source, trained.licence, trained.trained) == ("torchvision", "BSD-3-Clause", True)
    assert "not among the models of torchvision" in refusal("torchvision:resnext50_32x4d")
    assert "takes only 224×224 pixels" in refusal("torchvision:vit_b_16", pretrained=False, image_size=384)
    assert set(TORCHVISION) >= {"vit_b_16", "swin_t"}


@pytest.mark.parametrize("name", ["swin_t", "swin_v2_t", "vit_b_32"])  # resized to 232, 260 and 256 pixels, then cut
def test_a_model_of_torchvision_sees_the_picture_as_torchvision_prepares_it(name, monkeypatch):
    picture = noisy_picture(12, 16, 5)
    picture = np.array(Image.fromarray(picture).resize((640, 480), Image.Resampling.BICUBIC))
    monkeypatch.setattr(torchvision.models, "get_model", lambda *_, **__: torch.nn.Identity())
    needs = vizkit.load(f"torchvision:{name}", pretrained=False).preprocessing
    theirs = torchvision.models.get_model_weights(name).DEFAULT.transforms()(Image.fromarray(picture))
    ours = torch.from_numpy(prepare(picture, needs)[0])
    assert ours.shape == theirs.shape
    assert float((ours - theirs).abs().max()) < 1e-5


# ---- names, sizes, labels --------------------------------------------------------------------------------------------
def test_bundled_models_say_what_they_are():
    labels = {"insects": insects.LABELS, "digits": tuple("0123456789"), "photographs": ()}
    licences = {"photographs": "apache-2.0"}
    for name in bundled_names():
        loaded, pictures = vizkit.load(f"bundled:{name}"), MODELS[name].pictures
        assert (loaded.source, loaded.licence) == ("bundled with vizkit", licences.get(pictures, "mit"))
        assert (loaded.labels, loaded.trained) == (labels[pictures], True)
        assert not loaded.model.training
        assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert re.search("digits_vit", refusal("bundled:../bundled/digits_vit"))


@pytest.mark.parametrize(
    "name, expected",
    [
        ("", "no model ''"),
        ("vit_tiny_patch", "did you mean vit_tiny_patch16_224"),
        ("vit_tinny_patch16_224", "did you mean vit_tiny_patch16_224"),
        ("vit_tiny_patch16_224.mine", "there are vit_tiny_patch16_224.augreg"),
        ("convnext_tiny.untrained", "no weights"),
        ("vit_tiny_patch16_224\n[*]", "no model"),
        ("x" * 5000, "no model 'xxx"),
        ("a/" * 3000, "no folder 'a'"),
        ("\0", "no model"),
        ("..", "no run folder"),
        ("https://example.org/model", "no folder 'model'"),
    ],
)
def test_names_that_mean_nothing(name, expected):
    assert expected in refusal(name)


def test_untrained_model_has_no_weights_to_fetch():
    assert "no published weights" in refusal("maxvit_tiny_rw_256")


def test_names_that_timm_has_changed():
    assert known("vit_base_patch16_224_in21k") == "vit_base_patch16_224.augreg_in21k"


@pytest.mark.parametrize("size", [160, (96, 160), (16, 16)])
def test_other_input_sizes(photo, size):
    loaded = vizkit.load(SMALL, pretrained=False, image_size=size)
    size_hw = (size, size) if isinstance(size, int) else size
    trace = vizkit.trace(loaded, photo)
    assert trace.image_size == size_hw
    assert trace.attention[0].query.grid == (size_hw[0] // 16, size_hw[1] // 16)


@pytest.mark.parametrize(
    "name, size, expected",
    [
        (SMALL, (250, 130), "do not divide 250×130; the nearest size is 256×128"),
        (SMALL, (5, 300), "nearest size is 16×304"),
        ("swin_tiny_patch4_window7_224", (90, 97), "nearest size is 88×96"),
        ("crossvit_tiny_240", (256, 128), "does not run at 256×128"),
        ("xcit_nano_12_p16_224", (250, 130), "divide image dimensions evenly"),
        ("vit_tiny_r_s16_p8_224", (250, 130), "cannot be made for images of 250×130 pixels: timm refuses"),
        (SMALL, 0, "not possible"),
        (SMALL, (-16, 16), "not possible"),
        (SMALL, 10**6, "sides are 1 to 4096"),
    ],
)
def test_sizes_that_do_not_work(name, size, expected):
    assert expected in refusal(name, pretrained=False, image_size=size)


@pytest.mark.parametrize("device", ["gpu", "cuda:99", ""])
def test_devices(device):
    if device:
        with pytest.raises(ModelError, match="There is no device"):
            vizkit.load(SMALL, pretrained=False, device=device)
    else:
        assert vizkit.load(SMALL, pretrained=False).device.type in ("cpu", "cuda")


@pytest.mark.parametrize("count", [1000, 11221, 11821, 21841, 21842, 21843])
def test_imagenet_labels(count):
    labels = imagenet_labels(count)
    assert len(labels) == count
    assert all(labels)


@pytest.mark.parametrize(
    "file, architecture, named",
    [
        ("birds.pth", "test_vit", False),
        ("test_vit_in1k.pth", "test_vit", True),
        ("birds.pth", "test_vit.r160_in1k", True),
        ("my-imagenet-run.pth", "test_vit", True),
        ("began_in1knee.pth", "test_vit", False),
    ],
)
def test_a_thousand_classes_have_imagenets_names_only_where_something_says_so(tmp_path, file, architecture, named):
    torch.save(weights(), tmp_path / file)
    loaded = vizkit.load(tmp_path / file, architecture=architecture)
    assert loaded.label(3) == (imagenet_labels(1000)[3] if named else "class 3")
    notes = [note for note in loaded.notes if "1,000 classes" in note]
    assert len(notes) == (not named)
    assert all(word in note for note in notes for word in ("labels=", "--labels", "label_names"))
    assert loaded.head_guessed is not named
    own = [f"kind {i}" for i in range(1000)]
    given = vizkit.load(tmp_path / file, architecture=architecture, labels=own)
    assert given.labels == tuple(own)
    with pytest.raises(ModelError, match="has 1,000 outputs, and these are 2 names"):
        vizkit.load(tmp_path / file, architecture=architecture, labels=["a", "b"])


def test_where_training_began_says_nothing_about_its_classes(tmp_path):
    """timm's training script writes the name of the weights that it starts from."""
    torch.save({"state_dict": weights(), "arch": "test_vit.r160_in1k"}, tmp_path / "birds.pth.tar")
    assert vizkit.load(tmp_path / "birds.pth.tar").label(3) == "class 3"


@pytest.mark.parametrize("said, named", [({}, False), ({"tag": "r160_in1k"}, True)])
def test_a_folder_of_a_thousand_classes_has_imagenets_names_where_its_configuration_says_so(tmp_path, said, named):
    model = timm.create_model("test_vit", num_classes=1000)
    safetensors.torch.save_file(model.state_dict(), tmp_path / "model.safetensors", {"format": "pt"})
    config = {"architecture": "test_vit", "num_classes": 1000}
    config["pretrained_cfg"] = {"input_size": [3, 160, 160], "num_classes": 1000, "fixed_input_size": True, **said}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert vizkit.load(tmp_path).label(3) == (imagenet_labels(1000)[3] if named else "class 3")


def test_random_weights_say_so(vit):
    assert (vit.trained, vit.source) == (False, "timm, random weights")
    assert vit.licence == "none needed (random weights)"
    assert vit.label(999) == "toilet tissue, toilet paper, bathroom tissue"
    assert vit.label(1000) == "class 1000"
    assert vit.parameters == 371_240


def test_random_weights_are_the_same_every_time_and_no_other_generator_hears_of_it(monkeypatch):
    from vizkit.models.by_name import named

    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda _: pytest.fail("a GPU's generators were seeded"))
    before = torch.get_rng_state()
    first, second = (named(f"random:{SMALL}").model.state_dict() for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_long_sentences_are_cut():
    assert len(str(ModelError("word " * 100))) == hub.LONGEST


def test_reading_leaves_the_file_alone(tmp_path):
    make_torch(tmp_path / "w.pt", weights())
    before = (tmp_path / "w.pt").read_bytes()
    read_checkpoint(tmp_path / "w.pt")
    assert (tmp_path / "w.pt").read_bytes() == before
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize(
    "name, options",
    [
        ("vit_tiny_patch16_224", {"depth": 1}),
        ("swin_tiny_patch4_window7_224", {"embed_dim": 24, "depths": (2, 2), "num_heads": (1, 2)}),
        ("resnet18", {}),
        ("beit_base_patch16_224", {"depth": 1, "embed_dim": 48, "num_heads": 3}),
    ],
)
def test_what_a_file_replaces_is_not_drawn_at_random_and_what_it_leaves_out_is_refused(name, options):
    drawn = create(name, None, name, pretrained=False, **options)
    bare = create(name, None, name, replaced=True, pretrained=False, **options)
    with pytest.raises(ModelError, match="no numbers"):
        refuse_missing_numbers(name, bare)
    bare.load_state_dict(drawn.state_dict())
    refuse_missing_numbers(name, bare)
    plain, filled = dict(drawn.named_buffers()), dict(bare.named_buffers())
    assert plain.keys() == filled.keys()
    assert all(torch.equal(plain[key], filled[key]) for key in plain)
    images = torch.randn(1, 3, 224, 224)
    with torch.inference_mode():
        assert torch.equal(drawn.eval()(images), bare.eval()(images))
