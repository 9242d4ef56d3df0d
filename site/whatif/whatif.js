// SPDX-License-Identifier: Apache-2.0
// The page: what was chosen becomes flags of `holderctl simulate`, which runs in
// a worker, and what it prints is shown.  engine.js has WASM, WORKER and EXAMPLE.
"use strict";

const HOLDS = ["30s", "1m", "2m", "3m", "4m", "5m", "7m", "10m", "15m", "20m", "30m", "1h"];
const MAXES = ["15m", "30m", "1h", "2h", "4h", "8h", "24h"];
const SETTING = /^Recommended: (\w+) (\w+), max (\w+)\.$/m;
// The first line has the time that the log covers.  An input without makers is
// short of something else.
const LITTLE = /^[^(]*\(([^)]+)\),.*\nWhy: it would rest on/s;
const PAUSE_MS = 150; // after the last move of a slider

const $ = id => document.getElementById(id);
const bytes = base64 => Uint8Array.from(atob(base64), c => c.charCodeAt(0));
const module = WebAssembly.compile(bytes(WASM));
const source = URL.createObjectURL(new Blob([WORKER]));
// Under the site's other pages, what a visitor has chosen there.
const look = localStorage.getItem(new URL("..", location).pathname + ".__palette") ?? "";
let files = [], timer;
let latest = new AbortController(), advising = new AbortController();

if (look)
  document.documentElement.style.colorScheme = look.includes('"slate"') ? "dark" : "light";

// Runs the command in a worker of its own.  If it is aborted, it never returns.
async function simulate(args, files, told, signal) {
  const compiled = await module;

  if (signal?.aborted)
    return new Promise(() => {});
  const worker = new Worker(source);

  signal?.addEventListener("abort", () => worker.terminate());
  return new Promise((done, failed) => {
    worker.onmessage = ({data}) => {
      if ("read" in data)
        return told?.(data.read);
      worker.terminate();
      done(data);
    };
    worker.onerror = e => failed(e.message ?? "the worker does not start");
    worker.postMessage({module: compiled, args: ["simulate", ...args], files});
  });
}

// A name may stand once, and must not look like a flag.
function named(list) {
  const seen = new Map();

  return [...list].map(f => {
    const base = f.name.startsWith("-") ? "./" + f.name : f.name;
    const n = seen.get(base) ?? 0;

    seen.set(base, n + 1);
    return new File([f], n === 0 ? base : `${base} (${n + 1})`);
  });
}

const flag = (id, name, not) => $(id).value === not ? [] : [name, $(id).value];
const price = () => flag("price", "--price-per-node-hour", "");

function chosen() {
  const at = Number($("hold").value);
  const holds = HOLDS.slice(Math.max(0, at - 1), at + 2);
  const others = ["--max-hold-duration", MAXES[$("max").value],
                  "--scope", $("scope").value,
                  ...flag("grow", "--min-scale-up", "1")];

  return {
    hold: HOLDS[at], max: MAXES[$("max").value],
    flags: ["--hold-duration", holds.join(","), ...others, ...price()],
    // Asked for no regret at all, of this setting alone, the command says how much
    // it leaves, without drift and repair.
    judged: ["--hold-duration", HOLDS[at], ...others,
             "--recommend", "--max-regret", "0"],
    row: holds.indexOf(HOLDS[at]),
  };
}

// What --html writes has the picture, and what is printed without -o json.
function parts({file}) {
  const [, svg, text] = /(<svg.*<\/svg>).*<pre>(.*)<\/pre>/s.exec(file);

  return {svg, text: text.trim().replace(
      /&(lt|gt|amp);/g, (_, name) => ({lt: "<", gt: ">", amp: "&"})[name])};
}

// How many decisions were about drift or repair, and whether all were.  A
// recommendation rests on the others.
function drifts({karpenter: {decisions}, recommendation: r}) {
  const n = decisions - r.decisions - r.decisionsTooLate;

  return {n, only: n > 0 && n === decisions};
}

function show(said, judged, choice) {
  const {svg, text} = parts(said);
  const all = JSON.parse(judged.out);
  const of = JSON.parse(said.out).settings[choice.row];
  const {verdict, regretAlone, regretLeft} = all.recommendation;
  const drift = drifts(all);

  URL.revokeObjectURL($("picture").src);
  $("picture").src = URL.createObjectURL(new Blob([svg], {type: "image/svg+xml"}));
  $("table").textContent = text;
  $("headline").textContent = !of ? "" :
      `Karpenter decided ${all.karpenter.decisions} times`
      + (drift.only ? ", always about drift or repair: these come again whatever "
         + "the load does" : drift.n ? `, ${drift.n} of them about drift or repair`
         : "") + `. With a hold of `
      + `${choice.hold}, ${of.wouldHaveWaited.decisions} of these decisions would `
      + "have waited." + (verdict === "too-little" ? "" :
      ` After ${regretAlone} decisions about empty or underutilized nodes the same `
      + "NodePool grew again within 15 minutes: that is churn, of which waiting would "
      + `have spared ${regretAlone - regretLeft}.`);
  $("command").textContent = ["holderctl simulate", ...choice.flags,
      ...files.map(f => f.name.replace(/[^\w./-]/g, "\\$&"))].join(" ");
  $("config").textContent = `holdDuration: ${choice.hold}\n`
      + `maxHoldDuration: ${choice.max}\nscope: ${$("scope").value}\n`
      + flag("grow", "minScaleUp:", "1").join(" ");
  $("result").hidden = false;
}

