"""The words of the lessons' answers once more, in plain torch: a ViT written out from its weights, and nothing of
vizkit's analyses. `words(of)` stand in the place of the vocabulary."""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from scipy.stats import spearmanr
from torch import Tensor

from vizkit.analysis.attribution.subject import filled
from vizkit.datasets import samples
from vizkit.models import pixels_of
from vizkit.views.subject import Subject

EPS = 1e-6


@dataclass
class Pass:
    """One image through the network. `weights`: of every layer (head, query, key); `stream`: the tokens before every
    block, and after the last; `entered`: what attention gets of them, `added`: what it adds; `value`: (head, key,
    channel), `score`: before softmax."""

    weights: list[Tensor] = field(default_factory=list)
    stream: list[Tensor] = field(default_factory=list)
    entered: list[Tensor] = field(default_factory=list)
    added: list[Tensor] = field(default_factory=list)
    value: list[Tensor] = field(default_factory=list)
    score: list[Tensor] = field(default_factory=list)
    out: Tensor = field(default_factory=lambda: torch.zeros(0))


class Plain:
    """A plain ViT of timm's weights: `own` is the embedding to which one without a head likens its own."""

    def __init__(self, model, own=None):
        self.w = {name: each.detach().float() for name, each in model.state_dict().items()}
        self.heads = model.blocks[0].attn.num_heads
        self.depth, self.special = len(model.blocks), model.num_prefix_tokens
        self.patch, self.own = model.patch_embed.patch_size[0], own

    def embed(self, pixels, positions=""):
        w = self.w
        x = F.conv2d(pixels, w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], stride=self.patch)
        self.grid = rows, columns = tuple(x.shape[-2:])
        x = x.flatten(2).transpose(1, 2)
        names = [name for name in ("cls_token", "dist_token") if name in w]
        x = torch.cat([*(w[name].expand(len(x), -1, -1) for name in names), x], 1)
        table = w["pos_embed"][0].clone()
        how, _, numbers = positions.partition("=")
        if how == "zero":
            table = torch.zeros_like(table)
        elif how == "scramble":
            order = torch.randperm(rows * columns, generator=torch.Generator().manual_seed(int(numbers)))
            table[self.special + order] = w["pos_embed"][0][self.special :]
        elif how == "shift":
            down, right = map(int, numbers.split(","))
            places = table[self.special :].view(rows, columns, -1)
            moved = torch.empty_like(places)
            for row in range(rows):
                for column in range(columns):
                    moved[(row + down) % rows, (column + right) % columns] = places[row, column]
            table[self.special :] = moved.flatten(0, 1)
        return x + table

    def run(self, pixels, edits="", weights=lambda each: each):
        """`weights` sees those of every layer, and gives what is used."""
        w, seen, parts = self.w, Pass(), [each.partition(":")[::2] for each in edits.split(";") if each]
        dead = [
            (int(a), int(b) if b else None)
            for k, t in parts
            if k == "heads"
            for a, _, b in [t.removesuffix("=0").partition(".")]
        ]
        positions = next((text for kind, text in parts if kind == "positions"), "")
        x = self.embed(pixels, positions)
        for at in range(self.depth):
            seen.stream.append(x)
            norm = self.norm(x, f"blocks.{at}.norm1")
            seen.entered.append(norm)
            qkv = F.linear(norm, w[f"blocks.{at}.attn.qkv.weight"], w[f"blocks.{at}.attn.qkv.bias"])
            q, k, v = qkv.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            score = q @ k.transpose(-1, -2)
            share = (score / math.sqrt(q.shape[-1])).softmax(-1)
            if ("uniform", "all") in parts:
                share = torch.full_like(share, 1 / share.shape[-1])
            share = weights(share)
            mixed = share @ v
            for layer, head in dead:
                if layer == at + 1:
                    mixed = mixed.clone()
                    mixed[:, slice(None) if head is None else head - 1] = 0
            added = F.linear(
                mixed.transpose(1, 2).flatten(2), w[f"blocks.{at}.attn.proj.weight"], w[f"blocks.{at}.attn.proj.bias"]
            )
            added = added * w.get(f"blocks.{at}.ls1.gamma", 1.0)
            seen.weights.append(share[0])
            seen.score.append(score[0])
            seen.value.append(v[0])
            seen.added.append(added)
            x = x + added
            y = F.gelu(
                F.linear(
                    self.norm(x, f"blocks.{at}.norm2"), w[f"blocks.{at}.mlp.fc1.weight"], w[f"blocks.{at}.mlp.fc1.bias"]
                )
            )
            y = F.linear(y, w[f"blocks.{at}.mlp.fc2.weight"], w[f"blocks.{at}.mlp.fc2.bias"])
            x = x + y * w.get(f"blocks.{at}.ls2.gamma", 1.0)
        seen.stream.append(x)
        seen.out = self.read(x)
        return seen

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.w[f"{name}.weight"], self.w[f"{name}.bias"], EPS)

    def read(self, x):
        """(image, output): logits, or the embedding."""
        cls = self.norm(x, "norm")[:, 0]
        if "head.weight" not in self.w:
            return cls
        return F.linear(cls, self.w["head.weight"], self.w["head.bias"])

    def answer(self, out):
        """Probabilities, or the likeness alone, (image, answer)."""
        return out.softmax(-1) if self.own is None else F.cosine_similarity(out, self.own[None])[:, None]

    def explained(self, out, target):
        """The logit; of a likeness the length along the embedding."""
        return out[:, target].sum() if self.own is None else (out @ self.own / self.own.norm()).sum()


