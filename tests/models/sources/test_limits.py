"""How large a model and its files may be: on both sides of every limit, with models of a few numbers."""

import json
import os
import struct
import time
import zipfile

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from vizkit.models.sources import checkpoint, sizing
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import (
    Holding,
    bytes_of,
    measured,
    refuse_missing_numbers,
    refuse_over_budget,
    refuse_unfit,
    sketch,
)


def refused(words):
    return pytest.raises(ModelError, match=words)


def test_bytes_are_counted_while_a_model_is_built():
    """A layer of 2 × 2 weights and 2 biases in 4 bytes each; a buffer counts too."""
    with measured("toy", 24):
        layer = nn.Linear(2, 2)
    assert bytes_of(layer) == 24
    with refused("toy"), measured("toy", 23):
        nn.Linear(2, 2)
    with measured("toy", 24):
        nn.Linear(2, 2, bias=None).register_buffer("table", torch.zeros(2))
    with refused("toy"), measured("toy", 23):
        nn.Linear(2, 2, bias=None).register_buffer("table", torch.zeros(2))
    with measured("toy", 24):
        nn.Sequential(nn.Linear(2, 2))  # a part by itself has no bytes
    nn.Linear(9, 9)  # nobody measures any more
    layer.register_buffer("more", torch.zeros(3, dtype=torch.float64))
    assert bytes_of(layer) == 48


def test_a_measurement_inside_another_gives_back_to_it():
    with refused("outer"), measured("outer", 24):
        with measured("inner", 8):
            nn.Linear(1, 1)
        nn.Linear(2, 2)
        nn.Linear(2, 2)


def test_parts_and_seconds_are_limited(monkeypatch):
    monkeypatch.setattr(sizing, "MOST_MODULES", 2)
    with measured("toy"):
        nn.Sequential(nn.Identity(), nn.Identity())
    with refused("toy has more than 2 parts"), measured("toy"):
        nn.Sequential(nn.Identity(), nn.Identity(), nn.Identity())
    now = [5.0]
    monkeypatch.setattr(time, "thread_time", lambda: now[0])
    with refused("more than 2 seconds"), measured("toy", seconds=2.0):
        nn.Linear(1, 1)
        now[0] = 7.0
        nn.Linear(1, 1)
        now[0] = 7.5
        nn.Linear(1, 1)
    assert now[0] == 7.5  # two seconds exactly are no more than two


def test_twenty_thousand_parts_and_five_seconds_are_the_limits(monkeypatch):
    def many(count):
        model, part = nn.Module(), nn.Identity()
        for number in range(count):
            model.add_module(str(number), part)
        return model

    assert sketch("toy", lambda: many(20_000)) is not None
    with refused("more than 20,000 parts"):
        sketch("toy", lambda: many(20_001))
    monkeypatch.setattr(sizing, "MOST_MODULES", 1)
    with measured("toy"):
        nn.Sequential(nn.Identity()).register_buffer("none", None)  # what is not there is no part
    now = [0.0]
    monkeypatch.setattr(time, "thread_time", lambda: now[0])

    def slow(seconds):
        layer = nn.Module()
        layer.register_buffer("first", torch.zeros(1))  # with which the clock begins
        now[0] += seconds
        layer.register_buffer("second", torch.zeros(1))
        return layer

    assert sketch("toy", lambda: slow(5.0)) is not None
    with refused("more than 5 seconds"):
        sketch("toy", lambda: slow(5.5))
    imports = iter([5.5, 0.1])  # what the first model of a process waits for
    assert sketch("toy", lambda: slow(next(imports))) is not None


def test_a_sketch_fills_what_has_numbers_and_nothing_else():
    def make():
        model = nn.Linear(2, 2)
        model.register_buffer("planned", torch.empty(2).fill_(3.0))
        model.register_buffer("there", torch.zeros(2, device="cpu").fill_(3.0))
        return model

    model = sketch("toy", make)
    assert model.planned.is_meta
    assert model.there.tolist() == [3.0, 3.0]


