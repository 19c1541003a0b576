"""Extra memory of a recording above the plain forward pass, at growing numbers of tokens (ViT-B/16)."""

import subprocess
import sys
from pathlib import Path

CASES = ((224, 197), (384, 577), (592, 1370), (1024, 4097))
KEEPS = ("rows", "mean", "each")
LIMIT_BYTES = 14 * 2**30  # what the full recording of the last case would need


def run() -> None:
    print(f"\n{'ViT-B/16 input':>15} {'tokens':>7} {'one row':>10} {'mean heads':>11} {'every head':>11}   extra MiB")
    for pixels, tokens in CASES:
        found = [extra(pixels, keep) if 12 * 12 * tokens**2 * 4 < LIMIT_BYTES else "–" for keep in KEEPS]
        print(f"{pixels:>13}² {tokens:>7} {found[0]:>10} {found[1]:>11} {found[2]:>11}", flush=True)


def extra(pixels: int, keep: str) -> str:
    """Each case in a process of its own, so that one's memory does not hide another's."""
    command = [sys.executable, "-m", "benchmarks.memory", str(pixels), keep]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def measure(pixels: int, keep: str) -> float:
    """MiB at the peak of a recorded pass above the peak of a plain one."""
    import timm
    import torch

    from vizkit.models.recording.forward import run as run_model
    from vizkit.models.recording.recorder import Keep, Recorder

    keeps = {"rows": Keep(rows=(0,)), "mean": Keep(heads="mean"), "each": Keep()}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = timm.create_model("vit_base_patch16_224", img_size=pixels, pretrained=False).eval().to(device)
    image = torch.randn(1, 3, pixels, pixels, device=device)
    with torch.no_grad():
        model(image)
        plain = peak(lambda: model(image))
        with Recorder(model, keeps[keep]) as recorder:
            recorded = peak(lambda: run_model(model, image, True))
        assert len(recorder.calls) == 12
    return (recorded - plain) / 2**20


def peak(work) -> int:
    """Highest memory in bytes while `work` runs; on the CPU the kernel's high-water mark, reset before."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        work()
        return torch.cuda.max_memory_allocated()
    Path("/proc/self/clear_refs").write_text("5")
    work()
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


if __name__ == "__main__":
    print(f"{measure(int(sys.argv[1]), sys.argv[2]):.0f}")
