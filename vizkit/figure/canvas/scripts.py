"""The scripts of views that draw in the browser in their own way, by name: a page, a notebook and a saved page mount
the same ones."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vizkit.figure.canvas import LOOK, LOOK_HTML, SHORT


@dataclass(frozen=True)
class Script:
    """An element: `js` are files, joined in this order, of which one exports the function that draws."""

    html: str
    css: Path
    js: tuple[Path, ...]

    @property
    def code(self) -> str:
        return "\n".join(file.read_text(encoding="utf-8") for file in self.js)


_HERE = Path(__file__).parent
NEWS = _HERE / "news.js"
_WINDOWS = _HERE / "windows"
_SCALED = (SHORT, _HERE / "scales.js")
_WALK = _HERE / "walk"
_WALK_HTML = (
    "<div class='walk'><div class='inside'><figure><canvas class='photo' tabindex='0' role='application'></canvas>"
    "<div class='symbols'></div><small class='chosen'></small><div class='picks'></div></figure><section>"
    "<nav><button>◀</button><button></button><button>▶</button><ol></ol></nav><small class='why'></small>"
    "<output aria-live='polite'></output><canvas class='numbers' tabindex='0' role='application'></canvas>"
    "<small class='from'></small><p><span></span><i></i><span></span></p></section></div></div>"
)
_CUT = (
    "<section><label>Patch size <input type='range'><span></span></label>"
    "<canvas role='application' tabindex='0'></canvas><output></output></section>\n"
)
_RACE = (
    "<section><div class='race'><div class='large'><b></b><canvas role='img'></canvas></div><div class='curves'><b></b>"
    "<canvas tabindex='0' role='img'></canvas></div><div class='lanes'></div></div></section>\n"
)
_SLIDE = (
    "<div class='slide'><div class='controls'><button>◀ Step</button><button>▶ Play</button>"
    "<button>Step ▶</button></div><div class='strip'></div><div class='sliders'></div><div class='inside'>"
    "<section><h4>Input</h4><canvas class='input' tabindex='0' role='application'></canvas></section>"
    "<section class='middle'><h4>Pixel × weight<small class='where'></small></h4><div class='channels'></div>"
    "<div class='cells'></div><p class='total'></p><button class='undo'>Undo the changes</button></section>"
    "<section><h4>Output</h4><canvas class='output' tabindex='0' role='application'></canvas>"
    "<small class='shapes'></small></section>"
    "</div><p class='formula'></p><p class='proof'></p></div>"
)
_POSITIONS = _HERE / "positions"
_FEATURE_MAPS = (
    "<div class='maps'><div class='inside'><section><canvas class='photo'></canvas><span class='said'></span>"
    "</section><div class='grid'></div></div></div>"
)
_SWITCHES = (
    "<div class='switches'><div class='inside'><section class='now'><h4>Answers<small>bar now, grey line before</small>"
    "</h4><div class='answers'></div></section><section><h4>Image</h4>"
    "<canvas tabindex='0' role='application'></canvas><p class='said'></p></section>"
    "<section class='of-heads'><h4>Layers × heads<small>temperature</small></h4><div class='heads'></div></section>"
    "<nav><button class='show'>Show which</button><button class='undo'>Undo</button>"
    "<button class='reset'>Reset</button></nav></div></div>"
)
_TEXTS = _HERE / "texts"
_TRANSLATE = (
    "<div class='translate'><div class='controls'><button>◀ Step</button><button>▶ Play</button>"
    "<button>Step ▶</button><button class='undo'>Undo the forced words</button></div><div class='inside'>"
    "<svg class='arcs' tabindex='0' role='img'></svg>"
    "<section><h4 class='next-title'></h4><div class='next'></div><p class='says'></p>"
    "<div class='heads'></div></section></div></div>"
)
_STRIPS = (
    "<div class='strips'><div class='tops'></div><div class='controls'><button>◀ Back</button><button>▶ Play</button>"
    "<button>Next ▶</button><span class='choices'></span></div><ol></ol><p class='says' aria-live='polite'></p>"
    "<div class='rows'></div><p class='read'></p></div>"
)
_PREDICT = "<div class='predict'><div class='line'></div><div class='controls'></div><div class='answers'></div></div>"
_ARCHITECTURE = _HERE / "architecture"
_COMPARE = _HERE / "compare"
_WITHSTANDS = (
    "<section><label>Strength <input type='range' min='0'><span></span></label><div class='models'></div>"
    "<div class='panels'></div></section>\n"
)
_PANELS = _HERE / "panels"
_POINTS = _HERE / "points"
_ENLARGED = _HERE / "super_resolution"
_TRANSFER = (
    "<div class='enlarge'><canvas tabindex='0' role='application'></canvas><p class='says'></p>"
    "<div class='patches'></div></div>"
)
_GUESS = (
    "<section><canvas></canvas><div><output aria-live='polite'></output><button class='clear'>Clear</button>"
    "<button class='commit'>This is my guess</button></div></section>\n"
)
SCRIPTS = {
    "vizkit_guess": Script(_GUESS, _HERE / "lessons" / "guess.css", (*_SCALED, NEWS, _HERE / "lessons" / "guess.js")),
    "vizkit_block": Script(
        "<div class='block' role='group'></div>\n", _ARCHITECTURE / "block.css", (_ARCHITECTURE / "block.js",)
    ),
    "vizkit_withstands": Script(_WITHSTANDS, _COMPARE / "withstands.css", (NEWS, _COMPARE / "withstands.js")),
    "vizkit_evaluated": Script(
        "<section role='group'></section>\n",
        _HERE / "evaluated" / "evaluated.css",
        (_HERE / "evaluated" / "evaluated.js",),
    ),
    "vizkit_flow": Script(
        "<section><ol></ol><div class='legend'></div><output aria-live='polite' hidden></output></section>\n",
        _ARCHITECTURE / "flow.css",
        (*_SCALED, _ARCHITECTURE / "flow.js"),
    ),
    "vizkit_products": Script(
        "<section><canvas class='cells' tabindex='0' role='application'></canvas>"
        "<canvas class='photo' role='img'></canvas>"
        "<canvas class='bars' role='img'></canvas><output aria-live='polite'></output></section>\n",
        _ARCHITECTURE / "products.css",
        (SHORT, _ARCHITECTURE / "products.js"),
    ),
    "vizkit_transfer": Script(_TRANSFER, _ENLARGED / "transfer.css", (*_SCALED, NEWS, _ENLARGED / "transfer.js")),
    "vizkit_panels": Script(
        "<div class='panels'><div class='row'></div><output class='says' aria-live='polite'></output>"
        "<div class='strip' role='group' aria-label='Scenes'></div></div>",
        _PANELS / "panels.css",
        (*_SCALED, NEWS, _PANELS / "panels.js"),
    ),
    "vizkit_points": Script(
        "<section><div class='bar'></div><canvas class='plane' tabindex='0' role='application'></canvas>"
        "<figure hidden><canvas></canvas><figcaption></figcaption></figure><nav></nav>"
        "<output aria-live='polite'></output></section>",
        _POINTS / "points.css",
        (SHORT, NEWS, _POINTS / "points.js"),
    ),
    "vizkit_suspects": Script(
        "<section role='group'></section><output aria-live='polite'></output>",
        _HERE / "suspects" / "suspects.css",
        (NEWS, _HERE / "suspects" / "suspects.js"),
    ),
    "vizkit_switches": Script(
        _SWITCHES, _HERE / "switches" / "switches.css", (NEWS, _HERE / "switches" / "switches.js")
    ),
    "vizkit_translate": Script(_TRANSLATE, _TEXTS / "translate.css", (SHORT, NEWS, _TEXTS / "translate.js")),
    "vizkit_strips": Script(_STRIPS, _TEXTS / "strips.css", (SHORT, NEWS, _TEXTS / "strips.js")),
    "vizkit_predict": Script(_PREDICT, _TEXTS / "predict.css", (SHORT, _TEXTS / "predict.js")),
    "vizkit_slide": Script(_SLIDE, _HERE / "slide.css", (NEWS, _HERE / "slide.js")),
    "vizkit_feature_maps": Script(
        _FEATURE_MAPS, _HERE / "feature_maps.css", (*_SCALED, NEWS, _HERE / "feature_maps.js")
    ),
    "vizkit_look": Script(LOOK_HTML, _HERE / "look.css", LOOK),
    "vizkit_tiles": Script("<section role='group'></section>\n", _HERE / "tiles.css", (*_SCALED, _HERE / "tiles.js")),
    "vizkit_heads": Script(
        "<canvas tabindex='0' role='application'></canvas><p><span></span><i></i><span></span></p>"
        "<output aria-live='polite'></output>\n",
        _HERE / "heads.css",
        (*_SCALED, _HERE / "heads.js"),
    ),
    "vizkit_order": Script(
        "<section><canvas tabindex='0' role='application'></canvas>"
        "<div><output aria-live='polite'></output><button>Undo</button></div></section>\n",
        _POSITIONS / "order.css",
        (SHORT, NEWS, _POSITIONS / "order.js"),
    ),
    "vizkit_bias": Script(
        "<section><div><canvas tabindex='0' role='application'></canvas><nav></nav></div>"
        "<p><span></span><i></i><span></span></p><output aria-live='polite'></output></section>\n",
        _WINDOWS / "bias.css",
        (SHORT, NEWS, _WINDOWS / "bias.js"),
    ),
    "vizkit_matrix": Script(
        "<canvas tabindex='0' role='application'></canvas><p><span></span><i></i><span></span></p>"
        "<output aria-live='polite'></output>\n",
        _HERE / "matrix.css",
        (*_SCALED, _HERE / "matrix.js"),
    ),
    "vizkit_cut": Script(_CUT, _HERE / "cut.css", (SHORT, NEWS, _HERE / "cut.js")),
    "vizkit_walk": Script(
        _WALK_HTML, _WALK / "walk.css", (*_SCALED, NEWS, *(_WALK / f"{name}.js" for name in ("row", "scenes", "walk")))
    ),
    "vizkit_terms": Script(
        "<section><canvas tabindex='0' role='application'></canvas><div><output aria-live='polite'></output><ol></ol>"
        "</div></section>\n",
        _HERE / "terms.css",
        (SHORT, _HERE / "terms.js"),
    ),
    "vizkit_race": Script(_RACE, _HERE / "race.css", (SHORT, _HERE / "race.js")),
    "vizkit_scrubber": Script("<section></section>\n", _HERE / "scrubber.css", (_HERE / "scrubber.js",)),
    "vizkit_stage": Script("<section></section>\n", _HERE / "stage.css", (_HERE / "stage.js",)),
    "vizkit_windows": Script(
        "<section><div><nav></nav>\n<output aria-live='polite'></output></div>"
        "<canvas tabindex='0' role='application'></canvas>"
        "<div><p><span></span><i></i><span></span></p><small></small></div></section>",
        _WINDOWS / "windows.css",
        (*_SCALED, NEWS, _WINDOWS / "pictures.js", _WINDOWS / "windows.js"),
    ),
}
TURNED = ("vizkit_look", "vizkit_heads", "vizkit_tiles", "vizkit_cut", "vizkit_bias", "vizkit_race", "vizkit_panels")
"""Those that the stage of a page draws at every step of a played field."""


def mounted(names: Iterable[str]) -> str:
    """JavaScript: `scripts`, what stage.js draws with, of these canvases. Each is a function in a scope of its own, for
    they use the same names inside."""
    parts = []
    for name in names:
        script = SCRIPTS[name]
        shell = f"html: {_text(script.html)}, css: {_text(script.css.read_text(encoding='utf-8'))}"
        code = script.code.replace("export default function", "return function", 1)
        parts.append(f"{json.dumps(name)}: {{ {shell}, draw: (() => {{\n{code}\n}})() }}")
    return f"const scripts = {{ {', '.join(parts)} }}"


def _text(text: str) -> str:
    """As it may stand inside a script element too."""
    return json.dumps(text, ensure_ascii=False).replace("<", "\\u003c")
