# SPDX-License-Identifier: Apache-2.0
"""The faults that a test can switch on."""
import dataclasses

FAULTS = {
    "expired": "list: 410 for a `continue`; watch: an in-stream 410 ERROR",
    "429": "Too Many Requests; retry_after=SECONDS, an HTTP date, or a"
           " function that gives it",
    "500": "a page of HTML",
    "401": "Unauthorized",
    "403": "Forbidden",
    "hang": "never an answer on this connection",
    "hang-middle": "head and half of the body, then nothing more",
    "cut": "the connection ends in the middle of an item or a line",
    "short": "half of a body, which by its head is the whole of it",
    "lost-reply": "a write is done, its answer never comes",
    "late-reply": "a write is done, its answer comes seconds=N later",
    "delay": "seconds=N before the answer",
    "wait": "nothing is done before the fault is cleared",
    "split": "each byte is sent by itself, or each piece of size=N bytes",
    "silent": "a watch without a byte, though events happen",
    "behind": "a watch with bookmarks but without events, as of before",
    "withhold": "a list's first page comes, the second never does",
    "answer": "status=, headers= and body= (bytes, or a function of the"
              " request that gives them) of the test's own",
    "head": "headers={name: value} in the head; None: without this one",
    "edit": "the JSON of an answer or of a watch's line is what edit=F makes"
            " of it; bytes: as they are",
    "endless": "200, body= and then fill= again and again, seconds=N apart",
    "http/1.0": "no chunks, and the connection ends with the answer",
}


@dataclasses.dataclass(eq=False)
class Fault:
    """A fault that is switched on; see FAULTS. With `times` None it stays
    until it is cleared."""
    resource: str
    verb: str
    kind: str
    name: str = "*"
    times: int | None = None
    retry_after: object = 1
    seconds: float = 0.0
    size: int = 1
    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    body: object = b""
    fill: bytes = b" " * 65536
    edit: object = None
