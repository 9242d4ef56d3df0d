# SPDX-License-Identifier: Apache-2.0
"""The client of the API server."""
STREAM = "src/edge/kube/kube_stream.c"

FAULTS = [
    ("a stream that is behind pauses", "edge/test_kube", STREAM,
     "c->gather_ms > 0 && !kube_lane_ready(&s->lane);", "c->gather_ms > 0;"),
]
