"""Starts WsgiDAV under cheroot with a domain controller that tells readers from editors.

WsgiDAV's own simple domain controller knows who may enter a share (`user_mapping`), and hands each
user's roles on without looking at them. Here a user of the mapping who is no `editor` may only
read, and a known user who is not in the mapping of a share is told so (403) instead of being asked
for a password again (401).
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from cheroot import wsgi
from wsgidav.dav_error import HTTP_FORBIDDEN, DAVError
from wsgidav.dc.simple_dc import SimpleDomainController
from wsgidav.wsgidav_app import WsgiDAVApp

READING = {"GET", "HEAD", "OPTIONS", "PROPFIND"}


class RoleController(SimpleDomainController):
    """The simple domain controller, with its roles meant seriously."""

    def basic_auth_user(self, realm, user_name, password, environ):
        if not super().basic_auth_user(realm, user_name, password, environ):
            known = any(
                share.get(user_name, {}).get("password") == password
                for share in self.user_map.values()
                if share is not True  # WsgiDAV's own, with the style sheets of its pages
            )
            if known:
                raise DAVError(HTTP_FORBIDDEN, f"{user_name} has no access to the share {realm}.")
            return False
        method = environ["REQUEST_METHOD"]
        # A copy only reads its source: WsgiDAV lets source and target be in one share only, so
        # that the rights on the source are those on the target.
        if method not in READING and "editor" not in environ["wsgidav.auth.roles"]:
            raise DAVError(HTTP_FORBIDDEN, f"{user_name} may only read the share {realm}.")
        if method in {"DELETE", "MOVE"} and environ["PATH_INFO"] in {"", "/"}:
            raise DAVError(HTTP_FORBIDDEN, f"the share {realm} itself cannot be removed.")
        return True


class ShareApp(WsgiDAVApp):
    """WsgiDAV, finding shares whose names have capitals (its own look-up only knows small ones)."""

    def resolve_provider(self, path):
        for share in sorted(self.provider_map, key=len, reverse=True):
            if share == "/" or path == share or path.startswith(f"{share}/"):
                return share, self.provider_map[share]
        return None, None


def user_mapping(access):
    """WsgiDAV's own form of the access list: share -> user -> password and roles."""
    admin, people = access["admin"], access["people"]

    def entry(person, *roles):
        return {person["id"]: {"password": person["password"], "roles": list(roles)}}

    # `*` is for shares that are not listed; WsgiDAV would let anybody in there without it.
    mapping = {"*": entry(admin, "reader"), "/": {}}
    for person in [admin, *people]:
        mapping["/"] |= entry(person, "reader")
    for share, rights in access["shares"].items():
        mapping[f"/{share}"] = entry(admin, "reader", "editor")
        for role, named in (("reader", rights["readers"]), ("editor", rights["editors"])):
            for person in people:
                if {"everybody", person["id"], person["team"]} & set(named):
                    mapping[f"/{share}"] |= entry(person, role)
    return mapping


def main() -> None:
    """Serve until a signal says stop."""
    parser = argparse.ArgumentParser()
    for name in ("host", "port", "data", "config"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    access = json.loads(Path(options.config).read_text("utf-8"))
    data = Path(options.data)
    mapping, providers = user_mapping(access), {"/": {"root": str(data / "root"), "readonly": True}}
    for share in access["shares"]:
        # The root only shows which shares there are.
        (data / "root" / share).mkdir(parents=True, exist_ok=True)
        (data / "shares" / share).mkdir(parents=True, exist_ok=True)
        providers[f"/{share}"] = str(data / "shares" / share)
    app = ShareApp(
        {
            "provider_mapping": providers,
            "simple_dc": {"user_mapping": mapping},
            "http_authenticator": {
                "domain_controller": RoleController,
                "accept_basic": True,
                "accept_digest": False,
                "default_to_digest": False,
            },
            "dir_browser": {"enable": False},
            "lock_storage": None,  # a reset under the running server must not meet old locks
            "property_manager": None,
            "suppress_version_info": True,
            "verbose": 1,
            "logging": {"enable": True, "enable_loggers": []},
        }
    )
    server = wsgi.Server((options.host, int(options.port)), app, numthreads=8, timeout=30)
    server.keep_alive_conn_limit = 200  # many episodes at once each keep their connection
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.start()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
