"""No model takes more memory or time than its budget: it is measured before a weight of it exists."""

import json
import os
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
import safetensors.torch
import timm
import torch
from huggingface_hub import constants
from torch import nn

import vizkit
from tests.launching import run_code
from tests.models.test_loading import CONFIG, SMALL, refusal, same, weights, write_folder
from vizkit.models import ModelError
from vizkit.models.sources import hub, sizing
from vizkit.models.sources.sizing import bytes_of, measured, sketch


@pytest.fixture(autouse=True)
def budget(monkeypatch):
    monkeypatch.setenv("VIZKIT_MODEL_GIB", "1")


def changed(**options):
    return {**CONFIG, "model_args": options}


# ---- giants, each refused in a process of its own whose memory is watched --------------------------------------------
def make_sparse(path):
    """2 GiB of zeros that take no room on the disk."""
    header = json.dumps({"x": {"dtype": "F32", "shape": [2**29], "data_offsets": [0, 2**31]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(path, 8 + len(header) + 2**31)


def make_bytearray(path):
    """A pickle of a few bytes that asks for 4 GiB of zeros, in an ordinary file of weights."""
    from zipfile import ZipFile

    torch.save(weights(), path)
    with ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    many = (4 * 2**30).to_bytes(5, "little")
    asking = b"\x80\x02}q\x00X\x01\x00\x00\x00xcbuiltins\nbytearray\n\x8a\x05" + many + b"\x85Rs."
    with ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, asking if name.endswith("data.pkl") else content)


GIANTS = {  # name → (what is made in a folder, the call, what the sentence says)
    "a link to a giant": (
        None,
        "vizkit.load('vit_giant_patch14_224', pretrained=False)",
        "takes 3.8 GiB of memory, more than the 1.0 GiB that one model may.*VIZKIT_MODEL_GIB",
    ),
    "a tiny checkpoint called a giant": (
        lambda folder: torch.save({"arch": "vit_gigantic_patch14_224", "state_dict": weights()}, folder / "w.pt"),
        "vizkit.load(folder / 'w.pt')",
        "6.9 GiB of memory",
    ),
    "a config of 60,000 layers": (
        lambda folder: write_folder(folder, changed(depth=60_000)),
        "vizkit.load(folder)",
        "a size above 1000",
    ),
    "a config of wide layers": (
        lambda folder: write_folder(folder, changed(depth=40, embed_dim=8192, num_heads=8)),
        "vizkit.load(folder)",
        r"takes \d+\.\d GiB of memory",
    ),
    "a config of a million classes": (
        lambda folder: write_folder(folder, {**CONFIG, "num_classes": 10**9}),
        "vizkit.load(folder)",
        "GiB of memory",
    ),
    "a config of a huge input": (
        lambda folder: write_folder(folder, {**changed(img_size=65_000), "architecture": "levit_128"}),
        "vizkit.load(folder)",
        "GiB of memory|cannot be made",
    ),
    "a sparse file": (
        lambda folder: make_sparse(folder / "sparse.safetensors"),
        "vizkit.load(folder / 'sparse.safetensors', architecture='test_vit')",
        "2.0 GiB of memory",
    ),
    "a file that asks for zeros": (
        lambda folder: make_bytearray(folder / "zeros.pt"),
        "vizkit.load(folder / 'zeros.pt', architecture='test_vit')",
        "bytearray",
    ),
}
SCRIPT = """
import json, pathlib, sys, time
import torch, vizkit
from vizkit.models import ModelError
status = pathlib.Path("/proc/self/status")
def memory(name):
    return int(status.read_text().split(name + ":")[1].split()[0]) // 1024
vizkit.load("test_vit", pretrained=False)
for name, call in json.loads(pathlib.Path("calls.json").read_text()).items():
    folder = pathlib.Path(name)
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before, start = memory("VmRSS"), time.process_time()
    try:
        eval(call)
        sentence = "loaded"
    except ModelError as error:
        sentence = str(error)
    print(json.dumps([name, memory("VmHWM") - before, time.process_time() - start, sentence]))
"""


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """What each giant took in a process of their own: (MiB, seconds of the processor, the sentence)."""
    if not Path("/proc/self/status").exists():
        pytest.skip("no VmHWM on this system")
    place = tmp_path_factory.mktemp("giants")
    for name, (make, _, _) in GIANTS.items():
        (place / name).mkdir()
        if make is not None:
            make(place / name)
    (place / "calls.json").write_text(json.dumps({name: call for name, (_, call, _) in GIANTS.items()}))
    run = run_code(SCRIPT, place, {"VIZKIT_MODEL_GIB": "1"})
    assert run.returncode == 0, run.stderr
    return {name: found for name, *found in map(json.loads, run.stdout.splitlines())}


@pytest.mark.rest
@pytest.mark.parametrize("name", GIANTS)
def test_giant_is_refused_before_it_takes_memory(name, refused):
    risen_mib, seconds, sentence = refused[name]
    assert re.search(GIANTS[name][2], sentence), sentence
    assert risen_mib < 300
    assert seconds < 8


# ---- the measure -----------------------------------------------------------------------------------------------------
def test_model_of_the_budget_loads_and_tells_its_bytes():
    loaded = vizkit.load(SMALL, pretrained=False)
    assert loaded.bytes == sum(p.numel() * 4 for p in loaded.model.state_dict().values())
    drawn = sketch(SMALL, lambda: timm.create_model(SMALL))
    assert drawn is not None
    assert loaded.bytes == bytes_of(drawn)


def test_budget_is_the_owners(monkeypatch):
    monkeypatch.setenv("VIZKIT_MODEL_GIB", "0.001")
    assert "takes 0.0 GiB of memory, more than the 0.0 GiB" in refusal(SMALL, pretrained=False)
    monkeypatch.setenv("VIZKIT_MODEL_GIB", "0.01")
    assert vizkit.load(SMALL, pretrained=False).parameters == 371_240


def test_endless_parts_are_refused_while_they_are_made():
    made = []

    def endless():
        return nn.ModuleList(made.append(i) or nn.Sequential(nn.Identity()) for i in range(10**7))

    with pytest.raises(ModelError, match="more than 20,000 parts"):
        sketch("endless", endless)
    assert len(made) <= sizing.MOST_MODULES + 1


def test_only_the_thread_that_builds_is_measured():
    found = []
    with measured("here", 0):
        thread = threading.Thread(target=lambda: found.append(nn.Linear(3, 3)))
        thread.start()
        thread.join()
        with pytest.raises(ModelError):
            nn.Linear(3, 3)
    assert found
    nn.Linear(3, 3)


# ---- numbers that are no weights -------------------------------------------------------------------------------------
def test_weights_that_are_no_numbers_are_refused(tmp_path):
    state = weights(classes=3)
    state["blocks.3.mlp.fc1.weight"][2, 7] = float("nan")
    torch.save(state, tmp_path / "w.pt")
    words = "(NaN or infinite) in blocks.3.mlp.fc1.weight"
    assert words in refusal(tmp_path / "w.pt", architecture=SMALL)
    assert words in refusal(write_folder(tmp_path, state=state))


@pytest.mark.parametrize(
    "dtype, said",
    [
        (torch.bool, "bool"),
        (torch.complex64, "c(omplex)?64"),
        (torch.float8_e4m3fn, "f(loat)?8_e4m3"),
    ],
)
@pytest.mark.parametrize("name", ["w.pt", "w.safetensors"])
def test_numbers_of_another_kind_are_refused(tmp_path, dtype, said, name):
    state = weights()
    state["head.weight"] = state["head.weight"].to(dtype)
    (torch.save if name == "w.pt" else safetensors.torch.save_file)(state, tmp_path / name)
    sentence = refusal(tmp_path / name, architecture=SMALL)
    assert re.search(f"holds {said}.* numbers in head.weight, which are no weights; save it", sentence)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_are_converted(tmp_path, dtype):
    state = {key: value.to(dtype) for key, value in weights().items()}
    torch.save(state, tmp_path / "w.pt")
    loaded = vizkit.load(tmp_path / "w.pt", architecture=SMALL)
    assert same(loaded, {key: value.float() for key, value in state.items()})


def test_whole_numbers_of_tables_and_counts_are_fine(tmp_path):
    state = timm.create_model("test_resnet").state_dict()
    assert any(value.dtype == torch.int64 for value in state.values())
    torch.save(state | {"epoch_of_this": torch.tensor(3)}, tmp_path / "w.pt")
    with pytest.raises(ModelError, match="does not fit"):  # of the strange entry, not of its kind
        vizkit.load(tmp_path / "w.pt", architecture="test_resnet")
    torch.save(state, tmp_path / "w.pt")
    assert same(vizkit.load(tmp_path / "w.pt", architecture="test_resnet"), state)


def test_file_of_a_far_larger_model_is_refused_by_its_header(tmp_path):
    safetensors.torch.save_file({**weights(), "more": torch.zeros(20_000_000)}, tmp_path / "large.safetensors")
    assert "20,371,240 numbers, and the model has only 371,240" in refusal(
        tmp_path / "large.safetensors", architecture=SMALL
    )


# ---- what is known before a download ---------------------------------------------------------------------------------
@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A hub with one repository; what is downloaded from it is noted."""
    write_folder(tmp_path / "repo")
    taken, sizes = [], {"config.json": 500, "model.safetensors": 1_500_000}

    def model_info(self, repo, **options):
        assert options["files_metadata"]
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=name, size=size) for name, size in sizes.items()])

    def hf_hub_download(repo, name, **options):
        taken.append(name)
        return str(tmp_path / "repo" / name)

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hf_hub_download)
    return SimpleNamespace(taken=taken, sizes=sizes, folder=tmp_path / "repo")


def test_hub_model_above_the_budget_is_not_downloaded(shop):
    assert vizkit.load("hf-hub:somebody/ants").labels == ("ant", "bee", "cat")
    assert shop.taken == ["config.json", "model.safetensors"]
    shop.taken.clear()
    shop.sizes["model.safetensors"] = 3 * 2**30
    assert "takes 3.0 GiB of memory, more than the 1.0 GiB" in refusal("hf-hub:somebody/ants")
    assert shop.taken == []


def test_hub_model_of_a_giant_config_is_not_downloaded(shop):
    write_folder(shop.folder, changed(embed_dim=8192, depth=12, num_heads=8))
    assert "GiB of memory" in refusal("hf-hub:somebody/ants")
    assert shop.taken == ["config.json"]


def test_huge_texts_of_the_hub_are_not_downloaded(shop):
    shop.sizes |= {"README.md": 2**40, "config.json": 2**40}
    hub.weights_file("somebody/ants", lambda _: pytest.fail("there is no config.json"))
    assert shop.taken == ["model.safetensors"]


def test_published_giant_is_not_asked_for(monkeypatch):
    monkeypatch.setattr(hub, "weights_file", lambda *_: pytest.fail("the hub was asked"))
    assert "takes 3.8 GiB" in refusal("eva_giant_patch14_224.clip_ft_in1k")
