# SPDX-License-Identifier: Apache-2.0
"""The shapes of answers: objects, lists, errors."""
import json

from .resources import RESOURCES

EXPIRED_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list"
    " result. You can start a new list without the continue parameter, or use"
    " the continue token in this response to retrieve the remainder of the"
    " results. Continuing with the provided token results in an inconsistent"
    " list - objects that were created, modified, or deleted between the time"
    " the first chunk was returned and now may show up in the list.")
REJECTED = "the server rejected our request due to an error in our request"
REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden",
    404: "NotFound", 405: "MethodNotAllowed", 406: "NotAcceptable",
    409: "Conflict", 410: "Expired", 415: "UnsupportedMediaType",
    422: "Invalid", 429: "TooManyRequests",
}


class ApiError(Exception):
    """An answer that is a metav1.Status."""

    def __init__(self, code, message, details=None, cont=None):
        super().__init__(message)
        self.code = code
        self.status = {
            "kind": "Status", "apiVersion": "v1",
            "metadata": {"continue": cont} if cont else {},
            "status": "Failure", "message": message,
            "reason": REASONS[code], "code": code,
        }
        if details is not None:
            self.status["details"] = details


def accept_form(header, is_list):
    """"full" or "partial", by the Accept header; None: the answer is a 406."""
    for clause in (header or "application/json").split(","):
        parts = [p.strip() for p in clause.split(";")]
        if parts[0] not in ("application/json", "*/*", "application/*"):
            continue
        wanted = dict(p.split("=", 1) for p in parts[1:] if "=" in p)
        form = wanted.get("as")
        if form is None:
            return "full"
        if form == "PartialObjectMetadata" + ("List" if is_list else ""):
            return "partial"
    return None


def shape(obj, form):
    if form == "full":
        return obj
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": obj["metadata"]}


def list_body(resource, items, meta, form):
    """A list in the key order of a real server: sorted for CRDs (so `items`
    precedes `metadata`), and as declared for the rest."""
    group, version, kind = RESOURCES[resource]
    api = f"{group}/{version}" if group else version
    if form == "partial":
        return {"kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1", "metadata": meta,
                "items": [shape(o, form) for o in items]}
    if group:
        return {"apiVersion": api, "items": items, "kind": kind + "List",
                "metadata": meta}
    bare = [{k: v for k, v in o.items() if k not in ("kind", "apiVersion")}
            for o in items]
    return {"kind": kind + "List", "apiVersion": api, "metadata": meta,
            "items": bare}


def to_json(value):
    return json.dumps(value, separators=(",", ":")).encode()
