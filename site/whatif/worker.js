// SPDX-License-Identifier: Apache-2.0
// Runs `holderctl simulate` on files, beside the page.  What it is asked:
// {module, args, files}.  What it answers: {read} from time to time, and at the
// end {code, out, err, file}, or {died}.
"use strict";

const PIECE = 4 << 20;
const CUT = -5, DAMAGED = -3; // as zlib says it
const MEMBERS_MAX = 64; // of one file that are looked for
const BADF = 8, REGULAR = 4;

// One member of a gzip file, or as much of it as can be read.
async function inflate(blob) {
  const stream = new DecompressionStream("gzip");
  const writer = stream.writable.getWriter();
  const reader = stream.readable.getReader();
  const parts = [];
  let chunks = [], size = 0, code = 0;

  const pack = () => {
    parts.push(new Blob(chunks));
    chunks = [];
    size = 0;
  };
  const reads = (async () => {
    for (let got; !(got = await reader.read()).done;) {
      chunks.push(got.value);
      size += got.value.length;
      if (size > PIECE)
        pack();
    }
  })().catch(() => {});
  try {
    for (let at = 0; at < blob.size; at += 65536)
      await writer.write(await blob.slice(at, at + 65536).arrayBuffer());
    code = CUT;
    // What was unpacked is read before the end is said to have come too early.
    await new Promise(done => setTimeout(done));
    await writer.close();
    code = 0;
  } catch {
    code ||= DAMAGED;
  }
  await reads;
  pack();
  return {parts, code};
}

// Where another member of a gzip file may begin: `cat a.gz b.gz` has two.
async function beginnings(blob) {
  const found = [];

  for (let at = 1; at < blob.size; at += PIECE) {
    const bytes = new Uint8Array(
        await blob.slice(at, at + PIECE + 3).arrayBuffer());
    for (let i = 0; (i = bytes.indexOf(0x1f, i)) >= 0 && i < PIECE; i++)
      if (bytes[i + 1] === 0x8b && bytes[i + 2] === 8 && bytes[i + 3] < 32)
        found.push(at + i);
  }
  return found.slice(0, MEMBERS_MAX);
}

// The browser unpacks one member at a time, and refuses what stands behind it.
async function unpack(blob) {
  const parts = [];
  let from = 0, code = 0;

  for (const to of [...await beginnings(blob), blob.size]) {
    const got = await inflate(blob.slice(from, to));
    if (got.code !== 0 && to < blob.size)
      continue; // it only looks like a beginning
    parts.push(...got.parts);
    from = to;
    code = got.code;
  }
  return {blob: new Blob(parts), code};
}

async function prepare(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const packed = head[0] === 0x1f && head[1] === 0x8b;

  return {name: file.name, ...packed ? await unpack(file) : {blob: file, code: 0},
          at: 0, piece: new Uint8Array(), from: 0};
}

class Exit {
  constructor(code) { this.code = code; }
}

// What the program may ask for: WASI's calls that libc makes of it, and files.
function imports(args, files, told) {
  const reads = new FileReaderSync();
  const argv = args.map(a => new TextEncoder().encode(a + "\0"));
  const written = {1: [], 2: [], 3: []};
  let memory, total = 0;

  const bytes = (at, n) => new Uint8Array(memory.buffer, at, n);
  const view = () => new DataView(memory.buffer);
  const text = fd => new Blob(written[fd]).text();
  const wasi = {
    args_sizes_get(count, size) {
      view().setUint32(count, argv.length, true);
      view().setUint32(size, argv.reduce((n, a) => n + a.length, 0), true);
      return 0;
    },
    args_get(at, to) {
      for (const a of argv) {
        view().setUint32(at, to, true);
        bytes(to, a.length).set(a);
        at += 4;
        to += a.length;
      }
      return 0;
    },
    environ_sizes_get(count, size) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    clock_time_get(id, precision, at) {
      view().setBigUint64(at, BigInt(Date.now()) * 1000000n, true);
      return 0;
    },
    fd_fdstat_get(fd, at) {
      if (!written[fd])
        return BADF;
      bytes(at, 24).fill(0);
      bytes(at, 1)[0] = REGULAR;
      bytes(at + 8, 8).fill(255); // all rights
      return 0;
    },
    fd_write(fd, at, n, done) {
      let sum = 0;

      if (!written[fd])
        return BADF;
      for (; n > 0; n--, at += 8) {
        const size = view().getUint32(at + 4, true);
        written[fd].push(bytes(view().getUint32(at, true), size).slice());
        sum += size;
      }
      view().setUint32(done, sum, true);
      return 0;
    },
    fd_close: () => 0,
    fd_sync: () => 0,
    proc_exit(code) { throw new Exit(code); },
  };
  const page = {
    open(at, n) {
      const name = new TextDecoder().decode(bytes(at, n));
      return files.findIndex(f => f.name === name);
    },
    read(number, to, n) {
      const f = files[number];

      if (f.from === f.piece.length && f.at < f.blob.size) {
        f.piece = new Uint8Array(
            reads.readAsArrayBuffer(f.blob.slice(f.at, f.at + PIECE)));
        f.at += f.piece.length;
        f.from = 0;
        told(total += f.piece.length);
      }
      n = Math.min(n, f.piece.length - f.from);
      bytes(to, n).set(f.piece.subarray(f.from, f.from + n));
      f.from += n;
      return n > 0 ? n : f.code;
    },
  };
  // Anything else is not there: no folder, no environment, no other system.
  const none = {get: (calls, name) => calls[name] ?? (() => BADF)};

  // What absent.txt names ends the program.
  const absent = {get: (_, name) => () => { throw Error(name + ": not here"); }};

  return {
    text,
    use: instance => { memory = instance.exports.memory; },
    calls: {wasi_snapshot_preview1: new Proxy(wasi, none), page,
            env: new Proxy({}, absent)},
  };
}

async function run({module, args, files}) {
  const read = [];
  let code;

  for (const f of files)
    read.push(await prepare(f));
  const io = imports(args, read, n => postMessage({read: n}));
  const instance = await WebAssembly.instantiate(module, io.calls);
  io.use(instance);
  try {
    instance.exports._start();
    code = 0;
  } catch (e) {
    if (!(e instanceof Exit))
      throw e;
    code = e.code;
  }
  return {code, out: await io.text(1), err: await io.text(2),
          file: await io.text(3)};
}

onmessage = event => run(event.data).then(
    said => postMessage(said), e => postMessage({died: String(e)}));
