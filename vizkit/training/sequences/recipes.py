"""Named recipes of models of texts: those of the bundled models, so that each can be trained again. No torch."""

from vizkit.training.recipe import Recipe

_DATES = Recipe(data="dates", epochs=5, batch=128, lr=2e-3, warmup_epochs=1.0, licence="mit")

TEXTS: dict[str, tuple[str, Recipe]] = {
    "dates_transformer": ("a transformer that rewrites dates", _DATES.but({"model": "seq2seq_transformer"})),
    "dates_lstm_attention": ("an LSTM with attention for the same", _DATES.but({"model": "seq2seq_lstm_attention"})),
    "dates_lstm": ("an LSTM", _DATES.but({"model": "seq2seq_lstm"})),
    "dates_rnn": ("a plain RNN", _DATES.but({"model": "seq2seq_rnn"})),
    "dates_bert": ("a small BERT that guesses hidden words of dates", _DATES.but({"model": "masked_lm", "epochs": 4})),
    "dates_gpt": ("a small GPT that continues dates", _DATES.but({"model": "causal_lm", "epochs": 3})),
}
