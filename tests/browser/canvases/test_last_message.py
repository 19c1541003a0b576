"""A canvas is a function of its last message: after any two it shows what a fresh one shows after the second alone; and
of its window: when that grows, as the frame of a report does, it shows what one shows that began there.

Messages are recorded from views, as they are usually set and with each field changed, of several models and pictures.
What is compared is all of the document and every pixel that is seen.
"""

import re
from dataclasses import replace
from difflib import ndiff
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

import vizkit.figure.canvas
from tests.browser.canvases.recorded import SLOW, VIEWS_OF, messages
from tests.browser.conftest import watched
from tests.views.contract import FEW, few_pictures
from tests.views.test_contract import bicubic
from vizkit.figure.canvas.scripts import SCRIPTS, TURNED, Script, mounted

CANVAS = Path(vizkit.figure.canvas.__file__).parent
WIDTH_PX, LOW_PX, HIGH_PX = 700, 150, 900  # 150: of a frame before its page is in it
TURNING = ("vizkit_stage", "vizkit_scrubber")
MOST, AT_ONCE = 9, 40  # messages of which every pair is tried; pairs on the page together
PAGE = """<!doctype html><meta charset="utf-8"><style>body { width: %dpx }</style><body><script>
let loading = 0
window.Image = class extends Image {
  constructor() {
    super()
    const done = () => { loading -= this.counted ? 1 : 0; this.counted = false }
    this.addEventListener('load', done); this.addEventListener('error', done)
  }
  set src(url) { if (!this.counted) { this.counted = true; loading += 1 } super.src = url }
  get src() { return super.src }
}
%s
const frame = () => new Promise(requestAnimationFrame)
const settled = async () => {
  for (let quiet = 0; quiet < 4; quiet = loading ? 0 : quiet + 1) await frame()
}
const shell = script => {
  const host = document.body.appendChild(document.createElement('div')), root = host.attachShadow({ mode: 'open' })
  root.innerHTML = `<style>${script.css}</style>${script.html}`
  return root
}
const hashed = numbers => numbers.reduce((hash, number) => Math.imul(hash ^ number, 16777619), 2166136261) >>> 0
const pixels = canvas => !canvas.width || !canvas.height || !canvas.checkVisibility() ? 'unseen'
  : hashed(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer))
const seen = node => {
  if (node.nodeType === Node.TEXT_NODE) return node.data
  if (node.tagName === 'STYLE' || node.hidden) return ''
  const sorted = (text, between) => text.split(between).sort().join(between)
  const attributes = [...(node.attributes ?? [])].filter(({ value }) => value)
    .map(({ name, value }) => `${name}="${name === 'style' ? sorted(value, '; ') : value}"`).sort()
  const own = node.tagName === 'CANVAS' ? pixels(node) : node.tagName === 'INPUT' ? node.value : node.selectedIndex
  return [node.tagName, ...attributes, own ?? '', ...[...node.childNodes].map(seen)].filter(String).join('\\n')
}
const nothing = () => {}
let roots = []
const now = async () => {
  await settled()
  return roots.map(root => [...root.childNodes].map(seen).filter(Boolean).join('\\n'))
}
async function after(name, sequences) {
  document.body.querySelectorAll('div').forEach(host => host.remove())
  const script = scripts[name]
  roots = sequences.map(() => shell(script))
  for (let at = 0; at < Math.max(...sequences.map(each => each.length)); at++) {
    sequences.forEach((sequence, i) => {
      if (at >= sequence.length) return
      const data = structuredClone(sequence[at])
      script.draw({ data, parentElement: roots[i], setStateValue: nothing, setTriggerValue: nothing })
    })
    await settled()
  }
  return now()
}
</script>"""


@pytest.fixture(autouse=True)
def _quick(request, monkeypatch, few_steps):
    """As the contract of views: what is drawn does not depend on how much is computed; but of a few images no two
    lists of suspects differ."""
    few_pictures(monkeypatch, 400 if "vizkit_suspects" in request.node.name else FEW)
    monkeypatch.setattr("vizkit.models.super_resolution.enlarging._tile", lambda model, pixels, _: bicubic(pixels))


@pytest.fixture(scope="module")
def paper(chromium, tmp_path_factory):
    """A page that mounts any canvas, of a reader who wants no motion."""
    folder = tmp_path_factory.mktemp("canvases")
    with pytest.MonkeyPatch.context() as patch:
        turned = folder / "turned.js"
        turned.write_text(mounted(TURNED), encoding="utf-8")
        for name, before in (("vizkit_stage", (turned,)), ("vizkit_scrubber", ())):
            own = SCRIPTS[name]
            element = CANVAS / f"{name.removeprefix('vizkit_')}_element.js"
            patch.setitem(SCRIPTS, name, replace(own, js=(*own.js, *before, element)))
        code = mounted(SCRIPTS)
    context = chromium.new_context(viewport={"width": WIDTH_PX + 40, "height": HIGH_PX}, reduced_motion="reduce")
    with watched(context.new_page()) as page:
        page.set_content(PAGE % (WIDTH_PX, code))
        yield page
    context.close()


