"""The recipes of ARCHITECTURE.md, followed on toys: one new file and one line in a list, then the public face."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launching import run_code

ROOT = Path(__file__).parents[1]

FAMILY = '''
"""A toy: one layer in which every patch looks at all patches, with a class token."""
from vizkit.geometry import all_ids
from vizkit.models.families.translate import Translated, attention_of, cam_features
from vizkit.traces import Tokens

TITLE, SAME_ROWS, MODULES = "toy", True, ()


def matches(model):
    return type(model).__name__ == "Toy"


def tokens_of(model, size_hw):
    return (Tokens("patches", ("cls",), (size_hw[0] // 4, size_hw[1] // 4), stride=4.0),)


def expected(model):
    return 1


def step_px(model, size_hw):
    return 4


def translated(loaded, size_hw, result):
    (tokens,) = tokens_of(loaded.model, size_hw)
    ids = all_ids(len(tokens))
    attention = [attention_of(call, tokens, tokens, ids, ids) for call in result.calls]
    return Translated(attention, [], 1, cam=cam_features(result, tokens))
'''

USE_FAMILY = """
import numpy as np, torch, vizkit
from torch import nn
from vizkit.analysis.attribution.rollout import rollout
from vizkit.models import family_of
from vizkit.models.families import first_grid
from vizkit.models.probes.budget import keep_within
from vizkit.models.sources.loaded import described


class Toy(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.head = nn.Conv2d(3, 8, 4, 4), nn.Linear(8, 2)
        self.cls, self.attn = nn.Parameter(torch.randn(1, 1, 8)), nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        x = torch.cat([self.cls.expand(len(x), -1, -1), self.patch(x).flatten(2).transpose(1, 2)], 1)
        return self.head(self.attn(x, x, x, need_weights=False)[0][:, 0])


from dataclasses import replace
torch.manual_seed(0)
loaded = described("toy", Toy().eval(), None, source="test")
loaded = replace(loaded, preprocessing=replace(loaded.preprocessing, size_hw=(32, 32)))
trace = vizkit.trace(loaded, np.random.default_rng(0).integers(0, 255, (32, 32, 3), np.uint8))
assert family_of(loaded.model) == "toy"
assert trace.check.passed and trace.check.layers_expected == 1, trace.check
assert trace.attention[0].weights.shape == (1, 2, 65, 65)
assert trace.attention[0].query.grid == first_grid(loaded, (32, 32)) == (8, 8)
assert keep_within(loaded, "cls", 10).rows == (0,)
assert tuple(rollout(trace, "cls").shape) == (8, 8)
"""

METHOD = '''
"""A toy: how bright each pixel is."""


def brightness(subject):
    return subject.pixels[0].mean(0)
'''

METHOD_ENTRY = """
    Method(
        name="brightness", title="Brightness", needs="model", run=code("brightness:brightness"),
        asks="How bright is each pixel?", caveat="It knows no model.", source="nobody",
    ),
)
METHODS:"""

USE_METHOD = """
import numpy as np, torch, vizkit
from vizkit.analysis.attribution.explaining import explain
from vizkit.commands.explaining.maps import chosen
from vizkit.scoring import subject_of

loaded = vizkit.load("bundled:digits_vit", device="cpu")
image = np.random.default_rng(0).integers(0, 255, (32, 32, 3), np.uint8)
subject = subject_of(loaded, image, 3)
found = explain("brightness", vizkit.trace(loaded, image, target=3), subject=subject)
torch.testing.assert_close(found.heat, subject.pixels[0].mean(0).cpu())
assert "brightness" in chosen(["fast"])
"""

DATA = '''
"""A toy: pictures of one grey each, dark or bright."""
import numpy as np
from vizkit.datasets.image_set import ImageSet, Source, digest_of

ABOUT = {"greys": "squares of one grey, dark or bright"}


class Grey(Source):
    def picture(self, index):
        return np.full((16, 16, 3), 60 + 120 * (index % 2), np.uint8)


def open_split(detail, split, *, images, size_px, seed):
    return ImageSet("greys", split, ("dark", "bright"), np.arange(40) % 2, Grey(), digest_of("greys", split))
'''

USE_DATA = """
from vizkit.__main__ import main
from vizkit.datasets.builtin import ABOUT
from vizkit.datasets.opening import open_set, splits_of

