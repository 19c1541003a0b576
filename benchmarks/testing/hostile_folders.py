"""Broken and hostile folders of the transformers library, each made from its seed alone."""

import base64
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.testing.hostile import VALUES, mutated

TEXTS = ("MarianMTModel", "T5ForConditionalGeneration", "BertForMaskedLM", "GPT2LMHeadModel")
PICTURES = ("vit", "deit", "swin", "segformer", "detr", "clip")
Files = dict[str, bytes]
TYPED = "The cat sat, a cat and a dog: ab aab 12 × 3"
MARKER = "marker"  # the file that code of a folder would write beside it


@cache
def whole(kind: str) -> Files:
    """The files of a small whole folder."""
    from tests.models.sequences.test_from_library import saved
    from tests.models.sources.two_towers import two_towers
    from tests.models.test_transformers import CASES, made

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if kind in TEXTS:
            saved(folder, kind, tokenizer=kind != "MarianMTModel")
        elif kind == "clip":
            two_towers(kind, folder)
        else:
            made(*CASES[kind][:2]).save_pretrained(folder)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def folder(seed: int, place: Path) -> tuple[str, Callable[[], object]]:
    """(form, the function that opens the folder and uses it); its files are written into `place`."""
    rng = np.random.default_rng((3, seed))
    form = tuple(FORMS)[seed % len(FORMS)]
    breaks, kinds = FORMS[form]
    kind = kinds[rng.integers(0, len(kinds))]
    files = dict(whole(kind))
    breaks(files, rng)
    home = written(files, place)
    return form, lambda: use(kind, home)


def written(files: Files, place: Path) -> Path:
    home = place / "folder"
    home.mkdir()
    for name, data in files.items():
        (home / name).write_bytes(data)
    return home


def use(kind: str, home: Path) -> object:
    """What a visitor's session does with a folder; code that came with it must not have run."""
    result = _read(home) if kind in TEXTS else _looked_at(kind, home)
    assert not (home.parent / MARKER).exists(), "code of the folder has run"
    return result


def _read(home: Path) -> object:
    from vizkit.models.sequences import open_sequence, trace_pair, trace_text

    model = open_sequence(home)
    words = model.split("the cats sat" if "▁the" in model.vocabulary.words else TYPED)[:12]
    return model.text_of(words), trace_pair(model, words) if model.translates else trace_text(
        model, model.line_ids(words)
    )


def _looked_at(kind: str, home: Path) -> object:
    import vizkit

    picture = np.random.default_rng(7).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    if kind == "detr":
        from vizkit.models.detection.detecting import detect
        from vizkit.models.detection.opening import open_detector

        return detect(open_detector(home), picture)
    loaded = vizkit.load(home, device="cpu", classes=["a cat", TYPED] if kind == "clip" else None)
    return vizkit.trace(loaded, picture)


# ---- what is broken --------------------------------------------------------------------------------------------------
def change(files: Files, name: str, edit: Callable[[Any], object]) -> None:
    """Change a JSON file of a folder; what `edit` gives takes its place, where it gives something."""
    about = json.loads(files.get(name, b"{}"))
    new = edit(about)
    files[name] = json.dumps(about if new is None else new).encode()


def pick(rng: np.random.Generator, of: Any) -> Any:
    return of[rng.integers(0, len(of))]


def replace(content: str, times: int) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": "a"}, "content": content * times}


def charsmap(data: bytes) -> dict[str, Any]:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


def template(pieces: int, ids: int) -> dict[str, Any]:
    many: list[dict] = [{"SpecialToken": {"id": "a", "type_id": 0}}] * pieces
    text = [{"Sequence": {"id": "A", "type_id": 0}}]
    special = {"a": {"id": "a", "ids": [1] * ids, "tokens": ["a"] * ids}}
    return {"type": "TemplateProcessing", "single": many + text, "pair": text, "special_tokens": special}


def nested(part: dict, times: int, kind: str, key: str) -> dict:
    for _ in range(times):
        part = {"type": kind, key: [part]}
    return part


