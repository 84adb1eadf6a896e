// Start, addresses (`#id`, `#id/step`), and what the list shows.

const PREVIEW_MS = 90;
const SEARCH_MS = 120;
let previewing = 0;
let typing = 0;

function setState(state) {
  document.body.dataset.state = state;
}

function toList() {
  document.body.dataset.view = "list";
  byId("list").focus();
}

// Opens a row and gives it an address of its own; Back leads to the one before.
function go(row, intoDetail) {
  const address = `#${linkOf(row)}`;
  view.into = Boolean(intoDetail) || isNarrow();
  if (location.hash === address) openAddress();
  else location.hash = address;
}

function isNarrow() {
  return matchMedia("(max-width: 820px)").matches;
}

// In a wide window the trajectory follows the list, without an entry in the history for each.
function preview() {
  clearTimeout(previewing);
  if (isNarrow() || !list.rows.length) return;
  previewing = setTimeout(() => {
    const row = list.rows[list.active];
    history.replaceState(null, "", `#${linkOf(row)}`);
    openRow(row);
  }, PREVIEW_MS);
}

function walk(way) {
  const place = list.rows.indexOf(view.row);
  const next = list.rows[place + way];
  if (next !== undefined) go(next, inDetail());
}

// An id may hold slashes and end in a number itself: the whole is tried first.
function parsed(hash) {
  let text = hash.slice(1);
  try { text = decodeURIComponent(text); } catch { /* a stray percent sign stays as it is */ }
  const whole = store.rowOf.get(text);
  if (whole !== undefined) return { row: whole };
  const parts = /^(.*)\/(\d+)$/s.exec(text);
  const row = parts ? store.rowOf.get(parts[1]) : undefined;
  return row === undefined ? null : { row, step: Number(parts[2]) };
}

async function openAddress() {
  const wanted = parsed(location.hash);
  if (!wanted) {
    if (location.hash.length > 1) {
      byId("status").textContent = "No trajectory of this address is on the page.";
    }
    return;
  }
  clearTimeout(previewing);
  document.body.dataset.view = "detail";
  const into = view.into || wanted.step !== undefined;
  view.into = false;
  if (view.row === wanted.row && wanted.step !== undefined) {
    markOpen(view.row);
    goToStep(wanted.step);
    return;
  }
  await openRow(wanted.row, wanted.step);
  if (into && wanted.step === undefined) byId("detail").focus();
}

// -- the list -------------------------------------------------------------------------------------

function tell(found, share) {
  const all = counted(store.index.rows.length, "trajectory", "trajectories");
  const some = found === store.index.rows.length ? all : `${found.toLocaleString("en")} of ${all}`;
  const rest = share < 1 ? `, searching: ${Math.floor(share * 100)} %` : "";
  byId("status").textContent = some + rest;
}

function refresh() {
  const rows = rowsThatPass();
  stopSearch();
  if (view.detail) findMatches();
  if (!search.terms.length) {
    showRows(rows, true);
    tell(rows.length, 1);
    setState("ready");
    return Promise.resolve();
  }
  setState("searching");
  let shown = 0;
  return searchThrough(rows, search.terms, (found, share) => {
    if (share === 1 || found.length !== shown) showRows(found.slice(), true);
    shown = found.length;
    tell(found.length, share);
    if (share === 1) { performance.mark("vepa-found"); setState("ready"); }
  });
}

function onSearch() {
  clearTimeout(typing);
  setState("typing");
  typing = setTimeout(() => {
    search.terms = termsOf(byId("search").value);
    performance.mark("vepa-asked");
    refresh().catch(fail);
  }, SEARCH_MS);
}

// -- start ----------------------------------------------------------------------------------------

function fail(error) {
  byId("status").textContent = `This page cannot be read: ${error?.message || error}`;
  setState("failed");
}

function listen() {
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", () => openAddress().catch(fail));
  addEventListener("resize", paintRows);
  addEventListener("beforeprint", () => {
    for (const each of byId("detail").querySelectorAll("details")) {
      if (each.fill) each.fill();
      each.open = true;
    }
  });
  const repaint = () => requestAnimationFrame(paintRows);
  byId("list").addEventListener("scroll", repaint, { passive: true });
  byId("search").addEventListener("input", onSearch);
  byId("search").addEventListener("focus", () => readAhead().catch(fail), { once: true });
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  byId("help-close").addEventListener("click", () => byId("help").close());
  for (const type of ["mouseover", "focusin"]) {
    byId("detail").addEventListener(type, (event) => point(event, true));
  }
  for (const type of ["mouseout", "focusout"]) {
    byId("detail").addEventListener(type, (event) => point(event, false));
  }
  byId("detail").addEventListener("focusin", (event) => {
    const box = event.target.closest("article.step");
    if (box) view.step = stepBoxes().indexOf(box);
  });
}

// A mark that is pointed at shows the step where its words first stood.
function point(event, on) {
  const mark = event.target.closest("a.src[data-step]");
  const box = mark && byId(`step-${mark.dataset.step}`);
  if (box) box.classList.toggle("pointed", on);
}

async function start() {
  if (!("DecompressionStream" in window)) throw new Error("the browser is too old to unpack it");
  store.index = await unpacked(byId("index").textContent);
  store.rowOf = new Map();
  store.index.rows.forEach(([id], at) => {
    if (!store.rowOf.has(id)) store.rowOf.set(id, at);
  });
  listen();
  await refresh();
  performance.mark("vepa-list");
  setTimeout(drawFilters, 0);
  if (location.hash.length > 1) await openAddress();
  else if (store.index.rows.length === 1) {
    document.body.dataset.view = "detail";
    await openRow(0);
  }
}

start().catch(fail);
