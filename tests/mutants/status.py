# SPDX-License-Identifier: Apache-2.0
"""/status: what is asked for, and what is answered."""
QUERY = "src/wire/status/query.c"

FAULTS = [
    ("a type that is asked for last outweighs the others",
     "wire/test_status:query", QUERY,
     "if (how <= exact[i])", "if (how < exact[i])"),
]
