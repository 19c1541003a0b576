"""No picture holds the server: what is slow to decode is counted before, or ended, and keeps nobody else waiting."""

import os
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.images.test_image import chunk, saved
from vizkit import decoding, isolated, isolated_decoding
from vizkit import image as reading
from vizkit.decoding import LIGHT_PIXELS, MAX_SCANS, jpeg_work, light
from vizkit.image import ImageError, open_image, read_picture
from vizkit.isolated import Worker
from vizkit.isolated_decoding import DECODERS, BusyError, decode_isolated


def gradient(width=96, height=64):
    return Image.linear_gradient("L").resize((width, height)).convert("RGB")


def scan_bomb(scans, size=(96, 64)):
    """A progressive JPEG whose last scan, a few dozen bytes, comes again and again."""
    data = saved(gradient(*size), "JPEG", progressive=True, quality=50)
    last = data[data.rfind(b"\xff\xda") : -2]
    return data[:-2] + last * scans + data[-2:]


def png_with(chunks):
    data = saved(gradient(), "PNG")
    return data[:33] + chunks + data[33:]


SLOW = {  # each takes 5 to 60 s where nothing ends it
    "gif of a million frames": lambda: (
        saved(gradient().convert("L"), "GIF")[:-1] + b",\0\0\0\0\1\0\1\0\0\2\2L\1\0" * 1_200_000 + b";"
    ),
    "png of a million chunks": lambda: png_with(chunk(b"teSt") * 1_000_000),
    "png of 15,000 profiles": lambda: png_with(chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(1_000_000))) * 15_000),
    "jpeg of 90 scans of 49 megapixels": lambda: scan_bomb(79, (7000, 7000)),
}


@pytest.fixture
def fresh_decoders():
    """No decoder that another test has used or left."""
    DECODERS.close()
    yield
    DECODERS.close()


def test_scan_bomb_is_refused_at_once_and_never_decoded(monkeypatch):
    bomb = scan_bomb(20_000, (2000, 1500))
    for name in ("decode", "decode_isolated"):
        monkeypatch.setattr(reading, name, lambda *_: pytest.fail("decoded"))
    start = time.process_time()
    with pytest.raises(ImageError, match=r"more than 100 scans.*save it again"):
        read_picture(bomb)
    assert time.process_time() - start < 1


def test_scans_are_counted_as_libjpeg_meets_them():
    assert jpeg_work(saved(gradient(), "JPEG")).scans == 1
    assert jpeg_work(saved(gradient(), "JPEG", progressive=True)).scans == 10
    assert jpeg_work(saved(gradient(), "JPEG", progressive=True, restart_marker_blocks=1)).scans == 10
    thumbnail = Image.Exif()
    thumbnail[305] = (b"\xff\xda\0\x02" * 200).decode("latin-1")
    assert jpeg_work(saved(gradient(), "JPEG", exif=thumbnail)).scans == 1
    film = np.random.default_rng(0).bytes(2**20).replace(b"\xff", b"\xff\xda")  # telephones append one
    work = jpeg_work(saved(gradient(), "JPEG") + film)
    assert (work.scans, work.pixels, work.frames) == (1, 96 * 64, {0xC0})
    assert jpeg_work(scan_bomb(MAX_SCANS - 10)).scans == MAX_SCANS


def test_filling_bytes_hide_no_scan():
    bomb = scan_bomb(200).replace(b"\xff\xda", b"junk\xff\xff\xff\xda")
    assert jpeg_work(bomb).scans > MAX_SCANS


def test_a_hundred_scans_of_a_small_picture_are_shown():
    assert read_picture(scan_bomb(MAX_SCANS - 10)).rgb.shape == (64, 96, 3)


@pytest.mark.rest
def test_markers_are_counted_without_walking_millions():
    data = b"\xff\xd8" + b"\xff\xe0\0\2" * 5_000_000
    start = time.process_time()
    assert jpeg_work(data).markers == 1000
    assert time.process_time() - start < 0.1
    with pytest.raises(ImageError):
        read_picture(data)


def test_what_is_decoded_here_is_little_work():
    assert light(saved(gradient(4000, 3000), "JPEG"))
    assert light(saved(gradient(), "PNG"))
    assert not light(saved(gradient(), "GIF"))
    assert not light(saved(gradient(2000, 2000), "PNG", compress_level=9))
    assert not light(png_with(chunk(b"IHDR", struct.pack(">IIBBBBB", 7000, 7000, 8, 2, 0, 0, 0))))
    assert not light(scan_bomb(80, (2000, 1500)))
    assert not light(
        saved(gradient(), "JPEG", exif=b"Exif\0\0" + bytes(65_000))[:2] + b"\xff\xe1\xff\xff" + bytes(2**19)
    )
    arithmetic = saved(gradient(), "JPEG").replace(b"\xff\xc0", b"\xff\xc9")
    assert not light(arithmetic)
    assert jpeg_work(scan_bomb(80, (2000, 1500))).pixels * 90 > LIGHT_PIXELS