def test_a_sketch_has_no_numbers_and_says_where_it_cannot_be_made(monkeypatch):
    model = sketch("toy", lambda: nn.Linear(2, 2))
    assert all(each.is_meta for each in model.parameters())
    monkeypatch.setattr(sizing, "SKETCHING_S", -1.0)
    with refused("takes more than -1 seconds to plan"):
        sketch("toy", lambda: nn.Linear(2, 2))
    monkeypatch.setattr(sizing, "SKETCHING_S", 5.0)
    assert sketch("toy", lambda: nn.Linear(2, int(torch.ones(1).item()))) is None  # it needs a number

    monkeypatch.setattr(sizing, "MOST_MODULES", 1)
    with refused("parts, as no model has"):
        sketch("toy", lambda: nn.Sequential(nn.Identity(), nn.Identity()))


def test_a_file_of_far_more_numbers_is_of_another_model():
    """A model of 6 numbers: up to 4 · 6 + 2²⁴ may stand beside them."""
    model = nn.Linear(2, 2)
    for count, more in ((24 + 2**24, False), (25 + 2**24, True)):
        file = Holding({"beside": (count,)}, {})
        if more:
            with refused("and the model has only 6; it is of another model"):
                refuse_unfit("toy", file, model)
        else:
            refuse_unfit("toy", file, model)


@pytest.mark.parametrize(
    "name, kind, fits",
    [
        ("weight", "float16", True),
        ("weight", "bfloat16", True),
        ("weight", "float32", True),
        ("weight", "float64", True),
        ("weight", "int8", False),
        ("running", "int64", True),  # counts batches: whole in the model too
        ("table", "int8", False),  # no weight by its name, but of numbers with a point in the model
        ("other.index", "int64", True),
        ("other.weight", "int64", False),
        ("other.bias", "float8", False),
    ],
)
def test_numbers_that_are_no_weights(name, kind, fits):
    model = nn.Linear(2, 2)
    model.register_buffer("running", torch.zeros(1, dtype=torch.long))
    model.register_buffer("table", torch.zeros(1))
    file = Holding({name: (1,)}, {name: kind})
    if fits:
        refuse_unfit("toy", file, model)
    else:
        with refused(f"toy holds {kind} numbers in {name}"):
            refuse_unfit("toy", file, model)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_numbers(value):
    model = nn.Linear(2, 2)
    model.register_buffer("count", torch.zeros(1, dtype=torch.long))
    model.register_buffer("empty", torch.zeros(0))
    model.register_buffer("wave", torch.zeros(1, dtype=torch.complex64))  # has no smallest number
    refuse_missing_numbers("toy", model)
    with torch.no_grad():
        model.bias[1] = value
    with refused("toy holds weights that are no numbers .* in bias"):
        refuse_missing_numbers("toy", model)


def test_sizes_of_a_config():
    checkpoint.refuse_sizes("it", {"embed_dim": 2**16, "window_size": 32, "wide": [True, 1.5]})
    checkpoint.refuse_sizes("it", {"sizes": [1] * 1000})
    for config, words in (
        ({"embed_dim": 2**16 + 1}, "a size above 65536"),
        ({"window_size": [7, 33]}, "a size above 32"),
        ({"model_args": {"max_depths": 1001}}, "a size above 1000"),
        ({"sizes": [1] * 1001}, "more than 1000 sizes"),
        ({"num_layers": 1001}, "a size above 1000"),
        ({"blocks": 1001}, "a size above 1000"),
        ({"depths": [64, 65]}, "more than 128 layers"),
        ({"blocks": [64, 65]}, "more than 128 layers"),
        ({"depths": [1] * 129}, "more than 128 layers"),
        ({"depths": [129, -9]}, "more than 128 layers"),
        ({"num_layers": 64, "blocks": {"depth": 65}}, "more than 128 layers"),
    ):
        with refused(words):
            checkpoint.refuse_sizes("it", config)
    checkpoint.refuse_layers("it", {"depths": [64, 64], "depth": -9, "width": 900})


