"""Names of weights as training programs write them: which of several networks is meant, and what timm calls them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from torch import Tensor

from vizkit.models.sources.hub import ModelError, PartError

# Of DistributedDataParallel, torch.compile, Lightning and people's own wrappers.
PREFIXES = re.compile(r"^(module\.|model\.|_orig_mod\.|net\.|network\.|backbone\.|student\.|teacher\.)+")
# What stands beside the model in a training file: projections of DINO and iBOT, decoders of MAE, counts of averaging.
BESIDE = re.compile(r"^(head\.(mlp|last_layer)|dino_head|ibot_head|decoder_|decoder\.|n_averaged$|criterion\.|loss\.)")
SELF_DISTILLED = re.compile(r"(head\.(mlp|last_layer)|dino_head|ibot_head)\.")
CHUNK = re.compile(r"^blocks\.\d+\.(\d+)\.")  # DINOv2 trains its blocks in chunks, and numbers them through

NESTS = ("state_dict_ema", "model_ema", "ema_state_dict", "ema", "teacher", "state_dict", "model", "model_state_dict")
NESTS += ("module", "net", "student")
AVERAGED = re.compile(r"(^|[._])ema($|[._])")
ADAPTERS = re.compile(
    r"[.](lora_|base_layer[.]|modules_to_save[.]|original_module[.]|ia3_|hada_w|lokr_w|oft_|boft_|vera_lambda|adapters?[._])"
    r"|(^|[._])lora([._]|$)|(^|[.])adapt(er|mlp)|linear_[ab]_[qv]"
)
FEWEST_WEIGHTS = 4  # with two axes or more; a stem of several branches has no more, the smallest network has
MOST_NAMED = 6

MONAI = "patch_embedding.position_embeddings"  # which tells its files from others
FROM_MONAI = {
    "patch_embedding.patch_embeddings.": "patch_embed.proj.",
    "patch_embedding.position_embeddings": "pos_embed",
    "classification_head.0.": "head.",
    "classification_head.": "head.",
    ".attn.out_proj.": ".attn.proj.",
    ".mlp.linear1.": ".mlp.fc1.",
    ".mlp.linear2.": ".mlp.fc2.",
}


def is_adapter(names: Iterable[str]) -> bool:
    """Whether weights are, or hold, what fine-tuning adds to a base: of the peft library, loralib and their like."""
    return any(ADAPTERS.search(name) for name in names)


def refuse_adapters(title: str, names: Iterable[str]) -> None:
    if is_adapter(names):
        raise ModelError(f"{title} holds an adapter that is not merged into its weights: merge and save it first.")


def network_of(
    title: str, state: Mapping[str, Tensor], part: str | None, nests: Sequence[str] = ()
) -> tuple[dict[str, Tensor], str]:
    """The weights of one network of a file, and which it is, "" where there is one alone.

    `part`: the one that is asked for, by its prefix; otherwise a moving average, as timm evaluates it, and of the two
    of a self-distillation the teacher, as DINO does. `nests`: prefixes that the file itself keeps apart. Raises
    PartError where nobody can know it.
    """
    prefixes = list(nests) or _networks("", {n: w for n, w in state.items() if not BESIDE.match(_unwrapped(n))})
    if part is not None:
        chosen = [prefix for prefix in prefixes if f".{part}." in f".{prefix}."] or [part]
        if part and not _inside(state, part):
            if not any(prefixes):
                raise ModelError(f"{title} holds no network {part[:40]!r}: leave the part out.")
            raise PartError(f"{title} holds no network {part[:40]!r}, but {_listed(prefixes)}", prefixes)
    else:
        chosen = prefixes
    chosen = [prefix for prefix in chosen if AVERAGED.search(prefix)] or chosen
    teachers = [prefix for prefix in chosen if "teacher" in prefix]
    students = [prefix for prefix in chosen if "student" in prefix]
    if len(chosen) == 2 and len(teachers) == len(students) == 1:
        shapes = [{name: value.shape for name, value in renamed(_inside(state, each)).items()} for each in chosen]
        alike = shapes[0] == shapes[1]
        if alike and (nests or any(SELF_DISTILLED.search(name) for name in state)):
            chosen = teachers
        elif not alike:
            raise PartError(f"{title} holds several networks, {_listed(chosen)}", chosen, usual=students[0])
    if len(chosen) > 1:
        raise PartError(f"{title} holds several networks, {_listed(chosen)}", chosen)
    others = [prefix for prefix in prefixes if prefix != chosen[0]]
    return _inside(state, chosen[0], others), said_of(chosen[0], bool(others))


def said_of(prefix: str, among_others: bool = False) -> str:
    """What to call a network of a file by its prefix; "" where there is nothing to say."""
    if AVERAGED.search(prefix):
        return "moving average"
    return (prefix or "without a prefix") if among_others else "teacher" * (prefix == "teacher")


def _listed(prefixes: Sequence[str]) -> str:
    names = [repr(prefix[:40]) for prefix in prefixes[:MOST_NAMED]]
    return ", ".join(names) + (" …" if len(prefixes) > MOST_NAMED else "")


def _networks(prefix: str, state: Mapping[str, Tensor]) -> list[str]:
    """The prefixes of all that takes pictures by itself: where the names of two first layers part, if what lies on
    either side is more than a branch of a stem."""
    below: dict[str, list[str]] = defaultdict(list)
    for name in state:  # all begin with the prefix
        below[name.removeprefix(f"{prefix}." if prefix else "").partition(".")[0]].append(name)
    sizable = [first for first, names in below.items() if not first.isdigit() and _is_network(state, names)]
    copies = [first for first in sizable if _is_copy(below, first, prefix)]
    taking = {first: any(_takes_pictures(state[name]) for name in names) for first, names in below.items()}
    rivals = copies or [f for f in sizable if taking[f] or (f in NESTS and not any(taking.values()))]
    if not rivals:
        return [prefix]
    rest = [name for first, names in below.items() if first not in rivals for name in names]
    found = [
        network
        for first in rivals
        for network in _networks(f"{prefix}.{first}" if prefix else first, {n: state[n] for n in below[first]})
    ]
    if copies or (any(_takes_pictures(state[name]) for name in rest) and _is_network(state, rest)):
        return [prefix, *found]
    return found if len(found) > 1 else [prefix]


def _is_copy(below: Mapping[str, Sequence[str]], first: str, prefix: str) -> bool:
    """Whether what is called `first`.… is there without that name too, as a moving average lies beside its model."""
    start = f"{prefix}.{first}." if prefix else f"{first}."
    beside = {name.removeprefix(f"{prefix}.") for other, names in below.items() if other != first for name in names}
    inside = {_unwrapped(name.removeprefix(start)) for name in below[first]}
    return 2 * len(inside & beside) > len(inside)


def _is_network(state: Mapping[str, Tensor], names: Sequence[str]) -> bool:
    return sum(state[name].dim() > 1 for name in names) > FEWEST_WEIGHTS


def _takes_pictures(weight: Tensor) -> bool:
    """Whether a weight may be a first convolution: of three channels, or with patches of an even side, which no
    convolution of each channel by itself has."""
    return weight.dim() > 3 and (weight.shape[1] == 3 or (weight.shape[1] < 5 and not weight.shape[-1] % 2))


def _inside(state: Mapping[str, Tensor], prefix: str, others: Sequence[str] = ()) -> dict[str, Tensor]:
    """What lies below a prefix, at whatever depth where no name begins with it, and not below longer ones of others."""
    longer = tuple(f"{other}." for other in others if not prefix or other.startswith(f"{prefix}."))
    inside = {f".{name}": value for name, value in state.items() if not name.startswith(longer)}
    start = f".{prefix}." if prefix else "."
    if any(name.startswith(start) for name in inside):
        return {name.removeprefix(start): value for name, value in inside.items() if name.startswith(start)}
    return {name.partition(start)[2]: value for name, value in inside.items() if start in name}


def _unwrapped(name: str) -> str:
    inner = PREFIXES.sub("", name)
    return name if inner[:1].isdigit() else inner  # then it was no wrapper, but a network's list of layers


def renamed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights without the prefixes of their wrappers, and without what only the training needed. Raises ModelError
    where two would have one name."""
    weights, wrapped = dict[str, Tensor](), dict[str, str]()
    for name, value in state.items():
        new = _unwrapped(name)
        if BESIDE.match(new):
            continue
        if new in weights:
            raise PartError(
                f"The file holds {new[:60]} twice, as {wrapped[new][:60]} and {name[:60]}",
                sorted({each.removesuffix(new).removesuffix(".") for each in (wrapped[new], name)}),
            )
        weights[new], wrapped[new] = value, name
    while len(first := {name.partition(".")[0] for name in weights}) == 1 and all("." in name for name in weights):
        weights = {name.removeprefix(f"{next(iter(first))}."): value for name, value in weights.items()}
    blocks = [name for name in weights if name.startswith("blocks.")]
    numbers = {match.group() for name in blocks if (match := CHUNK.match(name))}
    through = len({number.split(".")[2] for number in numbers}) == len(numbers)
    if through and all(CHUNK.match(name) for name in blocks):
        weights = {CHUNK.sub(r"blocks.\1.", name): value for name, value in weights.items()}
    return weights


def from_monai(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """MONAI's ViT (`monai.networks.nets.ViT`) in timm's names. Its cross attention is there but never runs."""
    found = {}
    for name, value in weights.items():
        if "cross_attn" in name:
            continue
        for theirs, ours in FROM_MONAI.items():
            name = name.replace(theirs, ours)
        found[name] = value
    return found