def remembers(page, script, sent, every=False):
    """What is another after two messages than after the second alone: of each pair with the first, or of many."""
    fresh = page.evaluate("([name, sent]) => after(name, sent.map(each => [each]))", [script, sent])
    pairs = [
        (a, b) for a, b in permutations(range(len(sent)), 2) if len(sent) <= MOST or 0 in (a, b) or abs(a - b) == 1
    ]
    found = []
    for some in (pairs[at : at + AT_ONCE] for at in range(0, len(pairs), AT_ONCE)):
        order = "([name, sent, pairs]) => after(name, pairs.map(pair => pair.map(at => sent[at])))"
        found += page.evaluate(order, [script, sent, some])
    return [
        f"{script}, message {a} then {b} {differing(sent[a], sent[b])}: {'; '.join(unequal(now, fresh[b]))}"
        for (a, b), now in zip(pairs, found, strict=True)
        if now != fresh[b]
    ]


def differing(one, other):
    return [name for name in one if one[name] != other.get(name)]


def unequal(now, then):
    lines = ndiff(then.splitlines(), now.splitlines())
    return [line[:120] for line in lines if line[0] in "+-"][:6]


@cache
def usual(script):
    """Of its first view, for both tests."""
    return messages(script, every=False)


@pytest.mark.parametrize("script", [script for script in SCRIPTS if script not in (*SLOW, "vizkit_slide")])
def test_it_shows_its_last_message_alone(paper, script):
    sent = usual(script)
    assert len(sent) > 1
    assert remembers(paper, script, sent) == []


@pytest.mark.rest
@pytest.mark.parametrize("script", SCRIPTS)
def test_it_does_so_whatever_sent_them(paper, script):
    assert remembers(paper, script, messages(script, every=True), every=True) == []


@pytest.mark.parametrize("script", [script for script in SCRIPTS if script not in SLOW])
def test_it_grows_with_its_window(paper, script):
    sent = usual(script)[:1]
    mount = "([name, sent]) => after(name, [sent])"
    then = paper.evaluate(mount, [script, sent])
    try:
        paper.set_viewport_size({"width": WIDTH_PX + 40, "height": LOW_PX})
        paper.evaluate(mount, [script, sent])
    finally:
        paper.set_viewport_size({"width": WIDTH_PX + 40, "height": HIGH_PX})
    paper.wait_for_function(f"innerHeight === {HIGH_PX}")
    (grown,) = paper.evaluate("now()")
    assert unequal(grown, then[0]) == []


ITSELF = {  # what these draw anew by themselves wherever they are, and tell so that a page keeps it
    "vizkit_bias": {"head"},
    "vizkit_cut": {"point", "patch"},
    "vizkit_feature_maps": {"channel", "unit"},
    "vizkit_look": {"point"},
    "vizkit_panels": {"pick"},
    "vizkit_race": {"removed", "lit"},
    "vizkit_slide": {"place", "numbers"},
    "vizkit_strips": {"step"},
    "vizkit_transfer": {"at"},
    "vizkit_translate": {"pick", "at"},
    "vizkit_walk": {"step", "token"},
    "vizkit_windows": {"step"},
    "vizkit_withstands": {"level"},
}
ALONE = """async ([name, data]) => {
  await after(name, [])
  const heard = window.told = []                         // what another canvas tells late goes to its own
  const hear = what => heard.push(what), root = shell(scripts[name])
  roots = [root]
  const told = { setStateValue: hear, setTriggerValue: hear }
  scripts[name].draw({ data: { ...data, alone: true }, parentElement: root, ...told })
  await settled()
  return [...root.children].filter(({ tagName }) => tagName !== 'STYLE').map(each => each.innerText).join(' ')
}"""
INVITES = r"\b(Click|click sets|click moves|Paint|Switch|Drag|Undo|Reset)\b"


@pytest.mark.parametrize("script", [each for each in SCRIPTS if each in VIEWS_OF and each not in (*TURNING, *SLOW)])
def test_where_nobody_answers_it_shows_nothing_that_was_not_computed(paper, script):
    words = paper.evaluate(ALONE, [script, usual(script)[0]])
    assert not re.search(INVITES, words), words
    for each in paper.locator("div canvas, div button, div [role='button']").all()[:MOST]:
        if each.is_visible() and each.is_enabled():
            each.scroll_into_view_if_needed()
            box = each.bounding_box()
            paper.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    assert {*paper.evaluate("told")} <= ITSELF.get(script, set())


FORGETS = """export default function ({ data, parentElement }) {
  const output = parentElement.querySelector('output')
  if (output.dataset.ranks === data.ranks) return      // the curves may be others
  output.dataset.ranks = data.ranks
  output.textContent = data.curves
}"""


def test_one_that_looks_at_a_part_of_its_message_is_found(paper, tmp_path):
    for name, text in (("toy.js", FORGETS), ("toy.css", "")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCRIPTS, "toy", Script("<output></output>", tmp_path / "toy.css", (tmp_path / "toy.js",)))
        paper.evaluate(f"(() => {{ {mounted(['toy'])}; window.toy = scripts.toy }})()")
    paper.evaluate("scripts.toy = toy")
    away, back, other = ({"ranks": ranks, "curves": curves} for ranks, curves in ("ab", "ac", "bc"))
    assert remembers(paper, "toy", [away, other]) == []
    assert len(remembers(paper, "toy", [away, back])) == 2
