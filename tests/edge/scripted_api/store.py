# SPDX-License-Identifier: Apache-2.0
"""What the server keeps: objects and their history."""
import bisect
import copy
import threading

from .resources import RESOURCES
from .shapes import ApiError


class Store:
    """Objects and their history, under one condition variable.  A stored
    object is replaced and never changed, so readers need no copy."""

    def __init__(self):
        self.changed = threading.Condition(threading.RLock())
        self.objects = {r: {} for r in RESOURCES}
        self.rv = 1
        self.compacted = 0
        self.history = []       # (rv, resource, type, object)
        self.news = 0           # how often something changed

    def tell(self):
        """Wakes whoever waits for a change."""
        with self.changed:
            self.news += 1
            self.changed.notify_all()

    def put(self, resource, event, obj):
        """Stores obj under the next resourceVersion."""
        with self.changed:
            self.rv += 1
            obj = copy.deepcopy(obj)
            meta = obj["metadata"]
            meta["resourceVersion"] = str(self.rv)
            for empty in ("annotations", "labels", "ownerReferences"):
                if not meta.get(empty, True):
                    del meta[empty]
            if event == "DELETED":
                self.objects[resource].pop(meta["name"], None)
            else:
                self.objects[resource][meta["name"]] = obj
            self.history.append((self.rv, resource, event, obj))
            self.tell()
            return obj

    def find(self, resource, name):
        """Returns the object or raises a 404."""
        with self.changed:
            obj = self.objects[resource].get(name)
        if obj is None:
            group, _, _ = RESOURCES[resource]
            full = resource + ("." + group if group else "")
            details = {"name": name, "kind": resource}
            if group:
                details["group"] = group
            raise ApiError(404, f'{full} "{name}" not found', details)
        return obj

    def after(self, resource, rv):
        """Returns the events of a resource after rv, oldest first."""
        with self.changed:
            if rv >= self.rv:
                return []
            first = bisect.bisect_right(self.history, rv, key=lambda h: h[0])
            return [h for h in self.history[first:] if h[1] == resource]


def selected(request, obj):
    """Does the fieldSelector of the request select this object?"""
    for clause in (request.query.get("fieldSelector") or "").split(","):
        if not clause:
            continue
        field, _, value = clause.replace("!=", "=!").partition("=")
        at = obj
        for part in field.split("."):
            at = at.get(part, {})
        if (at == value.lstrip("!")) == value.startswith("!"):
            return False
    return True
