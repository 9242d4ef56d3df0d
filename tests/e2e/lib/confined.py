# SPDX-License-Identifier: Apache-2.0
"""Runs a program under a seccomp profile of an OCI runtime, in its own process:

    confined.py PROFILE PROGRAM [ARGUMENT]...

runc reads such a file in the same way (test_confined.py), but what it starts
has another process id, and lives on when a test kills runc.
"""
import ctypes
import json
import os
import sys

ALLOW, ERRNO, MASKED_EQ = 0x7fff0000, 0x00050000, 7     # seccomp.h


class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int),
                ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def install(profile):
    lib = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    lib.seccomp_init.restype = ctypes.c_void_p
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    context = ctypes.c_void_p(lib.seccomp_init(ALLOW))
    for rule in profile["syscalls"]:
        assert rule["action"] == "SCMP_ACT_ERRNO"
        compares = []
        for arg in rule.get("args", ()):
            assert arg["op"] == "SCMP_CMP_MASKED_EQ"
            compares.append(Compare(arg["index"], MASKED_EQ, arg["value"],
                                    arg["valueTwo"]))
        for name in rule["names"]:
            number = lib.seccomp_syscall_resolve_name(name.encode())
            if number == -1:    # unknown here; runc leaves it out, too
                continue
            rc = lib.seccomp_rule_add_array(
                context, ctypes.c_uint32(ERRNO | rule["errnoRet"]), number,
                len(compares), (Compare * len(compares))(*compares))
            assert rc == 0, (name, rc)
    rc = lib.seccomp_load(context)
    assert rc == 0, rc


if __name__ == "__main__":
    with open(sys.argv[1]) as profile:
        install(json.load(profile))
    os.execv(sys.argv[2], sys.argv[2:])