def nested(depth):
    return {"in": nested(depth - 1)} if depth > 1 else {"end": [1]}


def test_json_of_a_folder(tmp_path):
    path = tmp_path / "config.json"
    for text, words in (("[1]", "is damaged"), ("{", "is damaged"), (" " * (2**22 + 1), "more than 4 MiB")):
        path.write_text(text)
        with refused(f"The config.json of it .*{words}"):
            checkpoint.read_json(path, "it")
    path.write_text(json.dumps({"a": 1}) + " " * (2**22 - 8))
    assert checkpoint.read_json(path, "it") == {"a": 1}
    for depth, deep in ((19, False), (20, True)):  # a list lies in the last
        path.write_text(json.dumps(nested(depth)))
        if deep:
            with refused("is damaged"):
                checkpoint.read_json(path, "it")
        else:
            assert checkpoint.read_json(path, "it") == nested(depth)
    with refused("is damaged"):
        checkpoint.read_json(tmp_path / "none.json", "it")


def test_config_of_a_run(tmp_path):
    path = tmp_path / "config.json"

    def read(**config):
        path.write_text(json.dumps(config))
        return checkpoint.read_config(path, "it")

    assert read(architecture="vit", model_args={"depth": 4})["architecture"] == "vit"
    with refused("does not name a timm architecture"):
        read(architecture=3)
    with refused("a size above"):
        read(architecture="vit", model_args={"depth": 1001})
    with refused("a size above"):
        read(architecture="vit", pretrained_cfg={"input_size": [3, 99_999, 8]})
    with refused("a size above"):
        read(architecture="vit", input_size=[3, 99_999, 8])
    assert read(architecture="vit", pretrained_cfg=7)["pretrained_cfg"] == 7
    assert read(architecture="vit", other=99_999)["other"] == 99_999  # no size of a model


