"""The models of texts that can be chosen by name. Light: the page's picker needs no torch."""

from vizkit.training.runs.folder import runs

TRANSFORMER, BERT, GPT, DATES = "Transformer", "BERT, tiny", "GPT, tiny", "Models of dates"
TRANSLATING = (TRANSFORMER, "LSTM + attention", "LSTM", "RNN")
BUNDLED = {
    TRANSFORMER: "dates_transformer",
    "LSTM + attention": "dates_lstm_attention",
    "LSTM": "dates_lstm",
    "RNN": "dates_rnn",
    BERT: "dates_bert",
    GPT: "dates_gpt",
    DATES: "dates_transformer",
}
"""By the names of the picker, those that come with vizkit."""
NETWORKS = {
    "seq2seq_transformer": TRANSFORMER,
    "seq2seq_lstm_attention": "LSTM + attention",
    "seq2seq_lstm": "LSTM",
    "seq2seq_rnn": "RNN",
}


def trained_texts() -> dict[str, str]:
    """Finished runs that have learned from texts, latest first: their folders by their names."""
    own = [run for run in runs() if run.has_model and not run.learns_pictures and not run.at_work]
    texts = [run for run in own if run.recipe.model in (*NETWORKS, "masked_lm", "causal_lm")]
    return {f"{run.name} (run)" if run.name in BUNDLED else run.name: str(run.path) for run in texts}
