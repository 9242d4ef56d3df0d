# SPDX-License-Identifier: Apache-2.0
"""The resources that the server has, and their paths."""

# resource: group, version, kind
RESOURCES = {
    "nodes": ("", "v1", "Node"),
    "nodeclaims": ("karpenter.sh", "v1", "NodeClaim"),
    "nodepools": ("karpenter.sh", "v1", "NodePool"),
    "events": ("", "v1", "Event"),              # Karpenter's Events
    "our-events": ("events.k8s.io", "v1", "Event"),
    "leases": ("coordination.k8s.io", "v1", "Lease"),
    "tickets": ("coordination.k8s.io", "v1", "Lease"),
    # Kept in a store of their own.
    "all-leases": ("coordination.k8s.io", "v1", "Lease"),
    "pods": ("", "v1", "Pod"),
    "secrets": ("", "v1", "Secret"),
    "mutatingwebhookconfigurations": (
        "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"),
}
PATHS = {   # those that are not at GROUP/VERSION/RESOURCE
    "events": "/api/v1/namespaces/default/events",
    "our-events": "/apis/events.k8s.io/v1/namespaces/default/events",
    "leases": "/apis/coordination.k8s.io/v1/namespaces/holder/leases",
    "tickets": "/apis/coordination.k8s.io/v1/namespaces/tickets/leases",
    "all-leases": "/apis/coordination.k8s.io/v1/leases",
    "pods": "/api/v1/namespaces/holder/pods",
    "secrets": "/api/v1/namespaces/ns/secrets",
}