def chain(kind: str, key: str, *parts: dict) -> dict[str, Any]:
    return {"type": kind, key: list(parts)}


UNIGRAM = {
    "type": "Unigram",
    "unk_id": 0,
    "vocab": [["<unk>", 0.0], ["▁the", -1.0], ["a", -2.0]],
    "byte_fallback": False,
}
BPE = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "vocab": {"a": 0, "b": 1, "ab": 2},
    "merges": [["a", "b"]],
}
BOMBS: tuple[dict[str, Any], ...] = (
    {"normalizer": charsmap(b"\xff\xff\xff\xff" + bytes(60))},
    {"normalizer": charsmap(b"\x10\0\0\0" + bytes(range(60)))},
    {"normalizer": charsmap(b"")},
    {"normalizer": chain("Sequence", "normalizers", *[replace("a", 1000)] * 2)},
    {"normalizer": chain("Sequence", "normalizers", *[replace("a", 1000)] * 4)},
    {"normalizer": {"type": "Prepend", "prepend": "a" * 3_000_000}},
    {"normalizer": nested({"type": "NFC"}, 400, "Sequence", "normalizers")},
    {"normalizer": {"type": "Replace", "pattern": {"Regex": "(a|a)*$"}, "content": "a" * 100}},
    {"decoder": chain("Sequence", "decoders", *[replace("a", 1000)] * 4)},
    {"decoder": {"type": "Strip", "content": "a", "start": 2**40, "stop": 2**40}},
    {"decoder": {"type": "CTC", "pad_token": "", "word_delimiter_token": "", "cleanup": True}},
    {"decoder": nested({"type": "Fuse"}, 400, "Sequence", "decoders")},
    {"post_processor": template(20_000, 1000)},
    {"post_processor": template(3, 2**18)},
    {"post_processor": {"type": "BertProcessing", "sep": ["a", 2**31], "cls": ["a", 2**31]}},
    {
        "post_processor": {
            "type": "RobertaProcessing",
            "sep": ["a", 1],
            "cls": ["a", 1],
            "trim_offsets": True,
            "add_prefix_space": True,
        }
    },
    {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(.*)*x"}, "behavior": "Isolated", "invert": False}},
    {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated", "invert": True}},
    {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(" * 500}, "behavior": "Isolated", "invert": False}},
    {"pre_tokenizer": {"type": "Metaspace", "replacement": "▁▁", "prepend_scheme": "always", "split": True}},
    {"pre_tokenizer": None},
    {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "<none>"}},
    {
        "model": {
            "type": "WordPiece",
            "vocab": {"a": 0},
            "unk_token": "<none>",
            "continuing_subword_prefix": "",
            "max_input_chars_per_word": 2**60,
        }
    },
    {"model": UNIGRAM | {"unk_id": None}},
    {"model": UNIGRAM | {"unk_id": 7}},
    {"model": UNIGRAM | {"vocab": [["<unk>", 1e308], ["", 1e308], ["a", -1e308]]}},
    {"model": UNIGRAM | {"vocab": []}},
    {"model": BPE | {"merges": [["a", "zzz"]]}},
    {"model": BPE | {"dropout": 7.0}},
    {"model": BPE | {"vocab": {"a": 2**32 - 1, "b": 1, "ab": 2**31}}},
    {"model": BPE | {"byte_fallback": True, "unk_token": "none", "fuse_unk": True}},
    {"truncation": {"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 2**40}},
    {
        "padding": {
            "strategy": {"Fixed": 2**40},
            "direction": "Right",
            "pad_to_multiple_of": 0,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "a",
        }
    },
    {
        "added_tokens": [
            {
                "id": 2**31,
                "content": "",
                "single_word": False,
                "lstrip": True,
                "rstrip": True,
                "normalized": True,
                "special": True,
            }
        ]
    },
    {
        "added_tokens": [
            {
                "id": n,
                "content": "a" * n,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for n in range(1500)
        ]
    },
)


def tokenizer_bombed(files: Files, rng: np.random.Generator) -> None:
    change(files, "tokenizer.json", lambda about: about.update(pick(rng, BOMBS)))


def tokenizer_broken(files: Files, rng: np.random.Generator) -> None:
    data = files["tokenizer.json"]
    files["tokenizer.json"] = mutated(data, data, rng, 2**16)


def tokenizer_misfit(files: Files, rng: np.random.Generator) -> None:
    """A part that is of another type, or is missing."""

    def edit(about: dict) -> None:
        home = about if rng.random() < 0.5 else about["model"]
        key = pick(rng, list(home))
        if rng.random() < 0.3:
            home.pop(key)
        else:
            home[key] = pick(rng, VALUES)

    change(files, "tokenizer.json", edit)


def vocabulary(files: Files, rng: np.random.Generator) -> None:
    new = (
        [],
        {"a": {}},
        {"▁the": -1},
        {"▁the": 10**30},
        {"a": 1.5, "b": None},
        {str(n): 3 for n in range(200_000)},
        {"": 0, "▁": 1},
        {f"▁{'x' * 5000}": 2, "▁the": 3},
        {"▁": 0, "▁▁": True},
    )
    change(files, "vocab.json", lambda _: pick(rng, new))
    for name in ("source.spm", "target.spm", "spiece.model"):
        files[name] = rng.bytes(2000)


def beside(files: Files, rng: np.random.Generator) -> None:
    """Files that nobody needs: templates, adapters, settings of a generation, tokens, code."""
    loop = "{% for a in range(10**9) %}{% for b in range(10**9) %}x{% endfor %}{% endfor %}"
    code = f"from pathlib import Path\nPath(__file__).parents[1].joinpath({MARKER!r}).touch()\n".encode()
    files |= {"chat_template.jinja": loop.encode(), "modeling.py": code, "__init__.py": code, "tokenization.py": code}
    files |= {"sitecustomize.py": code, "transformers.py": code, "tokenizers.py": code}
    files["adapter_config.json"] = b'{"base_model_name_or_path": "/etc", "peft_type": "LORA"}'
    files["generation_config.json"] = json.dumps({"max_length": pick(rng, VALUES)}).encode()
    own = {name: "modeling.Mine" for name in ("AutoConfig", "AutoModel", "AutoModelForMaskedLM", "AutoTokenizer")}
    change(files, "config.json", lambda about: about.update(auto_map=own, trust_remote_code=True))
    if rng.random() < 0.3:
        change(files, "config.json", lambda about: about.update(architectures=["Mine"], model_type="mine"))

    def edit(about: dict) -> None:
        about |= {"auto_map": {"AutoTokenizer": ["tokenization.Mine", None]}, "chat_template": loop}
        about["pad_token"] = pick(rng, (*VALUES, {"content": []}, {"content": "<pad>"}))

    change(files, "tokenizer_config.json", edit)


def parts_of(config: dict) -> list[dict]:
    return [config, *(part for part in config.values() if isinstance(part, dict))]


def config_values(files: Files, rng: np.random.Generator) -> None:
    def edit(config: dict) -> None:
        for _ in range(rng.integers(1, 4)):
            home = pick(rng, parts_of(config))
            if home:
                home[pick(rng, list(home))] = pick(rng, VALUES)

    change(files, "config.json", edit)


def config_missing(files: Files, rng: np.random.Generator) -> None:
    def edit(config: dict) -> None:
        for _ in range(rng.integers(1, 6)):
            home = pick(rng, parts_of(config))
            home.pop(pick(rng, list(home)), None) if home else None

    change(files, "config.json", edit)


DEEP = (100, 300, 900, 100_000)
LAYERS = (
    "num_hidden_layers",
    "n_layer",
    "num_layers",
    "encoder_layers",
    "decoder_layers",
    "depths",
    "num_decoder_layers",
    "num_encoder_blocks",
)


def config_deep(files: Files, rng: np.random.Generator) -> None:
    depth, (left, right) = pick(rng, DEEP), pick(rng, (("[", "]"), ('{"a":', "}")))
    inside = (left * depth + "1" + right * depth).encode()
    name = pick(rng, ("config.json", "preprocessor_config.json", "tokenizer_config.json", "tokenizer.json"))
    files[name] = files.get(name, b"{}").rstrip()[:-1].rstrip(b",") + b', "deep": ' + inside + b"}"


def config_layers(files: Files, rng: np.random.Generator) -> None:
    count = pick(rng, (200, 900, 1000, 65_536, 10**12))

    def edit(config: dict) -> None:
        for home in parts_of(config):
            for name in LAYERS:
                if name in home:
                    home[name] = [count] * len(home[name]) if isinstance(home[name], list) else count

    change(files, "config.json", edit)


def config_sizes(files: Files, rng: np.random.Generator) -> None:
    """Every size of a kind at once, as large as may be asked."""
    kind, size = pick(rng, ("size", "dim", "heads", "position", "label", "channels")), pick(rng, (4096, 60_000, 65_536))

    def edit(config: dict) -> None:
        for home in parts_of(config):
            home |= {name: size for name, value in home.items() if kind in name and type(value) is int}

    change(files, "config.json", edit)


def config_types(files: Files, rng: np.random.Generator) -> None:
    types = ("", "mine", "bert", "vit", "llama", "../vit", "timm_backbone", "gpt2", 3, None, ["vit"], "x" * 10_000)
    names = ("ViTModel", "BertForMaskedLM", "PreTrainedModel", "AutoModel", "os", "__class__", "pipeline", 7, [], "")
    extra = (
        {"return_dict": False},
        {"output_attentions": True},
        {"is_decoder": True, "add_cross_attention": True},
        {"torch_dtype": "float16"},
        {"dtype": "int8"},
        {"quantization_config": {"quant_method": "bitsandbytes"}},
        {"attn_implementation": "someone/kernels"},
        {"_attn_implementation": "flash_attention_2"},
        {"transformers_weights": "../../etc/passwd"},
        {"pruned_heads": {"0": [0, 1, 2, 3], "1": [10**9]}},
        {"tie_word_embeddings": "yes"},
        {"use_cache": "no"},
        {"problem_type": "regression"},
        {"id2label": {"a": "b"}},
        {"label2id": [1]},
        {"num_labels": -3},
        {"hidden_act": "os.system"},
        {"activation_function": "x"},
        {"base_model_tp_plan": {"*": "x"}},
        {"backbone": "timm/resnet50"},
        {"_name_or_path": "/etc"},
        {"architectures": [None]},
        {"torchscript": True},
        {"chunk_size_feed_forward": 1},
        {"use_bfloat16": True},
        {"problem_type": []},
        {"rope_parameters": {"rope_type": "x"}},
        {"layer_types": ["x"]},
    )
    way = rng.integers(0, 4)
    new = {"model_type": pick(rng, types)} if way == 0 else {"architectures": [pick(rng, names)]} if way == 1 else None
    change(files, "config.json", lambda config: config.update(new or pick(rng, extra)))


def config_broken(files: Files, rng: np.random.Generator) -> None:
    files["config.json"] = mutated(files["config.json"], files["config.json"], rng, 2**14)


def index(files: Files, rng: np.random.Generator) -> None:
    weights, name = files.pop("model.safetensors"), "a.safetensors"
    about = json.loads(weights[8 : 8 + int.from_bytes(weights[:8], "little")])
    own = {tensor: name for tensor in about if tensor != "__metadata__"}
    files[name] = weights
    odd = (
        "../a.safetensors",
        "/etc/passwd",
        "a\0.safetensors",
        "y" * 5000 + ".safetensors",
        3,
        "..",
        "a.safetensors/",
        "C:\\a.safetensors",
        "b.safetensors",
        "a.safetensors",
    )
    chosen = pick(rng, (own, {}, [], None, *({**own, "x": place} for place in odd)))
    if rng.random() < 0.4:
        count, spread = pick(rng, ((5000, 5000), (100_000, 900), (90_000, 1), (140_000, 900), (300_000, 900)))
        chosen = {f"{n}": f"{n % spread}.safetensors" for n in range(count)}
        files |= {f"{n}.safetensors": weights for n in range(spread)} if rng.random() < 0.5 and spread < 1000 else {}
    files["model.safetensors.index.json"] = json.dumps({"weight_map": chosen}, separators=(",", ":")).encode()


def weights(files: Files, rng: np.random.Generator) -> None:
    """Headers that lie, or hold what no model has; bytes changed; other kinds of numbers, or none that are finite."""
    data = files["model.safetensors"]
    size = int.from_bytes(data[:8], "little")
    about, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    names = [name for name in about if name != "__metadata__"]
    name = pick(rng, names)
    way = rng.integers(0, 8)
    if way == 0:
        data = mutated(data[: size + 8], data, rng, 2**14) + body
    elif way == 1:
        data = pick(rng, (2**63, 2**40, 10**8, 2**26, 0, 1)).to_bytes(8, "little") + data[8:]
    else:
        if way == 2:
            about[name]["shape"] = pick(rng, ([2**40], [], [-1], [2**31, 2**31], [0], [1] * 3000, ["x"]))
        elif way == 3:
            about[name]["dtype"] = pick(rng, ("F64", "I64", "BOOL", "U8", "F8_E4M3", "x", 3))
        elif way == 4:
            about[name]["data_offsets"] = pick(rng, ([0, 2**60], [5, 3], [0, 0], [-1, 4], []))
        elif way == 5:
            about |= {f"t{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(60_000)}
        elif way == 6:
            body = np.full(len(body) // 4, pick(rng, (np.nan, np.inf, 3e38)), np.float32).tobytes()
        else:
            about = {name: about[name] for name in names[: len(names) // 2]}
        head = json.dumps(about).encode()
        data = len(head).to_bytes(8, "little") + head + body
    files["model.safetensors"] = data


def processor(files: Files, rng: np.random.Generator) -> None:
    sizes = (
        10**9,
        0,
        -5,
        4096,
        4097,
        "x",
        None,
        [],
        {"height": 4096, "width": 4096},
        {"height": 10**9, "width": 1},
        {"shortest_edge": 4096},
        {"shortest_edge": 1e308},
        {"shortest_edge": 0},
        {"height": None},
        {},
        1e400,
        {"shortest_edge": 800, "longest_edge": 10**9},
    )
    keys = ("size", "crop_size", "do_center_crop", "image_mean", "image_std", "rescale_factor", "resample", "crop_pct")

    def edit(about: dict) -> None:
        about["size"] = pick(rng, sizes)
        for _ in range(rng.integers(0, 3)):
            about[pick(rng, keys)] = pick(rng, VALUES)
        about |= {"auto_map": {"AutoImageProcessor": "modeling.Mine"}, "image_processor_type": "Mine"}

    change(files, pick(rng, ("preprocessor_config.json", "processor_config.json")), edit)


ALL = TEXTS + PICTURES
WITH_TOKENIZER = (*TEXTS[1:], "clip")
FORMS: dict[str, tuple[Callable[[Files, np.random.Generator], None], tuple[str, ...]]] = {
    "tokenizer, bomb": (tokenizer_bombed, WITH_TOKENIZER),
    "tokenizer, bomb again": (tokenizer_bombed, WITH_TOKENIZER),
    "tokenizer, bytes": (tokenizer_broken, WITH_TOKENIZER),
    "tokenizer, parts": (tokenizer_misfit, WITH_TOKENIZER),
    "vocabulary": (vocabulary, ("MarianMTModel",)),
    "files beside": (beside, ALL),
    "config, values": (config_values, ALL),
    "config, missing": (config_missing, ALL),
    "config, nested": (config_deep, ALL),
    "config, layers": (config_layers, ALL),
    "config, sizes": (config_sizes, ALL),
    "config, kinds": (config_types, ALL),
    "config, bytes": (config_broken, ALL),
    "index": (index, ALL),
    "weights": (weights, ALL),
    "image processor": (processor, PICTURES),
}