def test_header_of_a_file(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {"a.weight": torch.zeros(2, 3, dtype=torch.bfloat16), "count": torch.zeros(4, dtype=torch.long)}
    save_file(tensors, path, {"architecture": "vit"})
    header = checkpoint.read_header(path)
    assert header.holds.shapes == {"a.weight": (2, 3), "count": (4,)}
    assert header.holds.kinds == {"a.weight": "bfloat16", "count": "i64"}
    assert header.notes == {"architecture": "vit"}
    found = checkpoint.read_checkpoint(path)
    assert (found.architecture, found.part, set(found.state)) == ("vit", "", set(tensors))
    assert found.holds.kinds == {"a.weight": "bfloat16", "count": "int64"}
    save_file(tensors, path)
    assert checkpoint.read_header(path).notes == {}
    path.write_bytes(path.read_bytes()[:-1])
    with refused("is not a whole safetensors file"):
        checkpoint.read_header(path)
    path.write_bytes(struct.pack("<Q", 2**21 + 1) + b" " * (2**21 + 2))
    with refused("claims more tensors than any model has"):
        checkpoint.read_header(path)
    path.write_bytes(struct.pack("<Q", 2**40))  # longer than the file: no header at all
    with refused("is not a whole"):
        checkpoint.read_header(path)


STATE = {"head.weight": torch.ones(2, 3), "cls_token": torch.zeros(1)}


def kept(tmp_path, content):
    torch.save(content, tmp_path / "a.pt")
    return checkpoint.read_checkpoint(tmp_path / "a.pt")


def test_of_several_sets_of_weights_the_averaged_one(tmp_path):
    other = {name: value + 1 for name, value in STATE.items()}
    for content, averaged in (
        (STATE, ""),
        ({"model": STATE, "epoch": 3}, ""),
        ({"model": other, "model_ema": STATE}, "moving average"),
        ({"teacher": {"module": STATE}, "student": other}, "teacher"),
        ({"state_dict": {"ema": {"module": STATE}}}, "moving average"),
        ({"ema": {"teacher": STATE}}, "moving average"),
    ):
        found = kept(tmp_path, content)
        assert found.part == averaged
        assert {name: value.tolist() for name, value in found.state.items()} == {
            name: value.tolist() for name, value in STATE.items()
        }


def test_the_architecture_as_a_training_program_wrote_it(tmp_path):
    from argparse import Namespace

    for content, name in (
        ({"arch": "vit"}, "vit"),
        ({"architecture": "swin"}, "swin"),
        ({"args": Namespace(model="deit")}, "deit"),
        ({"arch": "", "architecture": "swin"}, "swin"),
        ({"arch": 3}, None),
        ({}, None),
    ):
        assert kept(tmp_path, {"model": STATE} | content).architecture == name


def test_what_is_no_checkpoint(tmp_path):
    for content, words in (([1], "holds no state dict"), ({"epoch": 3}, "holds no tensors")):
        with refused(words):
            kept(tmp_path, content)
    with refused("claims more numbers than the file holds"):
        kept(tmp_path, {"head.weight": torch.ones(1).expand(2)})
    with refused("There is no checkpoint none.pt"):
        checkpoint.read_checkpoint(tmp_path / "none.pt")
    (tmp_path / "a.zip").write_bytes(b"")
    with refused("is no checkpoint: choose"):
        checkpoint.read_checkpoint(tmp_path / "a.zip")
    (tmp_path / "b.PT").write_bytes(b"nothing")
    with refused("is not a whole torch checkpoint"):
        checkpoint.read_checkpoint(tmp_path / "b.PT")


def test_which_files_are_opened_and_where_their_weights_lie(tmp_path):
    for suffix in (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar"):
        path = tmp_path / f"a{suffix}"
        (save_file if suffix == ".safetensors" else torch.save)(STATE, path)
        assert set(checkpoint.read_checkpoint(path).state) == set(STATE)
    averaged = dict.fromkeys(("state_dict_ema", "model_ema", "ema_state_dict", "ema"), "moving average")
    plain = dict.fromkeys(("state_dict", "model", "model_state_dict", "module", "net", "student"), "")
    for nest, name in (averaged | {"teacher": "teacher"} | plain).items():
        found = kept(tmp_path, {"optimizer": {"step": torch.ones(1)}, nest: STATE})
        assert (found.part, set(found.state)) == (name, set(STATE))
    assert set(kept(tmp_path, {"model": {"model": {"model": STATE}}}).state) == set(STATE)
    with refused("holds no tensors"):
        kept(tmp_path, {"model": {"model": {"model": {"model": STATE}}}})
    torch.save(STATE, tmp_path / "old.pt", _use_new_zipfile_serialization=False)  # no archive
    assert set(checkpoint.read_checkpoint(tmp_path / "old.pt").state) == set(STATE)


def test_kinds_of_numbers_in_a_header(tmp_path):
    kinds = ("float16", "bfloat16", "float32", "float64")
    save_file({kind: torch.zeros(1, dtype=getattr(torch, kind)) for kind in kinds}, tmp_path / "a.safetensors")
    assert checkpoint.read_header(tmp_path / "a.safetensors").holds.kinds == {kind: kind for kind in kinds}


def test_a_header_of_two_mebibytes_is_the_longest(tmp_path):
    path = tmp_path / "a.safetensors"
    for length, words in ((2**21, ""), (2**21 + 1, "claims more tensors")):
        path.write_bytes(struct.pack("<Q", length) + b"{}".ljust(length))
        if words:
            with refused(words):
                checkpoint.read_header(path)
        else:
            assert checkpoint.read_header(path).holds.shapes == {}
    path.write_bytes(struct.pack("<Q", 2**21 + 1).ljust(2**21 + 1))  # 8 bytes short of its header
    with refused("is not a whole"):
        checkpoint.read_header(path)


@pytest.mark.filterwarnings("ignore:Validating sparse", "ignore:torch.quantize_per_tensor", "ignore:TypedStorage")
def test_tensors_that_are_no_plain_numbers(tmp_path):
    quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    for tensor in (torch.eye(2).to_sparse(), torch.zeros(2, device="meta"), quantized):
        with refused("a.pt: more claims more numbers than the file holds"):
            kept(tmp_path, STATE | {"more": tensor})


def test_code_in_a_file_is_named_and_not_run(tmp_path):
    for _ in range(2):
        with refused("a.pt holds torch.nn.modules.linear.Linear, which could run code"):
            kept(tmp_path, nn.Linear(1, 1))
        with refused("a.pt holds bytearray, which could run code"):
            kept(tmp_path, {"zeros": bytearray(3)})


def packed(path, entries, comment=0):
    """An archive of which the pickle alone is compressed; returns its size."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content, zipfile.ZIP_DEFLATED if name.endswith(".pkl") else zipfile.ZIP_STORED)
        archive.comment = b" " * comment
    return path.stat().st_size


def test_an_archive_may_swell_to_four_times_its_size_and_a_mebibyte(tmp_path):
    """A comment makes the archive of compressed zeros as large as it has to be."""
    path, unpacked = tmp_path / "a.pt", 2**20 + 8000
    zeros = {"data.pkl": bytes(unpacked)}
    comment = unpacked // 4 - 2**18 - packed(path, zeros)
    assert 4 * packed(path, zeros, comment) + 2**20 == unpacked
    with refused("is not a whole torch checkpoint"):
        checkpoint.read_checkpoint(path)
    packed(path, zeros, comment - 1)
    with refused("would unpack to 1 MiB"):
        checkpoint.read_checkpoint(path)


def test_no_file_of_more_than_eight_gibibytes(tmp_path, monkeypatch):
    """Zeros that take no room on the disk."""
    monkeypatch.setenv("VIZKIT_MODEL_GIB", "7")
    path = tmp_path / "a.pt"
    path.touch()
    for size, words in ((2**33, "takes 8.0 GiB of memory"), (2**33 + 1, "would unpack to 8192 MiB")):
        os.truncate(path, size)
        with refused(words):
            checkpoint.read_checkpoint(path)


def test_the_budget_counts_what_comes_into_memory(tmp_path, monkeypatch):
    """Of an archive that is not compressed only the weights that are used: 1 MiB is allowed, to the byte."""
    monkeypatch.setenv("VIZKIT_MODEL_GIB", str(2**-10))
    refuse_over_budget("toy", 2**20)
    with refused("takes 0.0 GiB"):
        refuse_over_budget("toy", 2**20 + 1)
    content = {"model": STATE, "optimizer": torch.rand(300_000)}
    assert set(kept(tmp_path, content).state) == set(STATE)
    with zipfile.ZipFile(tmp_path / "a.pt") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    packed(tmp_path / "b.pt", entries)  # its pickle is compressed, and nothing else
    for name in ("b.pt", "c.safetensors", "d.pt"):
        if name != "b.pt":
            (save_file if name == "c.safetensors" else torch.save)({"w": torch.ones(300_000)}, tmp_path / name)
        with refused(f"{name} takes 0.0 GiB of memory"):
            checkpoint.read_checkpoint(tmp_path / name)


def test_weights_stay_in_a_file_that_is_not_compressed(tmp_path, monkeypatch):
    """Whether torch is asked to map the file; the names are those that the models have."""
    asked, load = [], torch.load
    monkeypatch.setattr(
        torch, "load", lambda *given, **options: asked.append(options["mmap"]) or load(*given, **options)
    )
    assert set(kept(tmp_path, {f"module.{name}": value for name, value in STATE.items()}).state) == set(STATE)
    torch.save(STATE, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    checkpoint.read_checkpoint(tmp_path / "old.pt")
    assert asked == [True, False]