assert list(ABOUT)[-1] == "greys"
assert splits_of("greys") == ("train", "val", "test")
greys = open_set("greys", "train", images=8)
assert (len(greys), sorted(greys.targets.tolist())) == (8, [0] * 4 + [1] * 4)
picture, label = greys[0]
assert (picture[0, 0, 0] > 100) == label
assert main(["datasets", "greys", "--images", "8"]) == 0
"""


# recipe: its file, the list that names it, the last name there, the toy, and what then works.
RECIPES = {
    "family": ("models/families/toy.py", "models/families/__init__.py", '"generic"', FAMILY, USE_FAMILY),
    "method": (
        "analysis/attribution/brightness.py",
        "analysis/attribution/methods/__init__.py",
        ")\nMETHODS:",
        METHOD,
        USE_METHOD,
    ),
    "data set": ("datasets/builtin/greys.py", "datasets/builtin/__init__.py", '"torchvision"', DATA, USE_DATA),
}


FOLDERS = [(ROOT / "vizkit" / path).parent for recipe in RECIPES.values() for path in recipe[:2]] + [
    ROOT / "vizkit/ui",
    ROOT / "vizkit/views",
]


@pytest.fixture
def copy(tmp_path):
    """The library, linked file by file where recipes add one, else folder by folder."""
    link(ROOT / "vizkit", tmp_path / "vizkit")
    return tmp_path


def link(source, target):
    target.mkdir()
    for path in source.iterdir():
        if any(folder.is_relative_to(path) for folder in FOLDERS):
            link(path, target / path.name)
        elif path.name != "__pycache__":  # for what Python keeps of the new file
            (target / path.name).symlink_to(path)


def follow(copy, file, listing, before, source):
    name = Path(file).stem
    (copy / "vizkit" / file).write_text(source)
    there = copy / "vizkit" / listing
    text = there.read_text()
    there.unlink()  # the link, not the file behind it
    # Families are tried in order, and the last takes all: a new one comes before it.
    lines = {"toy": f'"toy", {before}', "brightness": METHOD_ENTRY}.get(name, f'{before}, "{name}"')
    assert text.count(before) == 1
    there.write_text(text.replace(before, lines))


@pytest.mark.parametrize("recipe", RECIPES)
def test_one_file_and_one_line(copy, recipe):
    file, listing, before, source, use = RECIPES[recipe]
    follow(copy, file, listing, before, source)
    done = run_code(use, copy)
    assert done.returncode == 0, done.stderr


USE_PAGE = """
from streamlit.testing.v1 import AppTest

