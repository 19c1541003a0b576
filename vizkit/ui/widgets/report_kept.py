"""What keeps the report in the browser's tab, where loading a page anew finds it again."""

import streamlit as st

from vizkit.ui.canvas import Canvas
from vizkit.ui.session import report
from vizkit.views.rules import words

LONGEST = 4_000_000  # letters
KNOWN = "_report_known"  # whether this session knows what is in the report, if anything
KEPT = Canvas(
    "vizkit_report_kept",
    "<div hidden></div>\n",
    ":host { display: none }\n",
    """// What the server knows is kept; a session that knows nothing yet is told what was kept.
export default function ({ data, parentElement, setTriggerValue }) {
  const KEY = 'vizkit-report'
  if (parentElement.was === data.report) return // another one on the page may have written since
  parentElement.was = data.report
  try {
    const kept = sessionStorage.getItem(KEY)
    if (data.report !== null) sessionStorage.setItem(KEY, data.report)
    else if (kept) setTriggerValue('kept', kept)
  } catch { /* storage may be refused: then a reload begins without a report */ }
}
""",
)


def remember(key: str) -> None:
    """Mount it with the report as it is now, and its count in the menu; after each change, wherever it is made."""
    st.html(report.counting())
    if report.entries():
        st.session_state[KNOWN] = True
    now = report.shown().to_json() if report.entries() else ""
    KEPT(key, {"report": now if KNOWN in st.session_state else None}, kept=(words(LONGEST), _hear))


def _hear(told: str) -> None:
    st.session_state[KNOWN] = True
    report.take(told.encode())
