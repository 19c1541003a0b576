"""What a saved picture shows, as JSON and back; JSON of strangers is refused in one sentence."""

import json

import pytest

import vizkit
from vizkit.datasets import samples
from vizkit.from_json import ReportError
from vizkit.report.document import MOST_ITEMS, Entry, Report, opened
from vizkit.report.item import Item, from_json, to_json
from vizkit.report.making import headed, ready
from vizkit.views.attention.statistics import Statistics
from vizkit.views.attention.walkthrough import WalkThrough
from vizkit.views.data_set.plane import Plane
from vizkit.views.evaluate.results import Results
from vizkit.views.explore import Explore
from vizkit.views.intervene.lenses import Lenses
from vizkit.views.relevance.maps import Maps
from vizkit.views.rollout import Rollout
from vizkit.views.sequences.masks import Masks
from vizkit.views.subject import CENTRE, Subject
from vizkit.views.super_resolution.enlarge import Enlarge
from vizkit.writing import name_of_file

SHOWS = [
    Explore(layer=3, head=2, query="patch", scale="linear"),
    Explore(layer=1, query="cls"),
    Explore(layer=2),
    WalkThrough(2, query="cls", by_values=True),
    Rollout((2, 3), "max", 4, 0.5, 0.25, 2, "linear"),
    Rollout("cls+dist"),
    Maps("3", "5", method="grad_cam", scale="linear"),
]


def test_a_report_is_of_the_subject_that_the_view_means():
    """As the page: of a model without classes among photographs."""
    loaded = vizkit.load("bundled:photographs_vit")
    given = Subject(lambda: loaded, samples.picture("cat"), image="cat")
    _, _, (of,) = ready(Item(Lenses(), "x", "y", ""), given)
    assert (given.among, of.among) == (False, True)


@pytest.mark.parametrize("shows, image", [(Plane(), ""), (Results(), ""), (Masks(), ""), (Explore(), "digit 3")])
def test_a_figure_names_the_image_that_it_reads_and_no_other(shows, image):
    """However it comes into the report, from an earlier file too, which names the one that was chosen then."""
    former = to_json(item(Explore(), pixels="0123")) | {"kind": item(shows).kind, "shows": shows.record()}
    for each in (item(shows, pixels="0123"), from_json(json.loads(json.dumps(former)))):
        assert (each.image, bool(each.pixels)) == (image, bool(image))
        assert ("digit 3" in headed("Title", each)) == bool(image)


def item(shows=SHOWS[0], **changed):
    facts = {
        "source": "bundled:digits_vit",
        "model": "digits_vit",
        "image": "digit 3",
        "size_hw": (32, 64),
        "classes": ("a cat", "<b>"),
        "link": "http://x/?a=1",
        "box_xyxy": (0.0, -1.5, 2.0, 3.0),
    }
    return Item(shows, **facts | changed)


OTHER = {"source": "x", "model": "y", "size_hw": None, "classes": [], "weights": ""}


@pytest.mark.parametrize("shows", SHOWS, ids=lambda shows: type(shows).__name__)
def test_an_item_comes_back_as_it_was(shows):
    assert from_json(json.loads(json.dumps(to_json(item(shows))))) == item(shows)


@pytest.mark.parametrize(
    "view, former", [(Explore(layer=2), "shared"), (Rollout(), "from lowest"), (Statistics(), "0 to 1")]
)
def test_colours_of_an_earlier_report_are_those_of_now(view, former):
    record = json.loads(json.dumps(to_json(item(view))))
    record["shows"]["scale"] = former
    assert from_json(record).shows == view
    record["shows"]["scale"] = "unheard"
    with pytest.raises(ReportError):
        from_json(record)


def test_a_report_comes_back_as_it_was():
    report = Report("Mine", (Entry(item(), "first"), Entry(item(SHOWS[3]))))
    assert opened(report.to_json().encode()) == report


