"""Where a decision came from, as a figure or as numbers.

Several methods become one sheet. In the .npz every map has its own name; `meta` is JSON. Of many images:
`explain_many`.
"""

from pathlib import Path
from typing import Annotated

from vizkit.analysis.attribution.methods import METHODS
from vizkit.commands.explaining.explain_many import USUAL, Many, explain_many, is_many
from vizkit.commands.explaining.maps import Layer, Methods, chosen, explained, said, write_numbers, write_picture
from vizkit.commands.options import AS_IT_IS, HERE, OUTPUT, Cluster, Edits, Model, Opening
from vizkit.commands.output import refuse_output, writing_to


def explain(
    image: str,
    /,
    *,
    model: Model,
    output: Annotated[list[str], OUTPUT],
    method: Methods = None,
    layer: Layer = "",
    target: str | None = None,
    against: str | None = None,
    edit: Edits = None,
    many: Many = USUAL,
    cluster: Cluster = HERE,
    opening: Opening = AS_IT_IS,
) -> None:
    """Where a decision came from: rollout, relevance, occlusion and others.

    vizkit explain photo.jpg --model bundled:insects_swin --method all -o maps.png -o maps.npz

    vizkit explain photos/ --model runs/mine --method rollout -o maps/

    vizkit explain 'shards/*.tar' --model runs/mine --on ray://HOST:10001 -o maps/

    Args:
        image: An image file; or many: a folder of images or of shards, .tar, .parquet, "hf:NAME", a set of vizkit's.
        output: OUT.png for a figure, OUT.npz for the numbers, repeatable; of many images a folder of Parquet,
            also at an address of fsspec as s3://BUCKET/maps.
        target: Name or number of the class, of many images also label; the most probable one where it is left out.
        against: Explain the target's logit less that of this class.
    """
    names = [name.replace("-", "_") for name in method or ["rollout"]]
    from vizkit.explanations.place import place_of

    places = [*map(place_of, output)]
    if is_many(image, places[0]):
        if edit:
            raise ValueError("--edit is for one image, not for many.")
        return explain_many(image, places, opening, model, names, layer, (target, against), many, cluster)
    files = [*map(Path, output)]
    for path in files:
        refuse_output(path, (".png", ".npz"))

    import vizkit
    from vizkit.image import seen_box
    from vizkit.interventions import Changes
    from vizkit.scoring import Question

    changes = Changes.parse(edit or [])
    loaded, picture = changes.given(opening.load(model), vizkit.open_image(image))
    question = Question.of(loaded, picture, target, against, layer, [str(each) for each in changes.model])
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
    for path in files:
        with writing_to(path):
            if path.suffix.lower() == ".npz":
                write_numbers(path, explanations, loaded, picture, box)
            else:
                write_picture(path, [(e.method, e.heat.numpy(), e.signed) for e in explanations], picture, box)
        print(path)
    print("Colours go from a map's lowest value to its highest; where it has signs, blue is against and red for it.")