@pytest.mark.product
@pytest.mark.parametrize("name", SLOW)
def test_slow_decoding_is_ended_in_a_sentence(name, monkeypatch):
    monkeypatch.setattr(isolated_decoding, "CPU_S", 0.5)
    with pytest.raises(ImageError, match=r"more than 0\.5 seconds; save a smaller copy"):
        read_picture(SLOW[name]())


@pytest.mark.rest
def test_slow_pictures_take_no_place_from_others(monkeypatch, fresh_decoders):
    """Five, one more than there are decoders; a photograph is read while the first of them are still at work."""
    monkeypatch.setattr(isolated_decoding, "CPU_S", 0.8)
    bomb, photograph, ended = SLOW["gif of a million frames"](), saved(gradient(800, 600), "JPEG"), []

    def read():
        with pytest.raises(ImageError, match=r"more than 0\.8 seconds"):
            read_picture(bomb)
        ended.append(True)

    threads = [threading.Thread(target=read) for _ in range(isolated_decoding.PLACES + 1)]
    for thread in threads:
        thread.start()
    assert read_picture(photograph).rgb.shape == (600, 800, 3)
    assert not ended
    for thread in threads:
        thread.join()
    assert len(ended) == len(threads)
    assert read_picture(saved(gradient(), "GIF")).rgb.shape == (64, 96, 3)


def test_no_place_for_long_is_said(monkeypatch):
    monkeypatch.setattr(isolated, "WAIT_S", 0.01)
    monkeypatch.setattr(DECODERS, "places", threading.BoundedSemaphore(1))
    with isolated.place(DECODERS.places, BusyError), pytest.raises(BusyError, match="try again"):
        read_picture(saved(gradient(), "GIF"))
    assert read_picture(saved(gradient(), "GIF")).rgb.shape == (64, 96, 3)


def test_decoder_that_never_answers_is_ended(monkeypatch, fresh_decoders):
    monkeypatch.setattr(isolated, "WALL_S", 0.2)
    DECODERS.warm_up()
    os.kill(DECODERS.idle[0].process.pid, signal.SIGSTOP)
    with pytest.raises(ImageError, match="seconds; save a smaller copy"):
        read_picture(saved(gradient(), "GIF"))
    assert not DECODERS.idle


def test_crash_of_a_decoder_is_a_refusal(monkeypatch, fresh_decoders):
    ask = Worker.ask

    def crash(self, *given, seconds):
        os.kill(self.process.pid, signal.SIGSEGV)
        return ask(self, *given, seconds=seconds)

    with monkeypatch.context() as patch:
        patch.setattr(Worker, "ask", crash)
        with pytest.raises(ImageError, match="damaged"):
            read_picture(saved(gradient(), "GIF"))
    assert read_picture(saved(gradient(), "GIF")).rgb.shape == (64, 96, 3)


def test_decoder_that_died_while_idle_is_replaced(fresh_decoders):
    DECODERS.warm_up()
    DECODERS.idle[0].process.kill()
    DECODERS.idle[0].process.wait()
    assert read_picture(saved(gradient(), "WEBP")).rgb.shape == (64, 96, 3)


def test_memory_of_a_decoder_is_limited(fresh_decoders):
    """What a decoder may not do, whatever asks for it: 2 GiB for the file that is announced."""
    DECODERS.warm_up()
    decoder = DECODERS.idle[0]
    limits = Path(f"/proc/{decoder.process.pid}/limits")
    if not limits.exists():
        pytest.skip("no limits are told on this system")
    decode_isolated(saved(gradient(), "GIF"), 64)  # the limits are set before the first answer
    assert f"Max data size             {2**30}" in limits.read_text()


def test_apart_gives_the_same_pixels_and_words():
    for kind in ("PNG", "GIF", "BMP", "TIFF", "WEBP"):
        data = saved(gradient(300, 200), kind)
        (here, note), (apart, words) = decoding.decode(data, 100), decode_isolated(data, 100)
        assert (here == apart).all()
        assert note == words
        assert not apart.flags.writeable


def test_after_a_fork_decoders_are_the_process_own(fresh_decoders):
    """The workers of a data loader are forks: two processes that ask one decoder would mix their pictures."""
    script = """
import io, os, sys
from PIL import Image
from vizkit.image import read_picture
from vizkit.isolated_decoding import DECODERS
file = io.BytesIO()
Image.new("RGB", (40, 30)).save(file, "GIF")
read_picture(file.getvalue())
first = DECODERS.idle[0].process.pid
if (child := os.fork()) == 0:
    assert not DECODERS.idle
    read_picture(file.getvalue())
    assert DECODERS.idle[0].process.pid != first
    DECODERS.close()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert read_picture(file.getvalue()).rgb.shape == (30, 40, 3)
assert DECODERS.idle[0].process.pid == first
"""
    command = [sys.executable, "-W", "error", "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert (run.returncode, run.stderr) == (0, "")


def test_files_of_a_data_set_go_through_the_same_door(tmp_path):
    (tmp_path / "bomb.jpg").write_bytes(scan_bomb(20_000))
    with pytest.raises(ImageError, match="more than 100 scans"):
        open_image(tmp_path / "bomb.jpg")
