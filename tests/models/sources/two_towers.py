"""CLIP and SigLIP in small, with a tokenizer of ten words, as `save_pretrained` writes them."""

import math

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from tests.models.test_transformers import WIDE, made

WORDS = ["a", "photo", "of", "cat", "dog", "red", "bird", "two"]
TEXT = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 48, "vocab_size": 16}
TEXT |= {"max_position_embeddings": 10, "bos_token_id": 10, "eos_token_id": 11, "pad_token_id": 8}
KINDS = {"clip": "CLIPModel", "siglip": "SiglipModel"}


def tokenizer_of():
    vocab = {word: index for index, word in enumerate([*WORDS, "<pad>", "<unk>", "<start>", "<end>"])}
    made_of = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    made_of.normalizer, made_of.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    made_of.post_processor = processors.TemplateProcessing(
        single="<start> $A <end>", special_tokens=[("<start>", vocab["<start>"]), ("<end>", vocab["<end>"])]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made_of, pad_token="<pad>", unk_token="<unk>", bos_token="<start>", eos_token="<end>"
    )


def two_towers(kind, folder):
    """The library's own model, saved in a folder."""
    options = {"vision_config": WIDE, "text_config": TEXT} | ({"projection_dim": 12} if kind == "clip" else {})
    model = made(KINDS[kind], options)
    with torch.no_grad():
        model.logit_scale.fill_(math.log(20.0))
    model.save_pretrained(folder)
    tokenizer_of().save_pretrained(folder)
    return model


def library_logits(model, pixels, texts):
    """`logits_per_image` (image, text) of the library with its own tokenizer."""
    if model.config.model_type == "siglip":  # it has learned with texts filled up to their full length, and no mask
        given = {"padding": "max_length", "return_attention_mask": False}
    else:
        given = {"padding": True}
    given = tokenizer_of()(list(texts), truncation=True, max_length=10, return_tensors="pt", **given)
    with torch.no_grad():
        return model(pixel_values=pixels, **given).logits_per_image
