// The index, and the chunks of trajectories, unpacked when they are asked for.

const KEPT_CHUNKS = 6;
const store = { index: null, chunks: new Map() };

async function unpacked(text) {
  const signs = atob(text);
  const bytes = new Uint8Array(signs.length);
  for (let at = 0; at < signs.length; at += 1) bytes[at] = signs.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// The page is still coming in when the list is painted: a chunk may stand further down.
async function chunkText(number) {
  const found = () => byId(`chunk-${number}`);
  // An element that is last may still be growing.
  while (document.readyState === "loading" && !(found() && found().nextElementSibling)) {
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  return found().textContent;
}

function chunk(number) {
  const kept = store.chunks.get(number);
  if (kept) {
    store.chunks.delete(number);
    store.chunks.set(number, kept);
    return kept;
  }
  const coming = chunkText(number).then(unpacked);
  store.chunks.set(number, coming);
  if (store.chunks.size > KEPT_CHUNKS) store.chunks.delete(store.chunks.keys().next().value);
  return coming;
}

function chunkOf(row) {
  const { starts } = store.index;
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (starts[middle] <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

async function detailOf(row) {
  const number = chunkOf(row);
  return (await chunk(number))[row - store.index.starts[number]];
}

// A row of the index: [id, glimpse, steps, terms].
function rowId(row) { return store.index.rows[row][0]; }
function rowGlimpse(row) { return store.index.rows[row][1]; }
function rowSteps(row) { return store.index.rows[row][2]; }
function rowTerms(row) { return store.index.rows[row][3]; }

function valuesOf(row, facet) {
  return rowTerms(row).map((term) => store.index.terms[term])
    .filter((term) => term[0] === facet).map((term) => term[1]);
}
