// Filters: a row has to hold every term that is set. A term is a facet with its value.

const MOST_VALUES = 400;
const filters = { set: new Map(), counts: [] };

function countTerms() {
  filters.counts = new Array(store.index.terms.length).fill(0);
  for (const row of store.index.rows) for (const term of row[3]) filters.counts[term] += 1;
}

function rowsThatPass() {
  const terms = [...filters.set.values()];
  const passed = [];
  for (let row = 0; row < store.index.rows.length; row += 1) {
    const has = rowTerms(row);
    if (terms.every((term) => has.includes(term))) passed.push(row);
  }
  return passed;
}

function facets() {
  const known = new Map();
  store.index.terms.forEach(([facet], term) => {
    if (!known.has(facet)) known.set(facet, []);
    known.get(facet).push(term);
  });
  return known;
}

function select(label, terms, choose) {
  const made = el("select", { "aria-label": label, onchange: () => choose(made.value) },
    el("option", { value: "" }, "any"));
  const sorted = [...terms].sort((a, b) => filters.counts[b] - filters.counts[a]);
  for (const term of sorted.slice(0, MOST_VALUES)) {
    made.append(el("option", { value: term },
      `${store.index.terms[term][1]} (${filters.counts[term].toLocaleString("en")})`));
  }
  return el("label", {}, el("span", {}, label), made);
}

function drawFilters() {
  countTerms();
  const known = facets();
  const made = [];
  for (const [facet, label] of store.index.facets) {
    const terms = known.get(facet) || [];
    if (terms.length > 1) made.push(select(label, terms, (value) => setFilter(facet, value)));
  }
  const places = [...known.keys()].filter((facet) => facet.includes(".")).sort();
  if (places.length) made.push(eventFilter(places, known));
  byId("selects").replaceChildren(...made);
  byId("filters").hidden = !made.length;
}

// First the field, then its value; several fields may be set.
function eventFilter(places, known) {
  const values = el("span", {});
  const field = el("select", {
    "aria-label": "Event field",
    onchange: () => {
      const terms = known.get(field.value) || [];
      const chosen = field.value;
      values.replaceChildren(...(terms.length
        ? [select("Value", terms, (value) => setFilter(chosen, value))] : []));
    },
  }, el("option", { value: "" }, "any"),
  places.map((place) => el("option", { value: place }, place)));
  return el("div", { class: "event-filter" },
    el("label", {}, el("span", {}, "Event field"), field), values);
}

function setFilter(facet, value) {
  if (value === "") filters.set.delete(facet);
  else filters.set.set(facet, Number(value));
  drawChips();
  refresh();
}

function drawChips() {
  const chips = [...filters.set.entries()].map(([facet, term]) => el("li", {},
    el("button", {
      type: "button",
      "aria-label": `Remove ${facet} ${store.index.terms[term][1]}`,
      onclick: () => { resetSelects(); setFilter(facet, ""); },
    }, `${facet}: ${store.index.terms[term][1]}`, el("span", { "aria-hidden": "true" }, " ×"))));
  byId("chips").replaceChildren(...chips);
  byId("filter-count").textContent = chips.length ? String(chips.length) : "";
}

function resetSelects() {
  for (const each of byId("selects").querySelectorAll("select")) each.value = "";
}
