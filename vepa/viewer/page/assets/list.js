// The list: only the rows that can be seen are elements.

const ROW_HEIGHT = 76;
const SPARE_ROWS = 8;
const list = { rows: [], active: 0 };

function showRows(rows, keep) {
  const before = list.rows[list.active];
  list.rows = rows;
  const place = keep ? rows.indexOf(before) : -1;
  list.active = Math.max(place, 0);
  byId("rows").style.setProperty("height", `${rows.length * ROW_HEIGHT}px`);
  if (place < 0) byId("list").scrollTop = 0;
  paintRows();
}

function paintRows() {
  const box = byId("list");
  const top = Math.max(0, Math.floor(box.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
  const fit = Math.ceil((box.clientHeight || 800) / ROW_HEIGHT) + 2 * SPARE_ROWS;
  // The active row is always there: the list names it to screen readers.
  const places = list.active < top ? [list.active] : [];
  for (let at = top; at < Math.min(list.rows.length, top + fit); at += 1) places.push(at);
  if (list.active >= top + fit && list.active < list.rows.length) places.push(list.active);
  byId("rows").replaceChildren(...places.map(option));
  if (list.rows.length) box.setAttribute("aria-activedescendant", `row-${list.active}`);
  else box.removeAttribute("aria-activedescendant");
}

function option(place) {
  const row = list.rows[place];
  const made = el("div", {
    role: "option",
    id: `row-${place}`,
    class: `row${row === view.row ? " open" : ""}${place === list.active ? " active" : ""}`,
    "aria-selected": row === view.row ? "true" : "false",
    "aria-posinset": place + 1,
    "aria-setsize": list.rows.length,
    onclick: () => { list.active = place; go(row); },
  },
  el("span", { class: "name" }, rowId(row)),
  el("span", { class: "badges" }, badges(row)),
  el("span", { class: "begins" }, rowGlimpse(row)));
  made.style.setProperty("top", `${place * ROW_HEIGHT}px`);
  return made;
}

function badges(row) {
  const made = valuesOf(row, "label").filter((value) => value !== "none")
    .map((value) => el("span", { class: `badge ${value}`, title: "label" }, value));
  for (const value of valuesOf(row, "verdict")) {
    made.push(el("span", { class: `badge verdict ${value}` }, `policy: ${value}`));
  }
  for (const facet of ["differs", "tripped"]) {
    for (const value of valuesOf(row, facet)) {
      made.push(el("span", { class: "badge bad", title: facet }, value.replaceAll("_", " ")));
    }
  }
  made.push(el("span", { class: "quiet" }, counted(rowSteps(row), "step")));
  return made;
}

function moveTo(place) {
  if (!list.rows.length) return;
  list.active = Math.min(Math.max(place, 0), list.rows.length - 1);
  const box = byId("list");
  const top = list.active * ROW_HEIGHT;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW_HEIGHT > box.scrollTop + box.clientHeight) {
    box.scrollTop = top + ROW_HEIGHT - box.clientHeight;
  }
  paintRows();
}

// Brings the open trajectory into view, where it is in the list.
function markOpen(row) {
  const place = list.rows.indexOf(row);
  if (place >= 0) moveTo(place);
  else paintRows();
}
