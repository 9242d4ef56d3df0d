# SPDX-License-Identifier: Apache-2.0
"""The two kinds of patch that Kubernetes clients send."""
import copy


def merge_patch(target, patch):
    """Applies a patch of RFC 7396 and leaves the target as it is."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge_patch(out.get(key), value)
    return out


def json_patch(target, ops):
    """Applies test, add, remove and replace of RFC 6902 to objects, also to
    those in lists.  Raises LookupError or ValueError where one does not apply.
    """
    out = copy.deepcopy(target)
    for op in ops:
        keys = [k.replace("~1", "/").replace("~0", "~")
                for k in op["path"].split("/")[1:]]
        at = out
        for key in keys[:-1]:
            at = at[int(key) if isinstance(at, list) else key]
        if not isinstance(at, dict):
            raise LookupError(op["path"])
        last = keys[-1]
        if op["op"] == "test":
            if at.get(last) != op.get("value"):
                raise ValueError("test " + op["path"])
        elif op["op"] in ("remove", "replace") and last not in at:
            raise LookupError(op["path"])
        elif op["op"] == "remove":
            del at[last]
        elif op["op"] in ("add", "replace"):
            at[last] = copy.deepcopy(op["value"])
        else:
            raise ValueError(op["op"])
    return out
