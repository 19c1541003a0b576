"""What visitors of this server may do: as its owner has set it, else all where nobody but this machine can reach it."""

from typing import Any

import streamlit as st
from streamlit import config
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from vizkit.settings import settings

UPLOAD = "server.maxUploadSize"
NO_DELETING = "Deleting is off on this server; VIZKIT_ALLOW_DELETING=yes at its start allows it."
NO_JOBS = "Training and evaluating are off on this server; VIZKIT_ALLOW_JOBS=yes at its start allows them."


def deleting() -> bool:
    """Whether visitors delete runs."""
    setting = settings().allow_deleting
    return only_here() if setting is None else setting


def jobs() -> bool:
    """Whether visitors start and stop trainings and evaluations."""
    setting = settings().allow_jobs
    return only_here() if setting is None else setting


OWN_UPLOAD_MIB = 500  # the weights of a ViT-Base are 330


def upload_mib() -> int:
    """MiB of one upload, which the server enforces: what a variable or the command line says; else what config.toml
    says for all, and more where nobody but this machine can reach it."""
    said = config.get_where_defined(UPLOAD)
    if only_here() and "variable" not in said:
        config.set_option(UPLOAD, max(OWN_UPLOAD_MIB, st.get_option(UPLOAD)), said)
    return st.get_option(UPLOAD)


def only_here() -> bool:
    """Whether the server listens on this machine alone. No address means all of them, as Streamlit has it."""
    return st.get_option("server.address") in ("127.0.0.1", "localhost", "::1")


class OwnNames:
    """Answers whoever calls this server by a name in server.allowedHosts. Another page could make a name of its own
    mean this machine (DNS rebinding), and would then read and click what its visitor may. Streamlit asks for the names
    of its websocket alone."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        names = [value.decode("latin-1") for name, value in scope.get("headers", ()) if name == b"host"]
        if scope["type"] == "lifespan" or (len(names) == 1 and is_host_allowed(names[0])):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})  # before it is accepted, 403
        else:
            headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(OTHER_NAME)).encode())]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": OTHER_NAME.encode()})


OTHER_NAME = "This server is called by another name: its owner adds this one with --server.allowedHosts=NAME."
