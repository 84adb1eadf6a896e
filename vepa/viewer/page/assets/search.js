// Full-text search: every chunk is read once, in slices, and its words are kept.

const SLICE_MS = 10;
const REPORT_MS = 150;
const CHUNKS_AHEAD = 3;
const search = { terms: [], words: [], reading: new Map(), run: 0 };

function termsOf(query) {
  const found = [];
  for (const match of query.toLowerCase().matchAll(/"([^"]*)"?|[^\s"]+/g)) {
    const term = (match[1] === undefined ? match[0] : match[1]).trim();
    if (term) found.push(term);
  }
  return found;
}

function wordsOfEvents(events) {
  const words = [];
  for (const event of events || []) {
    words.push(event.unit);
    for (const [name, value] of event.fields || []) words.push(`${name} ${value}`);
    for (const reason of event.reasons || []) {
      words.push(reason.told, ...reason.parts.map((part) => `${part[0]} ${part[1]}`));
    }
  }
  return words;
}

function wordsOfLabels(labels) {
  return (labels || []).map((label) => `${label.by}: ${label.value} ${label.note || ""}`);
}

function wordsOfStep(step) {
  const words = [step.kind, step.speaker, step.tool, step.where, step.thought, step.text];
  for (const [name, pieces] of step.arguments || []) {
    words.push(name, pieces.map((piece) => piece[0]).join(""));
  }
  if (step.result) words.push(step.result.error, step.result.text);
  words.push(...wordsOfEvents(step.events), ...wordsOfLabels(step.labels));
  return words.filter(Boolean).join("\n").toLowerCase();
}

function wordsOfHead(detail) {
  const words = [detail.id, detail.system, detail.meta];
  words.push(...(detail.facts || []).map((fact) => `${fact[0]} ${fact[1]}`));
  words.push(...(detail.tools || []).flat(), ...wordsOfLabels(detail.labels));
  for (const table of detail.tables || []) {
    words.push(table.title, ...table.rows.map((row) => row.cells.join(" ")));
  }
  words.push(...wordsOfEvents(detail.events));
  return words.filter(Boolean).join("\n").toLowerCase();
}

function wordsOf(detail) {
  return [wordsOfHead(detail), ...(detail.steps || []).map(wordsOfStep)].join("\n");
}

function holdsAll(words, terms) {
  return terms.every((term) => words.includes(term));
}

// Not through the store: a search must not push out what is open.
async function keepWords(number) {
  const details = await chunkText(number).then(unpacked);
  const first = store.index.starts[number];
  details.forEach((detail, at) => { search.words[first + at] = wordsOf(detail); });
}

// The browser unpacks the next ones while the words of this one are looked through.
async function readChunk(number) {
  const { starts, rows } = store.index;
  for (let at = number; at < Math.min(number + CHUNKS_AHEAD, starts.length); at += 1) {
    if (!search.reading.has(at)) search.reading.set(at, keepWords(at));
  }
  await search.reading.get(number);
  return [starts[number], number + 1 < starts.length ? starts[number + 1] : rows.length];
}

// Somebody is about to search: read ahead, one chunk at a time.
async function readAhead() {
  for (let number = 0; number < store.index.starts.length; number += 1) {
    await readChunk(number);
    await breath();
  }
}

// Calls `report(found, share)` as it goes on; a later search, or `stopSearch`, ends it.
async function searchThrough(rows, terms, report) {
  const run = (search.run += 1);
  const wanted = new Uint8Array(store.index.rows.length);
  rows.forEach((row) => { wanted[row] = 1; });
  const found = [];
  let since = performance.now();
  let told = since;
  for (let number = 0; number < store.index.starts.length; number += 1) {
    const [first, end] = await readChunk(number);
    if (run !== search.run) return;
    for (let row = first; row < end; row += 1) {
      if (wanted[row] && holdsAll(search.words[row], terms)) found.push(row);
    }
    if (performance.now() - since > SLICE_MS) {
      if (end < wanted.length && performance.now() - told > REPORT_MS) {
        report(found, end / wanted.length);
        told = performance.now();
      }
      await breath();
      if (run !== search.run) return;
      since = performance.now();
    }
  }
  report(found, 1);
}

function stopSearch() {
  search.run += 1;
}
