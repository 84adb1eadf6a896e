"""localstripe on one loopback port, with its state in a file of the service's own.

The stock command binds every interface, keeps one pickle in the temporary folder of the machine,
and takes any key. Here a state file that was replaced is read again before the next request, and
keys are restricted as the real service's restricted keys are.

Usage: serve.py HOST PORT STATE KEYS
    KEYS is a JSON file: {"sk_...": "full" | "refund" | "read"}
"""

import base64
import json
import os
import pickle
import re
import sys
from pathlib import Path

from aiohttp import web
from localstripe import resources, server

host, port, path, keys_file = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
with open(keys_file, encoding="utf-8") as file:
    KEYS = json.load(file)
#: What each kind of key may do beside reading.
WRITES = {"full": re.compile(r".*"), "refund": re.compile(r"/v1/refunds$"), "read": None}
seen = None


def signature():
    """What tells one version of the state file from another; None when there is none."""
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def dump(store):
    """Write the state; a reader never sees a part of it."""
    global seen
    with open(path + ".part", "wb") as file:
        pickle.dump(dict(store), file, protocol=pickle.HIGHEST_PROTOCOL)
    os.replace(path + ".part", path)
    seen = signature()


def load(store):
    """Take the state from the file, when there is one."""
    global seen
    seen = signature()
    dict.clear(store)
    if seen is not None:
        with open(path, "rb") as file:
            dict.update(store, pickle.load(file))  # noqa: S301 - our own file


# Once after each writing request is enough (the middleware does it), not at every assignment.
resources.Store.__setitem__ = dict.__setitem__
resources.Store.__delitem__ = dict.__delitem__
resources.Store.dump_to_disk = dump
resources.Store.try_load_from_disk = load


def key_of(request):
    """The key of a request: user name of basic authentication, or a bearer token."""
    kind, _, value = request.headers.get("Authorization", "").partition(" ")
    if kind == "Basic":
        return base64.b64decode(value).decode().partition(":")[0]
    return value


def refusal(status, message):
    """An error in the service's own form."""
    error = {"error": {"type": "invalid_request_error", "message": message}}
    return web.json_response(error, status=status)


@web.middleware
async def gate(request, handler):
    """Fresh state first, then the rights of the key."""
    if signature() != seen:
        load(server.store)
    if request.path == "/health":
        return web.json_response({"ok": True})
    if request.path.startswith("/_config/"):  # flushes everything, without any key
        return refusal(404, "not available here")
    rights = KEYS.get(key_of(request))
    if rights is None:
        return refusal(401, "No such API key.")
    allowed = WRITES[rights]
    reading = request.method == "GET"
    if not reading and (allowed is None or not allowed.match(request.path)):
        return refusal(403, "The provided key does not have the permissions for this request.")
    return await handler(request)


load(server.store)
server.app.middlewares.insert(0, gate)
web.run_app(server.app, host=host, port=port, print=None, access_log=None)
