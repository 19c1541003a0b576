"""What the documents say is there: their links, the reference made from docstrings, the tests that a change touches."""

import re
import runpy
import shlex
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

import vizkit
from tests.touched import imports, touched
from vizkit.__main__ import command_line

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    ROOT / name
    for name in subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if "bundled" not in name
)


def anchors(text):
    """Of the headings, as they are called in links."""
    heads = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def broken(document, text):
    """Links of a document to files or headings that are not there."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, heading = link.partition("#")
        there = document.parent / file if file else document
        if re.match(r"\w+:", link):
            continue
        if not there.exists() or (heading and heading not in anchors(there.read_text(encoding="utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document):
    assert broken(document, document.read_text(encoding="utf-8")) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "there.md").write_text("# A heading, here\n")
    text = "[a](there.md#a-heading-here) [b](there.md#b) [c](none.md) [d](https://example.org) [e](#own)\n# Own\n"
    (tmp_path / "new.md").write_text(text)
    assert broken(tmp_path / "new.md", text) == ["there.md#b", "none.md"]


def test_the_reference_has_every_public_name_and_no_broken_link(tmp_path):
    reference = runpy.run_path(str(ROOT / "docs" / "reference.py"))
    reference["write"](tmp_path, ["vizkit", "vizkit.traces", "vizkit.views.rollout"])
    text = (tmp_path / "vizkit.html").read_text(encoding="utf-8")
    assert [name for name in vizkit.__all__ if f'id="{name}"' not in text] == []
    pages = {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")}
    assert len(pages) == 4
    assert 'href="notebooks/explore.ipynb"' in text
    links = [(path, link) for path, page in pages.items() for link in re.findall(r'href="([\w./-]+)[#"]', page)]
    assert [(path.name, link) for path, link in links if not (path.parent / link).exists()] == []


def test_a_change_touches_the_tests_that_name_it():
    assert imports("from vizkit.analysis.attribution import rollout, legrad", "vizkit.analysis.attribution.rollout")
    assert imports("import vizkit.geometry", "vizkit.geometry")
    assert not imports("from vizkit.analysis.attribution import legrad", "vizkit.analysis.attribution.rollout")
    found = touched(["vizkit/views/rollout.py", "README.md"])
    assert "tests/test_imports.py" in found
    assert "tests/views/test_contract.py::test_a_view_breaks_no_rule[rollout-digits_vit-all]" in found
    assert not any("positions" in each for each in found)
    assert "tests/views/test_contract.py" in touched(["tests/views/test_contract.py"])
    assert "tests/test_notebook.py" in touched(["docs/notebooks/swin.ipynb"])
    masks = "tests/views/test_contract.py::test_a_view_breaks_no_rule[masks-a digit-all]"  # it reads no model
    assert masks in touched(["vizkit/views/sequences/masks.py"])


def test_what_all_views_use_touches_the_contract_of_one():
    found = touched(["vizkit/ui/asking.py"])
    assert "tests/views/test_contract.py" not in found
    assert "tests/views/test_contract.py::test_each_rule_can_fail" in found
    assert "tests/views/test_contract.py::test_nonsense_in_an_address_is_left_out[rollout]" in found
    assert not any("walk-through" in each for each in found)


def closed(required, **more):
    return {"type": "object", "properties": required | more, "required": [*required], "additionalProperties": False}


POD = {"type": "object", "required": ["spec"]}
GROUP = {"rayStartParams": {"type": "object", "additionalProperties": {"type": "string"}}, "template": POD}
COUNT = {"type": "integer", "minimum": 0}
WORKERS = closed(GROUP | {"groupName": {"type": "string"}}, replicas=COUNT, minReplicas=COUNT, maxReplicas=COUNT)
CLUSTER = closed(
    {"headGroupSpec": closed(GROUP)},
    rayVersion={"type": "string"},
    workerGroupSpecs={"type": "array", "items": WORKERS},
)
JOB = closed(
    {"entrypoint": {"type": "string"}, "rayClusterSpec": CLUSTER},
    shutdownAfterJobFinishes={"type": "boolean"},
    backoffLimit=COUNT,
)
RAY_JOB = closed(
    {"apiVersion": {"const": "ray.io/v1"}, "kind": {"const": "RayJob"}, "metadata": {"type": "object"}, "spec": JOB}
)
"""Of ray.io_rayjobs.yaml, KubeRay's definition of v1, the fields that docs/scale.md uses."""


def test_the_job_for_kubernetes_has_the_fields_of_its_schema():
    (text,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "scale.md").read_text(encoding="utf-8"), re.DOTALL)
    job = yaml.safe_load(text)
    jsonschema.validate(job, RAY_JOB)
    words = shlex.split(job["spec"]["entrypoint"])
    assert words[:4] == ["python", "-m", "vizkit", "explain"]
    _, bound, _ = command_line(words[3:]).parse_args(words[3:])
    assert bound.arguments["cluster"].on == "auto"
    job["spec"]["image"] = "none"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(job, RAY_JOB)