test = AppTest.from_file("app.py", default_timeout=600).run().switch_page("pages/sizes.py").run()
assert not test.exception, test.exception
assert [each.value for each in test.title] == ["Sizes"]
found = [each.value for each in test.metric]
assert found and set(found) <= {"14 × 14", "18 × 18", "28 × 28"}, (found, [each.value for each in test.markdown])
"""


@pytest.fixture
def with_view(copy):
    """The view of ARCHITECTURE.md as it stands there, on a page of its own."""
    told = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("\n### Add a view\n")[2]
    view, entry = re.findall(r"```python\n(.*?)```", told, re.DOTALL)
    (copy / "vizkit/views/sizes.py").write_text(view)
    alone = 'name="rollout",\n        ),\n'
    entry = entry.strip().replace('page="patches"', 'page="sizes"')
    for file, before, after in (
        ("views/__init__.py", alone, f"{alone}        {entry},\n"),
        (
            "ui/shell.py",
            '    "Why this answer?": [\n',
            '    "Why this answer?": [\n        ("sizes", "Sizes", "How many patches."),\n',
        ),
    ):
        there = copy / "vizkit" / file
        text = there.read_text()
        there.unlink()
        assert text.count(before) == 1
        there.write_text(text.replace(before, after))
    for name in ("app.py", "pyproject.toml", "tests", "ARCHITECTURE.md"):
        (copy / name).symlink_to(ROOT / name)
    (copy / "pages").mkdir()
    for path in (ROOT / "pages").glob("*.py"):
        (copy / "pages" / path.name).symlink_to(path)
    (copy / "pages/sizes.py").write_text((ROOT / "pages/rollout.py").read_text().replace('"rollout"', '"sizes"'))
    return copy


def test_a_page_is_a_file_a_line_and_its_views(with_view):
    done = run_code(USE_PAGE, with_view)
    assert done.returncode == 0, done.stderr


@pytest.mark.rest  # tests/views/test_contract.py asks the same of the view, without a page of its own
@pytest.mark.parametrize("before, after, code", [("", "", 0), ("if not of.layers:", "if False:", 1)])
def test_the_view_of_the_recipe_keeps_the_contract_that_is_promised(with_view, before, after, code):
    """On a model without attention too, which it refuses with a sentence; without that sentence it breaks."""
    there = with_view / "vizkit/views/sizes.py"
    there.write_text(there.read_text().replace(before, after))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/views/test_contract.py"]
    done = subprocess.run([*command, "-k", "sizes"], cwd=with_view, capture_output=True, text=True)
    assert done.returncode == code, done.stdout
    assert ("sizes-digits_cnn" in done.stdout) is bool(code)


def test_without_the_line_it_is_not_there(copy):
    file, *_, source, use = RECIPES["data set"]
    (copy / "vizkit" / file).write_text(source)
    assert run_code(use, copy).returncode == 1


@pytest.mark.parametrize(
    "recipe, part, sentence",
    [
        ("family", "def expected", "vizkit/models/families/toy.py needs `expected`: a function of a model"),
        ("method", "def brightness", "'vizkit.analysis.attribution.brightness' has no attribute 'brightness'"),
        ("data set", "ABOUT =", "vizkit/datasets/builtin/greys.py needs `ABOUT`: a dictionary from each name"),
    ],
)
def test_a_missing_part_is_named(copy, recipe, part, sentence):
    file, listing, before, source, use = RECIPES[recipe]
    other = part.replace("def ", "def other_").replace(" =", "_OF_ANOTHER =")
    follow(copy, file, listing, before, source.replace(part, other))
    done = run_code(use, copy)
    assert done.returncode == 1
    assert sentence in done.stderr


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_architecture_tells_the_recipe(recipe):
    file, listing, *_ = RECIPES[recipe]
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition(f"### Add a {recipe}\n")[2].partition("\n### ")[0]
    assert str(Path(file).parent) in section
    assert "`ORDER`" in section
    assert (ROOT / "vizkit" / listing).read_text(encoding="utf-8").count("ORDER = (") == 1


def walks(text):
    """The files of each walk that ARCHITECTURE.md proposes to a newcomer, in order."""
    opening = text.split("## Packages")[0]
    return [re.findall(r"`(vizkit/[\w/]+\.py)`", walk) for walk in opening.split("- **")[1:]]


def test_a_newcomers_walks_lead_through_ten_files_that_exist_at_most():
    found = walks((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert len(found) == 4
    for walk in found:
        assert 5 <= len(walk) <= 10
        assert [file for file in walk if not (ROOT / file).is_file()] == []
    assert walks("- **a** `vizkit/none.py` → `vizkit/image.py`\n## Packages") == [["vizkit/none.py", "vizkit/image.py"]]