@pytest.mark.parametrize(
    "named, change",
    [
        ("virus", {"kind": "virus"}),
        ("attention", {"kind": ["attention"]}),
        ("unheard", {"shows": {"unheard": 1}}),
        ("layer", {"shows": {"layer": "1"}}),
        ("layer", {"shows": {"layer": True}}),
        ("layer", {"shows": {"layer": 10**400}}),
        ("query", {"shows": {"query": [1, 2, 3]}}),
        ("query", {"shows": {"query": [float("nan"), 2]}}),
        ("scale", {"shows": {"scale": "none"}}),
        ("shows", {"shows": []}),
        ("shows", {"shows": None}),
        ("at", {"at": [float("inf"), 0]}),
        ("box_xyxy", {"box_xyxy": [0, 0, 1, float("nan")]}),
        ("box_xyxy", {"box_xyxy": [0, 0, 1, 1e40]}),
        ("edits", {"edits": ["x"] * 5000}),
        ("edits", {"edits": json.loads("[" * 900 + "]" * 900)}),
        ("size_hw", {"others": [{"source": "x", "model": "y"}]}),
        ("unheard", {"others": [{**OTHER, "unheard": 1}]}),
        ("size_hw", {"others": [{**OTHER, "size_hw": [1]}]}),
        ("draw", {"draw": "over everything"}),
        ("image", {"image": "x" * 5000}),
        ("image", {"image": "\ud800"}),
        ("classes", {"classes": "cat"}),
        ("__class__", {"__class__": "os.system"}),
        ("size_hw", {"size_hw": [True, 1]}),
        ("link", {"link": None}),
    ],
)
def test_a_record_of_a_stranger_is_refused_in_one_sentence_that_names_the_field(named, change):
    with pytest.raises(ReportError, match=named) as error:
        from_json(json.loads(json.dumps(to_json(item()) | change)))
    assert len(str(error.value)) < 200
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"{}",
        b"[1]",
        b'{"format": 2, "items": []}',
        b'{"format": 1, "items": []}',
        b'{"format": 1, "items": [3]}',
        b'{"format": 1, "items": [{"comment": 3}]}',
        b" " * 2**23,
    ],
)
def test_a_file_that_is_no_replay_is_refused_in_one_sentence(data):
    with pytest.raises(ReportError) as error:
        opened(data)
    assert str(error.value).endswith(".")


def test_a_report_has_an_end():
    record = json.loads(Report("", (Entry(item()),)).to_json())
    record["items"] *= MOST_ITEMS + 1
    with pytest.raises(ReportError, match=f"1 to {MOST_ITEMS}"):
        opened(json.dumps(record).encode())


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "a/b\\c", "\x00", "C:evil", ".hidden", "é" * 300, "<b>"])
def test_a_name_never_becomes_a_path(name):
    safe = name_of_file(name)
    assert not set(safe) & set('/\\:\x00<>"')
    assert not safe.startswith(".")
    assert len(safe) <= 40


def test_a_figure_of_an_earlier_version_may_have_a_setting_that_is_gone():
    record = to_json(Item(Enlarge(moved=8), "", "", "china"))
    record["shows"] |= {"levels": True}
    assert from_json(json.loads(json.dumps(record))).shows == Enlarge(moved=8)


@pytest.mark.parametrize(
    "kind, shows, view",
    [
        (
            "attention",
            {"query": [0.2, 0.8], "layer": 3, "head": 1, "shared": True},
            Explore(layer=3, head=2),
        ),
        ("features", {"layer": 2}, Explore(layer=2)),
        ("all heads", {"query": "cls", "shared": False}, Explore(query="cls")),
        (
            "fused heads",
            {"query": "cls", "layer": 2, "fusion": "max", "by_values": True},
            WalkThrough(2, query="cls", by_values=True),
        ),
    ],
)
def test_attention_of_an_earlier_report_is_a_view_now(kind, shows, view):
    """The cursor stood in its link alone."""
    own = to_json(Item(Explore(), "x", "x", "y", link="explore?at=0.3%2C0.7"))
    record = {name: value for name, value in own.items() if name != "at"} | {"kind": kind, "shows": shows}
    record = json.loads(json.dumps(record))
    item = from_json(record)
    assert item.shows == view
    assert item.at == ((0.3, 0.7) if kind == "attention" else CENTRE)
    with pytest.raises(ReportError):
        from_json({**record, "shows": {"layer": "2"}})