// Of packed files more is read than their size.
function progress(n, size) {
  const [unit, name] = Math.max(n, size) < 1 << 20 ? [1 << 10, "KiB"]
                                                   : [1 << 20, "MiB"];

  return `Reading … ${Math.ceil(n / unit)} ${name}`
      + (n <= size ? ` of ${Math.ceil(size / unit)}` : "");
}

async function update() {
  const choice = chosen();
  const size = files.reduce((n, f) => n + f.size, 0);

  if (files.length === 0)
    return;
  latest.abort();
  latest = new AbortController();
  document.body.classList.add("busy");
  $("status").classList.remove("error");
  $("status").textContent = "Starting …";
  const run = (args, told) => simulate(
      [...args, "-o", "json", ...files.map(f => f.name)], files, told, latest.signal)
      .catch(e => ({died: String(e)}));
  const [said, judged] = await Promise.all([
    run([...choice.flags, "--html", "page"],
        n => { $("status").textContent = progress(n, size); }),
    run(choice.judged),
  ]);
  document.body.classList.remove("busy");
  said.died ??= judged.died;
  const failed = said.died !== undefined || said.code !== 0;

  if (failed)
    $("result").hidden = true;
  else
    show(said, judged, choice);
  $("status").classList.toggle("error", failed);
  $("status").textContent = said.died ?? (said.err.replace(/^holderctl: /gm, "").trim()
      || `Read ${files.map(f => f.name).join(", ")}.`);
}

// What the command recommends, of its own settings.
async function advise() {
  advising.abort();
  advising = new AbortController();
  for (const id of ["follow", "little", "drift", "first", "install"])
    $(id).hidden = true;
  $("advice").textContent = "";
  if (files.length === 0)
    return;
  $("advice").textContent = "Working out a recommendation …";
  const said = await simulate(
      ["--recommend", "-o", "json", "--html", "page", ...price(),
       ...files.map(f => f.name)], files, null, advising.signal)
      .catch(() => ({}));
  const all = said.file ? parts(said).text : "";
  const text = /^Recommended: .*?(?=\n\n|$(?![^]))/ms.exec(all)?.[0] ?? "";
  const covers = LITTLE.exec(all)?.[1];
  const only = text && drifts(JSON.parse(said.out)).only;

  $("advice").textContent = text;
  $("covers").textContent = covers;
  $("little").hidden = !covers;
  $("install").hidden = !!covers;
  $("drift").hidden = !only;
  $("first").hidden = !text || only;
  $("follow").hidden = !SETTING.test(text);
}

function follow() {
  const [, scope, hold, max] = SETTING.exec($("advice").textContent);

  $("scope").value = scope;
  $("hold").value = HOLDS.indexOf(hold);
  $("max").value = MAXES.indexOf(max);
  $("grow").value = 1; // all that is recommended counts each machine
  later();
}

function later() {
  for (const [id, values] of [["hold", HOLDS], ["max", MAXES]]) {
    $(id).max = values.length - 1;
    $(id).ariaValueText = values[$(id).value];
    $("form").querySelector(`output[for=${id}]`).value = values[$(id).value];
  }
  clearTimeout(timer);
  timer = setTimeout(update, PAUSE_MS);
}

// The field says which files these are, also if they were dropped.
function take(list) {
  $("files").files = list;
  files = named(list);
  document.body.classList.add("taken");
  $("answer").scrollIntoView();
  advise();
  update();
}

$("form").addEventListener("input", later);
$("price").addEventListener("change", advise);
$("follow").addEventListener("click", follow);
$("form").addEventListener("submit", e => e.preventDefault());
$("files").addEventListener("change", () => take($("files").files));
$("example").addEventListener("click", () => {
  const example = new DataTransfer();

  example.items.add(new File([bytes(EXAMPLE)], "example.record.gz"));
  take(example.files);
});
for (const name of ["dragover", "dragleave", "drop"])
  addEventListener(name, e => {
    e.preventDefault();
    $("drop").classList.toggle("over", name === "dragover");
    if (name === "drop" && e.dataTransfer.files.length > 0)
      take(e.dataTransfer.files);
  });
later();
