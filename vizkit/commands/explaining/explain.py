"""Where a decision came from, as a picture or as numbers.

Several methods become one sheet. In the .npz every map has its own name; `meta` is JSON. Of a folder: `explain_folder`.
"""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vizkit.analysis.attribution.methods import METHODS
from vizkit.commands.explaining.explain_folder import explain_folder
from vizkit.commands.explaining.maps import Layer, Methods, chosen, explained, said, write_numbers, write_picture
from vizkit.commands.options import AS_IT_IS, Edits, Model, Opening, class_of
from vizkit.commands.output import refuse_output, writing_to


def explain(
    image: str,
    /,
    *,
    model: Model,
    output: Annotated[list[Path], Parameter(name=("--output", "-o"))],
    method: Methods = None,
    layer: Layer = "",
    target: str | None = None,
    against: str | None = None,
    edit: Edits = None,
    opening: Opening = AS_IT_IS,
) -> None:
    """Where a decision came from: rollout, relevance, occlusion and others.

    vizkit explain photo.jpg --model bundled:insects_swin --method all -o maps.png -o maps.npz

    vizkit explain photos/ --model runs/mine --method rollout -o maps/

    Args:
        image: A picture file, or a folder of them.
        output: OUT.png for a picture, OUT.npz for the numbers, repeatable; of a folder of pictures a folder.
        target: Name or number of the class; the most probable one where it is left out.
        against: Explain the target's logit less that of this class.
    """
    names = [name.replace("-", "_") for name in method or ["rollout"]]
    if Path(image).is_dir():
        if edit:
            raise ValueError("--edit is for one picture, not for a folder.")
        explain_folder(Path(image), output, opening, model, names, layer, target, against)
        return
    for path in output:
        refuse_output(path, (".png", ".npz"))

    import vizkit
    from vizkit.image import seen_box
    from vizkit.interventions import Changes
    from vizkit.scoring import Question

    changes = Changes.parse(edit or [])
    loaded, picture = changes.given(opening.load(model), vizkit.open_image(image))
    goal, rival = class_of(loaded, target), class_of(loaded, against)
    question = Question.of(loaded, picture, goal, rival, layer, [str(each) for each in changes.model])
    print(f"{loaded.name} ({loaded.source}, licence {loaded.licence})")
    if changes:
        print(f"Changed: {', '.join(changes.texts)}.")
    for line in said(question, loaded):
        print(line)
    explanations, reasons = explained(question, chosen(names))
    for name, reason in reasons.items():
        print(f"{METHODS[name].title}: no map. {reason}")
    if not explanations:
        raise ValueError(f"No map can be drawn. {next(iter(reasons.values()))}")
    for explanation in explanations:
        print(f"{METHODS[explanation.method].title}: {METHODS[explanation.method].words()}")
        print("".join(f"  {note}\n" for note in explanation.notes), end="")
    box = seen_box((picture.shape[0], picture.shape[1]), loaded.preprocessing)
    for path in output:
        with writing_to(path):
            if path.suffix.lower() == ".npz":
                write_numbers(path, explanations, loaded, picture, box)
            else:
                write_picture(path, explanations, picture, box)
        print(path)
    print("Colours go from a map's lowest value to its highest; where it has signs, blue is against and red for it.")
