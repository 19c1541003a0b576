"""Models of transformers in the hub's layout, with random weights: their own attentions, the same face as ours."""

import json

import pytest
import torch
from torch.testing import assert_close

from vizkit.analysis.sequences.rollout import origins
from vizkit.models import ModelError
from vizkit.models.recording.recorder import Recorder
from vizkit.models.sequences import beam, continue_with, open_sequence, trace_pair, trace_text
from vizkit.models.sequences.influence import influence
from vizkit.vocabulary import TextError

transformers = pytest.importorskip("transformers")

WORDS = ["<pad>", "</s>", "<unk>", "▁the", "▁cat", "▁sat", "s", "▁", "t"]
BERT_WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "the", "cat", "sat"]
CASES = {
    "MarianMTModel": {
        "d_model": 16,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24,
        "max_position_embeddings": 20,
        "vocab_size": 10,
        "pad_token_id": 9,
        "eos_token_id": 1,
        "decoder_start_token_id": 9,
        "forced_eos_token_id": 1,
    },
    "T5ForConditionalGeneration": {
        "d_model": 16,
        "d_kv": 4,
        "d_ff": 24,
        "num_layers": 2,
        "num_heads": 4,
        "vocab_size": 10,
        "decoder_start_token_id": 0,
        "pad_token_id": 0,
        "eos_token_id": 1,
    },
    "BertForMaskedLM": {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "vocab_size": 8,
        "max_position_embeddings": 20,
    },
    "GPT2LMHeadModel": {
        "n_embd": 16,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 20,
        "vocab_size": 10,
        "eos_token_id": 1,
        "bos_token_id": 1,
    },
}


