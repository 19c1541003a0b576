"""What explaining costs: one row of rollout against the whole matrix, scoring against the bare passes, large inputs."""

import os
import statistics
import subprocess
import sys
import time

ROUNDS = 3
LAYERS, HEADS = 12, 12  # ViT-B
TOKENS, GRID = 1370, (37, 37)  # 518² in patches of 14 pixels, and a class token


def run() -> None:
    print(f"\nRollout of one token, {TOKENS:,} tokens, {LAYERS} layers of {HEADS} heads, after the forward pass")
    for kept in ("each", "mean"):
        rows, matrix = (float(measured("seconds", way, kept)) for way in ("row", "matrix"))
        extra_row, extra_matrix = (float(measured("memory", way, kept)) for way in ("row", "matrix"))
        heads = "every head" if kept == "each" else "their mean"
        print(
            f"{heads} recorded: {rows * 1e3:.0f} ms and {extra_row:.2f} MiB more, the matrix {matrix * 1e3:.0f} ms and "
            f"{extra_matrix:.1f} MiB: {matrix / rows:.1f} × faster, {extra_matrix / extra_row:.0f} × less memory",
            flush=True,
        )
    for kept in ("mean", "row"):
        peak = float(measured("large", kept))
        what = "rollout, mean of heads recorded" if kept == "mean" else "the class token's row of every layer"
        print(f"ViT-B/16 at 1,024² (4,097 tokens), {what}: {peak:.2f} GiB above the model", flush=True)
    seconds, bare = scoring()
    print(f"Deletion and insertion of one map, ViT-B/16 at 224²: {seconds / bare:.3f} × its bare passes ({bare:.1f} s)")


def measured(*what: str) -> str:
    """Each in a process of its own, so that one's memory does not hide another's."""
    command = [sys.executable, "-m", "benchmarks.relevance", *what]
    # Freed memory goes back at once, so that the peak is not hidden by what an earlier step left; costs time.
    how = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"} if what[0] != "seconds" else {}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | how)
    return done.stdout.strip()


def recorded(kept: str):
    """A trace as a forward pass leaves it, with random weights: only their number matters here."""
    import torch

    from vizkit.geometry import all_ids
    from vizkit.traces import Attention, Check, Tokens, Trace

    tokens = Tokens("patches", ("cls",), GRID, stride=14.0)
    ids, heads = all_ids(TOKENS), HEADS if kept == "each" else 1
    weights = [torch.rand(1, heads, TOKENS, TOKENS) for _ in range(LAYERS)]
    for each in weights:
        each /= each.sum(-1, keepdim=True)
    attention = tuple(Attention(f"blocks.{i}", w, tokens, tokens, ids, ids, heads=HEADS) for i, w in enumerate(weights))
    return Trace("ViT-B", (518, 518), torch.zeros(10), attention, (), Check(0.0, LAYERS, LAYERS, 0.0))


def whole_matrix(trace):
    """Rollout as it is usually written (Abnar & Zuidema 2020, eq. 1): Â of each layer, then their product."""
    import torch

    product = torch.eye(TOKENS)
    for layer in trace.attention:
        mixing = layer.weights[0].mean(0)
        mixing = 0.5 * mixing + 0.5 * torch.eye(TOKENS)
        product = mixing / mixing.sum(-1, keepdim=True) @ product
    return product[0, 1:].view(GRID)


def ways(way: str, kept: str):
    import torch

    from vizkit.analysis.attribution.rollout import rollout

    trace = recorded(kept)
    found, expected = rollout(trace), whole_matrix(trace)
    torch.testing.assert_close(found, expected / expected.sum(), rtol=1e-3, atol=1e-6)
    return (lambda: rollout(trace)) if way == "row" else (lambda: whole_matrix(trace))


def seconds_of(way: str, kept: str) -> float:
    work, found = ways(way, kept), []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return min(found)


def memory_of(way: str, kept: str) -> float:
    """MiB at the peak above what was there before; at least a quarter, as fine as the kernel counts."""
    from benchmarks.memory import peak

    work = ways(way, kept)
    before = peak(lambda: None)
    return max(0.25, (peak(work) - before) / 2**20)


def large(kept: str) -> float:
    """GiB at the peak of recording and rollout, above the loaded model at rest."""
    import timm
    import torch

    from benchmarks.memory import peak
    from vizkit.analysis.attention.attention_map import attention_map, layers
    from vizkit.analysis.attribution.rollout import rollout
    from vizkit.models.families import vit
    from vizkit.models.recording.recorder import Keep
    from vizkit.models.sources.loaded import described

    name = "vit_base_patch16_224"
    model = timm.create_model(name, img_size=1024, pretrained=False).eval().requires_grad_(False)
    loaded = described(name, model, (1024, 1024), "benchmark", trained=False)
    image = torch.randn(1, 3, 1024, 1024)
    with torch.no_grad():  # what torch itself takes at first use is not ours
        model(image)

    def explained() -> None:
        trace = vit.trace(loaded, image, keep=Keep(heads="mean") if kept == "mean" else Keep(rows=(0,)))
        rollout(trace) if kept == "mean" else [attention_map(layer, "cls") for layer in layers(trace)]

    before = peak(lambda: None)
    return (peak(explained) - before) / 2**30


def scoring() -> tuple[float, float]:
    """(seconds of both curves of one map, of the same number of passes in the same batches), medians."""
    import timm
    import torch

    from vizkit.analysis.attribution.subject import Subject
    from vizkit.analysis.trust.deletion import curves

    model = timm.create_model("vit_base_patch16_224", pretrained=False).eval().requires_grad_(False)
    image, heat, steps, batch = torch.randn(1, 3, 224, 224), torch.rand(14, 14), 14, 7
    subject, several = Subject(model, image, 0, batch=batch), image.repeat(batch, 1, 1, 1)

    def bare() -> None:
        with torch.no_grad():
            for _ in range(2 * steps // batch):
                model(several)

    found = []
    bare()
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        curves(subject, [heat], (14, 14), steps)
        middle = time.perf_counter()
        bare()
        found.append((middle - begin, time.perf_counter() - middle))
    ratio = statistics.median(ours / theirs for ours, theirs in found)
    theirs = statistics.median(theirs for _, theirs in found)
    return ratio * theirs, theirs


if __name__ == "__main__":
    kind, *how = sys.argv[1:]
    print({"seconds": seconds_of, "memory": memory_of, "large": large}[kind](*how))