def shuffled(model):
    """Each weight in another order, as seed 0 has it."""
    import copy

    other, generator = copy.deepcopy(model), torch.Generator().manual_seed(0)
    for module in other.modules():
        for weight in module.parameters(recurse=False):
            order = torch.randperm(weight.numel(), generator=generator)
            weight.data = weight.data.flatten()[order].view_as(weight)
    return Plain(other)


@dataclass
class Words:
    """Of a ViT and a picture."""

    of: Subject

    def __post_init__(self):
        loaded = self.of.open()
        self.model, self.classifies = loaded.model, loaded.classifies
        self.labels, self.image = list(loaded.labels), self.of.image
        self.passes: dict[Any, Pass] = {}

    def plain(self, model="", picture=""):
        rgb = samples.picture(picture) if picture else self.of.original
        pixels = pixels_of(self.of.open(), rgb)
        plain, own = Plain(self.model), None
        if not self.classifies:
            with torch.no_grad():
                own = plain.run(pixels).out[0]
        plain = shuffled(self.model) if model == "shuffled" else plain
        plain.own = own
        return plain, pixels

    def seen(self, edits="", model="", picture=""):
        key = edits, model, picture
        plain, pixels = self.plain(model, picture)
        with torch.no_grad():
            self.passes.setdefault(key, plain.run(pixels, edits))
        plain.embed(pixels)
        return plain, self.passes[key]

    # ---- counted -----------------------------------------------------------------------------------------------------
    def counted(self):
        plain, pixels = self.plain()
        plain.embed(pixels)
        rows, columns = plain.grid
        length, width = rows * columns + plain.special, plain.w["pos_embed"].shape[-1]

        def cost_at(side, patch, window=0):
            n = int(side / patch) ** 2 + plain.special
            return 12 * n * width**2 + 2 * n * n * width

        return {
            "image_side": lambda: pixels.shape[-2],
            "colours": lambda: pixels.shape[1],
            "rows": lambda layer=1: rows,
            "columns": lambda layer=1: columns,
            "patches": lambda layer=1: rows * columns,
            "patch_side": lambda layer=1: plain.patch,
            "tokens": lambda layer=1: length,
            "special_tokens": lambda: plain.special,
            "pairs": lambda layer=1: length**2,
            "width": lambda layer=1: width,
            "head_width": lambda layer=1: width // plain.heads,
            "cost_at": cost_at,
            "classifies": lambda: self.classifies,
            "quantity": lambda: "probability" if self.classifies else "likeness",
            "position_kind": lambda: "learned",
        }

    # ---- attention ---------------------------------------------------------------------------------------------------
    def token(self, plain, query):
        rows, columns = plain.grid
        if query == "cls":
            return 0
        if query == "dist":
            return 1
        row, column = (rows // 2, columns // 2) if query == "patch" else query
        return plain.special + row * columns + column

    def row(self, layer, head, query, edits="", model="", picture=""):
        plain, seen = self.seen(edits, model, picture)
        weights = seen.weights[-1 if layer == "last" else layer - 1]
        weights = weights.mean(0) if head == "mean" else weights[head - 1]
        return plain, weights[self.token(plain, query)]

    def attention(self, layer="last", head="mean", query="cls", edits="", **more):
        plain, row = self.row(layer, head, query, edits, **more)
        return row[plain.special :].view(plain.grid)

    def layered(self, layer, head, query):
        plain, seen = self.seen()
        return plain, seen, plain.depth - 1 if layer == "last" else layer - 1, self.token(plain, query)

    def scores(self, layer, head, query="cls"):
        plain, seen, at, token = self.layered(layer, head, query)
        d = seen.value[at].shape[-1]
        return (seen.score[at][head - 1, token, plain.special :] / math.sqrt(d)).view(plain.grid)

    def score(self, layer, head, query, key, scaled=True):
        plain, seen, at, token = self.layered(layer, head, query)
        found = float(seen.score[at][head - 1, token, self.token(plain, key)])
        return found / math.sqrt(seen.value[at].shape[-1]) if scaled else found

    def unscaled(self, layer, head, query="cls"):
        plain, seen, at, token = self.layered(layer, head, query)
        return seen.score[at][head - 1, token].softmax(-1)[plain.special :].view(plain.grid)

    def contributions(self, layer, head, query="cls"):
        plain, seen, at, token = self.layered(layer, head, query)
        out = plain.w[f"blocks.{at}.attn.proj.weight"]
        side = out.shape[1] // plain.heads
        moved = seen.value[at][head - 1] @ out[:, (head - 1) * side : head * side].T
        gamma = plain.w.get(f"blocks.{at}.ls1.gamma", torch.ones(len(out)))
        each = seen.weights[at][head - 1, token][:, None] * moved * gamma
        return each.norm(dim=-1)[plain.special :].view(plain.grid)

    def distance(self, layer, head="mean", **more):
        plain, seen = self.seen(**more)
        weights = seen.weights[-1 if layer == "last" else layer - 1][:, plain.special :, plain.special :]
        rows, columns = plain.grid
        place = torch.tensor([(row, column) for row in range(rows) for column in range(columns)], dtype=torch.float)
        far = ((place[:, None] - place[None]) ** 2).sum(-1).sqrt()
        means = ((weights * far).sum(-1) / weights.sum(-1)).mean(-1)
        return float(means.mean() if head == "mean" else means[head - 1])

    def evenness(self, layer, head):
        _, seen = self.seen()
        weights = seen.weights[layer - 1][head - 1]
        return float(-(weights * weights.clamp(min=1e-38).log()).sum(-1).mean() / math.log(weights.shape[-1]))

    def residual_share(self, layer, query="cls"):
        _, seen, at, token = self.layered(layer, 1, query)
        before, added = seen.stream[at][0, token].norm(), seen.added[at][0, token].norm()
        return float(added / (before + added))

    # ---- positions and features --------------------------------------------------------------------------------------
    def table(self):
        plain, _ = self.seen()
        return plain, plain.w["pos_embed"][0, plain.special :]

    def position_likeness(self, query="patch"):
        plain, table = self.table()
        return F.cosine_similarity(table, table[self.token(plain, query) - plain.special][None]).view(plain.grid)

    def position_cosine(self, steps):
        plain, table = self.table()
        rows, columns = plain.grid
        unit = F.normalize(table, dim=-1)
        place = torch.tensor([(row, column) for row in range(rows) for column in range(columns)], dtype=torch.float)
        far = ((place[:, None] - place[None]) ** 2).sum(-1).sqrt()
        return float((unit @ unit.T)[(far - steps).abs() < 0.5].mean())

    def likeness(self, block=0, query="patch"):
        plain, seen = self.seen()
        x = seen.stream[-1 if block == "last" else block][0]
        return F.cosine_similarity(x, x[self.token(plain, query)][None])[plain.special :].view(plain.grid)

    # ---- several images ----------------------------------------------------------------------------------------------
    def vectors(self, picture="", block="last"):
        plain, seen = self.seen(picture=picture)
        return seen.stream[-1 if block == "last" else block][0, plain.special :]

    def pictures(self):
        """The image, and two others of its kind."""
        others = [*samples.INSECTS] if self.image in samples.INSECTS else ["china", "astronaut", "cat"]
        return ["", *[name for name in others if name != self.image][:2]]

    def directions(self):
        """(how far every patch of the image lies along each of the three, (patch, 3), which share each explains)."""
        every = [self.vectors(name).double() for name in self.pictures()]
        x = torch.cat(every)
        mean = x.mean(0)
        values, found = torch.linalg.eigh((x - mean).T @ (x - mean))
        scores = (x - mean) @ found[:, [-1, -2, -3]]
        attended = [self.attention(picture=name).flatten().double() for name in self.pictures()]
        weights = torch.cat([each / each.mean() for each in attended])
        sign = torch.where((weights - weights.mean()) @ scores < 0, -1.0, 1.0)
        return (scores * sign)[: len(every[0])], values[[-1, -2, -3]] / values.sum()

    def main_direction(self, number=1):
        plain, _ = self.seen()
        return self.directions()[0][:, number - 1].float().view(plain.grid)

    def object_by(self, rule="TokenCut"):
        plain, _ = self.seen()
        if rule == "attention":
            heat, mask, held = self.attention().flatten().double(), torch.zeros(math.prod(plain.grid)), 0.0
            for place in heat.argsort(descending=True).tolist():
                if held < 0.6 * float(heat.sum()):
                    mask[place], held = 1.0, held + float(heat[place])
            return mask.view(plain.grid)
        unit = F.normalize(self.vectors().double(), dim=1)
        edges = torch.where(unit @ unit.T >= 0.4, 1.0, 1e-5).double()
        root = edges.sum(1).rsqrt()
        _, found = torch.linalg.eigh(torch.eye(len(edges)) - root[:, None] * edges * root)
        y = root * found[:, 1]
        side = y > y.mean()
        side = side if side[y.abs().argmax()] else ~side
        return side.float().view(plain.grid)

    def best_elsewhere(self):
        plain, _ = self.seen()
        own = self.vectors()[self.token(plain, "patch") - plain.special]
        return max(float(F.cosine_similarity(self.vectors(name), own[None]).max()) for name in self.pictures()[1:])

    def mirrored(self):
        plain, pixels = self.plain()
        with torch.no_grad():
            there = plain.run(pixels.flip(-1)).stream[-1][0, plain.special :]
        rows, columns = plain.grid
        found = (F.normalize(self.vectors(), dim=1) @ F.normalize(there, dim=1).T).argmax(1)
        right = 0
        for patch, other in enumerate(found.tolist()):
            down = (patch // columns - other // columns) / rows
            across = (columns - 1 - patch % columns - other % columns) / columns
            right += math.hypot(down, across) <= 0.1 + 1e-6
        return right / (rows * columns)

    # ---- the answer --------------------------------------------------------------------------------------------------
    def cls(self, name, picture=""):
        plain, seen = self.seen(picture=picture)
        order = plain.answer(seen.out)[0].argsort(descending=True).tolist()
        ranks = {"top": 0, "second": 1}
        return order[ranks[name]] if name in ranks else self.labels.index(name)

    def probability(self, cls="top", edits="", picture="", model=""):
        plain, seen = self.seen(edits, model, picture)
        return float(plain.answer(seen.out)[0, self.cls(cls, picture)])

    def head_loss(self, layer, head, picture=""):
        before, after = (
            self.probability(picture=picture),
            self.probability(edits=f"heads:{layer}.{head}=0", picture=picture),
        )
        return math.log(max(before, 1e-30)) - math.log(max(after, 1e-30))

    def probability_after(self, block):
        plain, seen = self.seen()
        return float(plain.answer(plain.read(seen.stream[block]))[0, self.cls("top")])

    # ---- explanations ------------------------------------------------------------------------------------------------
    def rollout(self, query="cls", depth="last", residual=0.5, model=""):
        plain, seen = self.seen(model=model)
        row = torch.eye(seen.weights[0].shape[-1])
        for weights in seen.weights:
            row = (residual * torch.eye(len(row)) + (1 - residual) * weights.mean(0)) @ row
        found = row[self.token(plain, query), plain.special :].view(plain.grid)
        return found / found.sum()

    def relevance(self, method="generic_relevance", cls="top", model=""):
        plain, pixels = self.plain(model)
        target = self.cls(cls) if self.classifies else 0
        if not self.classifies and cls == "second":
            other = "cat" if self.image == "rocket" else "rocket"
            with torch.no_grad():
                plain.own = plain.run(pixels_of(self.of.open(), samples.picture(other))).out[0]
        if method == "attention":
            _, row = self.row("last", "mean", "cls", model=model)
            return row[plain.special :].view(plain.grid)
        if method == "rollout":
            return self.rollout(model=model)
        kept = []

        def keep(each):
            kept.append(each)
            return each

        with torch.enable_grad():
            if method == "input_times_gradient":
                given = pixels.clone().requires_grad_()
                (slope,) = torch.autograd.grad(plain.explained(plain.run(given).out, target), given)
                return F.avg_pool2d((given * slope).detach().sum(1, keepdim=True), plain.patch)[0, 0] * plain.patch**2
            for each in plain.w.values():
                each.requires_grad_()
            seen = plain.run(pixels, weights=keep)
            goal = plain.explained(seen.out, target)
            if method == "grad_cam":
                x = seen.entered[-1]
                (slope,) = torch.autograd.grad(goal, x)
                places, slopes = x[0, plain.special :].detach(), slope[0, plain.special :]
                return (places @ slopes.mean(0)).clamp(min=0).view(plain.grid)
            slopes = torch.autograd.grad(goal, kept)
        row = torch.eye(kept[0].shape[-1])[0]
        for weights, slope in zip(reversed(kept), reversed(slopes), strict=True):
            row = row + row @ (weights * slope).detach().clamp(min=0).mean((0, 1))
        return row[plain.special :].view(plain.grid)

    def survives(self, method="generic_relevance"):
        one, other = self.relevance(method), self.relevance(method, model="shuffled")
        return float(spearmanr(one.flatten(), other.flatten())[0])

    def probability_without(self, map, share):
        """The first step of 1 / share, of equal cells the order of the library: there are none here."""
        plain, pixels = self.plain()
        plain.embed(pixels)
        count = map.numel()
        gone = torch.zeros(count, dtype=torch.bool)
        gone[map.flatten().argsort(descending=True)[: round(count * 1 / round(1 / share))]] = True
        mask = gone.view(1, 1, *map.shape).float().repeat_interleave(plain.patch, -1).repeat_interleave(plain.patch, -2)
        with torch.no_grad():
            out = plain.run(torch.where(mask > 0, filled(pixels, "blur"), pixels)).out
        return float(plain.answer(out)[0, self.cls("top")])

    def covered(self):
        plain, _ = self.seen()
        rows, columns = plain.grid
        if self.image in samples.INSECTS:
            fine = torch.from_numpy(samples.insect(self.image).insect).float()
        else:
            fine = torch.zeros(rows * 20, columns * 20)
            fine[rows * 5 : rows * 15, columns * 5 : columns * 15] = 1
        return fine.unflatten(0, (rows, -1)).unflatten(2, (columns, -1)).mean((1, 3))

    def on_subject(self, map):
        map = map.clamp(min=0)
        return float((map * self.covered()).sum() / map.sum())


PLAIN = {
    "total": lambda map: float(map.sum()),
    "peak": lambda map: float(map.max()),
    "at": lambda map, place: float(map[place[0], place[1]]),
    "largest": lambda map: divmod(int(map.argmax()), map.shape[1]),
    "apart": lambda one, two: math.hypot(one[0] - two[0], one[1] - two[1]),
    "overlap": lambda one, other: float(torch.minimum(one / one.sum(), other / other.sum()).sum()),
    "correlation": lambda one, other: float(spearmanr(one.flatten(), other.flatten())[0]),
    "above": lambda map, value=0: (map > value).float(),
    "exp": math.exp,
    "sqrt": math.sqrt,
    "log": lambda x: math.log(max(x, 1e-30)),
}


def holding(map, share=0.5):
    kept, total = 0.0, float(map.clamp(min=0).sum())
    for count, value in enumerate(sorted(map.clamp(min=0).flatten().tolist(), reverse=True), 1):
        kept += value
        if kept >= share * total * (1 - 1e-7):
            return count
    return map.numel()


def words(of):
    """By the names of the vocabulary; each is given a subject first, which it does not use."""
    own = Words(of)
    asks = ("attention", "scores", "score", "unscaled", "contributions", "distance", "evenness", "residual_share")
    asks += (
        "position_likeness",
        "position_cosine",
        "likeness",
        "probability",
        "head_loss",
        "probability_after",
        "rollout",
    )
    asks += ("relevance", "survives", "probability_without", "on_subject")
    asks += ("main_direction", "object_by", "best_elsewhere", "mirrored")
    every = PLAIN | {"holding": holding} | own.counted() | {name: getattr(own, name) for name in asks}
    every["explained"] = lambda number=1: float(own.directions()[1][number - 1])
    every["subject_share"] = lambda: float(own.covered().mean())

    def asked(word):
        return lambda _, *given, **named: word(*given, **named)

    return {name: asked(word) for name, word in every.items()}
