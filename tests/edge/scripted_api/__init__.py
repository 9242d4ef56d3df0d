# SPDX-License-Identifier: Apache-2.0
"""A scripted Kubernetes API server for tests of the whole daemon.

It keeps Nodes, NodeClaims and NodePools in memory and answers list, watch,
get and patch over plain HTTP on a free port of 127.0.0.1, in the shapes a
real kube-apiserver 1.36 uses.  What a real one cannot be made to do on
demand, a test switches on as a fault:

    with ScriptedApi() as api:
        api.create("nodes", "a", labels={"karpenter.sh/nodepool": "p"})
        api.write_kubeconfig("kubeconfig")
        ...                                  # start the daemon
        fault = api.fault("nodes", "watch", "silent")
        api.wait(lambda: api.count(verb="watch", resource="nodes") > 1)
        api.clear(fault)

All methods may be called from any thread.  In tests/edge, `python3 -m
scripted_api` prints the port and serves until its standard input ends;
`--selftest` tests the server itself.
"""
from .server import ScriptedApi

__all__ = ["ScriptedApi"]
