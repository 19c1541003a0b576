"""A table of the page: with what its columns tell, and marked cells on a ground of their own."""

from typing import Any

import streamlit as st

from vizkit.figure.palette import MARKS, faint
from vizkit.views.blocks import Table


def show(key: str, block: Table) -> None:
    rows: Any = [dict(row) for row in block.rows]
    if block.marks:
        rows = _marked(rows, block)
    told = {name: st.column_config.Column(help=help) for name, help in block.helps.items()}
    st.dataframe(rows, hide_index=True, height="content", placeholder="–", column_config=told, key=key)


def _marked(rows: list[dict[str, Any]], block: Table) -> Any:
    import pandas as pd

    ground = {cell: f"background-color: {faint(MARKS[mark], 0.36)}" for cell, mark in block.marks.items()}
    table = pd.DataFrame(rows)
    return table.style.apply(lambda column: [ground.get((row, column.name), "") for row in range(len(column))])