def saved(folder, name, *, tokenizer=False):
    torch.manual_seed(0)
    kind = getattr(transformers, name)
    library = kind(kind.config_class(**CASES[name])).eval()
    library.save_pretrained(folder)
    words = BERT_WORDS if "Bert" in name else WORDS
    if tokenizer or "Bert" in name:
        from tokenizers import Tokenizer, models, pre_tokenizers

        made = Tokenizer(
            models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=words[4 if "[UNK]" in words else 2])
        )
        made.pre_tokenizer = pre_tokenizers.Whitespace()
        made.save(str(folder / "tokenizer.json"))
    else:
        (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    return library


@pytest.mark.parametrize("name", ["MarianMTModel", "T5ForConditionalGeneration"])
def test_a_translator_of_the_library(tmp_path, name):
    library, model = saved(tmp_path, name), open_sequence(tmp_path)
    source, target = model.split("the cats sat"), ("▁cat", "t")
    assert source == ("▁the", "▁cat", "s", "▁sat")
    assert model.text_of(source) == "the cats sat"
    trace = trace_pair(model, source, target)
    assert trace.check.passed
    assert trace.check.layers_expected in (6, None)
    kinds = [(layer.query.name, layer.key.name) for layer in trace.attention]
    assert kinds == [("source", "source")] * 2 + [("target", "target"), ("target", "source")] * 2
    begin = library.config.decoder_start_token_id
    given = {"input_ids": torch.tensor([[3, 4, 6, 5, 1]]), "decoder_input_ids": torch.tensor([[begin, 4, 8]])}
    with torch.no_grad():
        out = library(**given, output_attentions=False)
        library.set_attn_implementation("eager")
        maps = library(**given, output_attentions=True)
    assert_close(trace.logits, out.logits[0])
    for layer, expected in zip(trace.attention[:2], maps.encoder_attentions, strict=True):
        assert_close(layer.weights, expected)
    for layer, expected in zip(trace.attention[3::2], maps.cross_attentions, strict=True):
        assert_close(layer.weights, expected)
    assert origins(trace).source.shape == (3, 5)


WRITING = ["MarianMTModel", "T5ForConditionalGeneration", "GPT2LMHeadModel"]


@pytest.mark.parametrize("name", WRITING)
def test_cached_steps_are_the_whole_pass(tmp_path, name):
    """Logits as of one pass over everything; a row of weights at each step, together the matrix of the trace. A state
    is not changed by a step, and its rows are those of the batch."""
    saved(tmp_path, name)
    model, source, words = open_sequence(tmp_path), ("▁the", "▁cat"), ("▁sat", "s", "t")
    given = model.tensor(model.source_ids(source))
    if model.translates:
        trace, state, read = trace_pair(model, source, words), model.model.start(given), model.target_ids(words)
    else:
        read = model.line_ids(source, words)
        trace, state = trace_text(model, read), model.model.start(given)
    layers = [layer for layer in trace.attention if not model.translates or layer.query.name == "target"]
    joined = [torch.zeros_like(layer.weights) for layer in layers]
    for place, number in enumerate(read):
        with torch.no_grad(), Recorder(model.model, single_keys=True) as recorder:
            logits, after = model.model.step(torch.tensor([number]), state)
        with torch.no_grad():
            others = torch.tensor([number, 3, number])
            batch, _ = model.model.step(others, state.rows(torch.tensor([0, 0, 0])))
            again, _ = model.model.step(torch.tensor([number]), state)
        free = torch.arange(logits.shape[1]) != (model.begin if model.translates else -1)
        assert_close(logits[0][free], trace.logits[place][free])
        assert_close(batch[::2], logits.expand(2, -1))
        assert_close(again, logits)
        for matrix, call in zip(joined, recorder.calls, strict=True):
            matrix[:, :, place, : call.weights.shape[-1]] = call.weights[:, :, 0]
        state = after
    for matrix, layer in zip(joined, layers, strict=True):
        assert_close(matrix, layer.weights)


@pytest.mark.parametrize("name", WRITING)
def test_writing_with_a_model_of_the_library(tmp_path, name):
    saved(tmp_path, name)
    model, source, words = open_sequence(tmp_path), ("▁the", "▁cat"), ("▁sat", "s", "t")
    written = continue_with(model, source, words, longest=3)
    assert written.words == words
    result = influence(model, source, words)
    banned = 1 if model.translates else 0  # what begins a target is never written, so the rest is more probable
    assert written.log_probability >= float(result.log_probabilities[:3].sum()) - 1e-4
    if not banned:
        assert written.log_probability == pytest.approx(float(result.log_probabilities[:3].sum()), abs=1e-4)
    tree = beam(model, source, 3, longest=4)
    assert len(tree.final) == 3
    assert all(text.word != model.vocabulary.words[model.begin] for text in tree.tree[1:]) or not banned


def test_bert_and_gpt2(tmp_path):
    for name, text in (("BertForMaskedLM", "the [MASK] sat"), ("GPT2LMHeadModel", "the cat sat")):
        folder = tmp_path / name
        folder.mkdir()
        library, model = saved(folder, name), open_sequence(folder)
        words = ("the", "[MASK]", "sat") if "Bert" in name else model.split(text)
        ids = model.line_ids(words)
        assert ids == ([1, 5, 3, 7, 2] if "Bert" in name else [3, 4, 5])
        trace = trace_text(model, ids)
        assert trace.check.passed
        assert len(trace.attention) == 2
        library.set_attn_implementation("eager")
        with torch.no_grad():
            out = library(torch.tensor([ids]), output_attentions=True)
        assert_close(trace.logits, out.logits[0])
        for layer, expected in zip(trace.attention, out.attentions, strict=True):
            assert_close(layer.weights, expected)


def test_text_is_split_by_the_tokenizer_where_there_is_one(tmp_path):
    saved(tmp_path, "BertForMaskedLM")
    model = open_sequence(tmp_path)
    assert model.split("the cat  barked") == ("the", "cat", "[UNK]")
    assert model.text_of(("the", "cat")) == "the cat"
    with pytest.raises(TextError, match="no text"):
        model.split("   ")


def test_a_text_that_the_tokenizer_cannot_read_is_said(tmp_path):
    """It has passed its trial; what it does to this text ends its process, or is a number that is no word."""
    saved(tmp_path, "BertForMaskedLM")
    path = tmp_path / "tokenizer.json"
    about = json.loads(path.read_text())
    many = {"type": "Replace", "pattern": {"String": "q"}, "content": "q " * 1000}
    path.write_text(json.dumps(about | {"normalizer": {"type": "Sequence", "normalizers": [many] * 2}}))
    with pytest.raises(TextError, match=r"cannot be read: the tokenizer of the model (makes|takes|is)"):
        open_sequence(tmp_path).split("q")
    path.write_text(json.dumps(about | {"normalizer": many}))
    with pytest.raises(TextError, match="has 2,000 pieces"):
        open_sequence(tmp_path).split("qq")
    about["model"]["vocab"]["dog"] = 8
    path.write_text(json.dumps(about))
    with pytest.raises(TextError, match="words that the model does not have"):
        open_sequence(tmp_path).split("the dog")


def test_what_is_missing_is_said(tmp_path):
    saved(tmp_path, "MarianMTModel")
    with pytest.raises(TextError, match="no “dog”"):
        open_sequence(tmp_path).split("the dog")
    (tmp_path / "vocab.json").unlink()
    with pytest.raises(ModelError, match=r"neither tokenizer\.json"):
        open_sequence(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="damaged"):
        open_sequence(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"architectures": ["ViTModel"]}))
    with pytest.raises(ModelError, match="of texts there are"):
        open_sequence(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config | {"d_model": 10**9}))
    with pytest.raises(ModelError, match="a size above"):
        open_sequence(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="no weights"):
        open_sequence(tmp_path)
