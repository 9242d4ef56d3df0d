// SPDX-License-Identifier: Apache-2.0
// What scrolls can be reached by the keyboard.  The theme has done its own work
// by then.
addEventListener("load", () => {
  for (const e of document.querySelectorAll("pre, .md-typeset__scrollwrap"))
    e.tabIndex = 0;
});
