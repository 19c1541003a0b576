"""Tokenizers of strangers work in processes of their own: what they do to the library reaches nobody."""

import json
import os
import signal
import threading

import pytest

pytest.importorskip("tokenizers")
from benchmarks.testing.hostile_folders import BOMBS, template
from vizkit import isolated, tokenizing
from vizkit.tokenizing import MOST_CHARACTERS, TOKENIZERS, TRIAL, Tokenizer, TokenizerError

WORDS = {"[UNK]": 0, "the": 1, "cat": 2, "sat": 3, "[SEP]": 4}
GOOD = {
    "version": "1.0",
    "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
    "padding": None,
    "added_tokens": [],
    "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": WORDS, "unk_token": "[UNK]"},
}


def made(**parts):
    return Tokenizer(json.dumps(GOOD | parts).encode())


@pytest.fixture
def fresh_workers():
    TOKENIZERS.close()
    yield
    TOKENIZERS.close()


def test_it_answers_as_the_library_does():
    """Without the truncation that the file asks for, and with the tokens around a text only where they are wanted."""
    sep = {"type": "BertProcessing", "sep": ["[SEP]", 4], "cls": ["[UNK]", 0]}
    tokenizer = made(post_processor=sep)
    assert tokenizer.ids(["The cat sat", "the dog", ""]) == [[1, 2, 3], [1, 0], []]
    assert tokenizer.ids(["the cat sat"], special=True) == [[0, 1, 2, 3, 4]]
    assert tokenizer.ids(["the cat sat"], special=True, longest=3) == [[0, 1, 4]]
    assert tokenizer.text([1, 3]) == "the sat"
    assert tokenizer.words(7) == ["[UNK]", "the", "cat", "sat", "[SEP]", None, None]
    assert (tokenizer.number("cat"), tokenizer.number("dog")) == (2, None)


@pytest.mark.product
@pytest.mark.parametrize("bomb", BOMBS, ids=[f"{next(iter(bomb))} {index}" for index, bomb in enumerate(BOMBS)])
def test_a_bomb_is_refused_in_a_sentence_or_does_no_harm(bomb):
    good, said = made(), ""
    try:
        made(**bomb).ids([TRIAL], special=True)
    except TokenizerError as error:
        said = str(error)
    assert len(said) < 200
    assert "\n" not in said
    assert good.ids(["the cat"]) == [[1, 2]], "others go on"


def test_each_way_to_fail_has_its_sentence(fresh_workers, monkeypatch):
    monkeypatch.setattr(tokenizing, "SECONDS", 0.5)
    replace = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}
    for words, bomb in {
        "is damaged; get it again": {
            "normalizer": {"type": "Precompiled", "precompiled_charsmap": "////AAAA"}
        },  # panic
        "is damaged .*column": {"model": 3},
        "fails: .*UNK": {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "none"}},
        "takes more than 0.5 s": {"normalizer": {"type": "Sequence", "normalizers": [replace, replace, replace]}},
        "makes 300,00. tokens": {"post_processor": template(3, 100_000)},
    }.items():
        with pytest.raises(TokenizerError, match=words):
            made(**bomb).ids(["the cat"], special=True)


def test_a_text_that_kills_the_worker_kills_no_later_one(fresh_workers):
    """It has passed its trial: the text of a visitor may still be the one."""
    tokenizer = made()
    os.kill(TOKENIZERS.idle[0].process.pid, signal.SIGSTOP)  # so that it ends over the next text
    first = TOKENIZERS.idle[0].process
    os.kill(first.pid, signal.SIGABRT)
    os.kill(first.pid, signal.SIGCONT)
    first.wait()
    assert tokenizer.ids(["the cat"]) == [[1, 2]]
    assert TOKENIZERS.idle[0].process.pid != first.pid


def test_texts_are_limited():
    with pytest.raises(TokenizerError, match="characters of a text"):
        made().ids(["a" * MOST_CHARACTERS, "b"])


def test_no_place_for_long_is_said(monkeypatch):
    tokenizer = made()
    monkeypatch.setattr(isolated, "WAIT_S", 0.01)
    monkeypatch.setattr(TOKENIZERS, "places", threading.BoundedSemaphore(1))
    with TOKENIZERS.worker(), pytest.raises(TokenizerError, match="try again"):
        tokenizer.ids(["the cat"])
    assert tokenizer.ids(["the cat"]) == [[1, 2]]


def test_two_tokenizers_in_turn_are_not_mixed(fresh_workers):
    one, other = made(), made(model=GOOD["model"] | {"vocab": {"[UNK]": 0, "cat": 1}})
    for _ in range(3):
        assert (one.ids(["cat"]), other.ids(["cat"])) == ([[2]], [[1]])


def test_a_file_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(tokenizing, "MAX_BYTES", 2**20)
    path = tmp_path / "tokenizer.json"
    assert Tokenizer.of_file(path) is None
    path.write_bytes(bytes(2**20 + 1))
    with pytest.raises(TokenizerError, match="more than 1 MiB"):
        Tokenizer.of_file(path)
