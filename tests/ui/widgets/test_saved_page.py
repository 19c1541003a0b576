"""Page (HTML) under Save is the view itself, as it can be played, also of one without a model."""

import json
import re

import pytest

from tests.hosts.toy import Toy, subject
from vizkit.report.item import Item
from vizkit.ui.session.subjects import NOTHING
from vizkit.ui.widgets.save import _file
from vizkit.views.sequences.masks import Masks


@pytest.mark.parametrize(("view", "of"), [(Toy(3), subject()), (Masks(), NOTHING)], ids=["played", "no model"])
def test_a_view_is_saved_as_a_page_that_plays(view, of):
    source = "bundled:digits_vit" if of is not NOTHING else ""
    page = _file(Item(view, source, "Toy" if source else "", ""), of, "html")().decode()
    book = re.search(r"<script type='application/json'[^>]*>(.*?)</script>", page, re.S)
    assert book
    assert (json.loads(book[1])["field"] is not None) == bool(source)
    assert page.count("<title>") == 1
