"""The worst of `python -m benchmarks folders`, each opened and used as a visitor would, in one process: none ends it,
holds it, or raises anything but a sentence."""

import json
import re
import time

import pytest

pytest.importorskip("transformers")
from benchmarks.testing.hostile_folders import BOMBS, replace, template, whole
from tests.launching import ROOT, run_code
from vizkit.models import ModelError
from vizkit.models.sources.transformers_weights import INDEX, held

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
PANIC, LATER = BOMBS[:2]  # when it is opened, and at a text
DEEP = {"nested": json.loads('{"a":' * 900 + "1" + "}" * 900)}
WORST = {  # name → (kind of model, file, what is changed in it, what the sentence says)
    "a panic": ("BertForMaskedLM", TOKENIZER, PANIC, "tokenizer.json of folder is damaged"),
    "a panic at a text": ("BertForMaskedLM", TOKENIZER, LATER, "tokenizer.json of folder is damaged"),
    "a normalizer": (
        "BertForMaskedLM",
        TOKENIZER,
        {"normalizer": {"type": "Sequence", "normalizers": [replace("a", 1000)] * 4}},
        "tokenizer.json of folder (is damaged|takes more than 1 s)",
    ),
    "a decoder": (  # of "cat", which is not in the text of the trial
        "BertForMaskedLM",
        TOKENIZER,
        {"decoder": {"type": "Sequence", "decoders": [replace("a", 1000)] * 4}},
        "shown",
    ),
    "a template": (
        "clip",
        TOKENIZER,
        {"post_processor": template(20_000, 1000)},
        "tokenizer.json of folder (is damaged|takes)",
    ),
    "no unknown token": (
        "BertForMaskedLM",
        TOKENIZER,
        {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "none"}},
        "tokenizer.json of folder fails: WordLevel error",
    ),
    "a nested config": ("GPT2LMHeadModel", CONFIG, DEEP, "config.json of folder is damaged"),
    "a nested config of images": ("vit", CONFIG, DEEP, "config.json of folder is damaged"),
    "a thousand layers": ("GPT2LMHeadModel", CONFIG, {"n_layer": 1000}, "more than 128 layers"),
    "a thousand layers of texts": (
        "clip",
        CONFIG,
        {"text_config": {"num_hidden_layers": 1000}},
        "more than 128 layers",
    ),
    "answers without names": ("GPT2LMHeadModel", CONFIG, {"return_dict": False}, "cannot read a text"),
    "no words": ("MarianMTModel", "vocab.json", DEEP, "vocab.json of folder is damaged"),
}
SCRIPT = """
import json, pathlib, sys, time
sys.path.insert(0, {root!r})
from benchmarks.testing.hostile_folders import use
from vizkit.models import ModelError
for name, kind in json.loads(pathlib.Path("kinds.json").read_text()).items():
    start = time.process_time()
    try:
        use(kind, pathlib.Path(name, "folder"))
        sentence = "shown"
    except ModelError as error:
        sentence = str(error)
    except BaseException as error:
        sentence = repr(error)
    print(json.dumps([name, time.process_time() - start, sentence]), flush=True)
"""


def merged(old, new):
    both = {key: merged(old[key], value) for key, value in new.items() if key == "text_config"}
    return old | new | both


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    place = tmp_path_factory.mktemp("worst")
    for name, (kind, file, change, _) in WORST.items():
        folder = place / name / "folder"
        folder.mkdir(parents=True)
        files = whole(kind)
        for each, data in (files | {file: json.dumps(merged(json.loads(files[file]), change)).encode()}).items():
            (folder / each).write_bytes(data)
    (place / "kinds.json").write_text(json.dumps({name: kind for name, (kind, *_) in WORST.items()}))
    run = run_code(SCRIPT.format(root=str(ROOT)), place, {"HF_HUB_OFFLINE": "1"})
    return run, {name: found for name, *found in map(json.loads, run.stdout.splitlines()) if name in WORST}


@pytest.mark.rest
@pytest.mark.parametrize("name", WORST)
def test_the_worst_are_refused_in_a_sentence(name, used):
    run, found = used
    assert name in found, f"the process ended with {run.returncode}: {run.stderr[-500:]}"
    seconds, sentence = found[name]
    assert re.search(WORST[name][3], sentence), sentence
    assert seconds < 4, "of this process, in which others wait"


def test_a_long_index_is_read_in_linear_time(tmp_path):
    """100,000 tensors in 900 files take about as long as in 9."""
    weights = whole("vit")["model.safetensors"]

    def seconds(files):
        for number in range(files):
            (tmp_path / f"{number}.safetensors").write_bytes(weights)
        places = {f"{number}": f"{number % files}.safetensors" for number in range(100_000)}
        (tmp_path / INDEX).write_text(json.dumps({"weight_map": places}))
        start = time.thread_time()
        with pytest.raises(ModelError, match="does not hold the tensors"):
            held(tmp_path, "folder")
        return time.thread_time() - start

    assert min(seconds(900), seconds(900)) < 4 * max(seconds(9), seconds(9)) + 0.2


def test_an_index_of_300_000_tensors_is_refused_unread(tmp_path):
    places = {f"{number}": f"{number % 900}.safetensors" for number in range(300_000)}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": places}))
    with pytest.raises(ModelError, match=r"index\.json of folder takes more than 4 MiB"):
        held(tmp_path, "folder")
