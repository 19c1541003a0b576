"""What a click on each canvas sends. That whoever opens the address sees the same: `test_every_view.py`."""

import json

from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.WidgetStates_pb2 import WidgetState

POINT = [0.3125, 0.6875]
# Of each canvas what a click there sends, from what the canvas was given; None where nothing can be clicked.
CLICKS = {
    "vizkit_look": lambda data: {"point": POINT} if data["key_grid"] else None,
    "vizkit_walk": lambda data: {"step": 5, "token": 20, "point": POINT},
    "vizkit_heads": lambda data: {"pick": [1, 2]},
    "vizkit_matrix": lambda data: {"point": POINT},
    "vizkit_windows": lambda data: {"step": 3, "token": 9},
    "vizkit_panels": lambda data: {"pick": chosen_frame(data)} if data["pick"] else {"scene": 2},
    "vizkit_alike": lambda data: {"clicks": "3:1:500,500"} if "clicks" in data else {"pick": "1:500,300"},
    "vizkit_transfer": lambda data: {"at": [2, 3]},
    "vizkit_feature_maps": lambda data: {"channel": data["channels"][1] + 1, "unit": [2, 3]},
    "vizkit_slide": lambda data: {"place": [1, 2]},
    "vizkit_products": lambda data: {"point": POINT},
    "vizkit_order": lambda data: {"swaps": "1-6"},
    "vizkit_block": lambda data: {"part": "query"},
    "vizkit_bias": lambda data: {"pair": [2, 3], "head": 2},
    "vizkit_switches": lambda data: {
        "switched": {
            "number": 1,
            "back": None,
            "hidden": [],
            "off": ["0.1"],
            "hot": [1] * len(data["hot"]),
            "tool": data["tool"],
            "painted": [3],
        }
    },
    "vizkit_strips": lambda data: {"at": 2, "word": 2},
    "vizkit_translate": lambda data: {"at": 2, "pick": {data["parts"][0]["kind"]: [0, 0]}},
    "vizkit_predict": lambda data: next_words(data),
    "vizkit_points": lambda data: {"chosen": "2 4-5"},
    "vizkit_suspects": lambda data: {"decided": "2:label:keep"},
    "vizkit_strip": lambda data: {"name": data["tiles"][2]["name"]},
}
TRIGGERS = {
    "vizkit_tiles": lambda data: ("pick", data["pick"] - 1 if data["chosen"] == 0 else 0),
    "vizkit_flow": lambda data: ("block", [data["model"], 1]),
    "vizkit_race": lambda data: ("lit", data["lanes"][0]["name"]),
    "vizkit_withstands": lambda data: ("level", 5),
    "vizkit_scrubber": lambda data: ("step", data["values"][-1 if data["value"] == data["values"][0] else 0]),
    "vizkit_stage": lambda data: ("point", {"point": POINT, "field": ""}),
}
NOT_CLICKED = {
    "vizkit_copy_link",
    "vizkit_report_kept",  # nothing: it tells what the browser kept
    "vizkit_terms",  # pointing at a patch lists its terms, and nothing is sent
    "vizkit_evaluated",  # goes to another page
    "vizkit_lesson_memory",  # nothing: it tells what the browser kept
}


def chosen_frame(data):
    ids = [frame["id"] for panel in data["panels"] for frame in panel["frames"] if frame["id"] >= 0]
    return ids[-1] if ids else None


def next_words(data):
    if data["mode"] == "next":
        return {"words": [data["tops"][0][1][1][0]]}
    return {"places": [at for at in range(len(data["line"])) if at not in data["fixed"]][:2]}


def canvases(test):
    for component in test.main.get("bidi_component"):
        if component.proto.component_name not in NOT_CLICKED:
            yield component.proto, json.loads(component.proto.json)


def clicked(test, proto, data):
    """Whether there is something to click: then it has been."""
    name = proto.component_name
    assert name in {*CLICKS, *TRIGGERS}, f"Say in CLICKS or TRIGGERS of this test what a click on {name} sends."
    sent = CLICKS[name](data) if name in CLICKS else None
    states = test._tree.get_widget_states()
    if name in TRIGGERS and data.get("pick", True) and data.get("rows") != []:
        event, value = TRIGGERS[name](data)
        state = WidgetState(id=_make_trigger_id(proto.id, "events"))
        state.json_trigger_value = json.dumps([{"event": event, "value": value}])
    elif sent:
        state = WidgetState(id=proto.id, json_value=json.dumps(sent))
    else:
        return False
    states.widgets.append(state)
    test._run(states)
    return True
