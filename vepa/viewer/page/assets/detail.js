// One trajectory: its head, then its steps, drawn in slices.

const SLICE_STEPS = 40;
const view = { row: -1, step: -1, detail: null, run: 0, matches: [] };

function linkOf(row) {
  return encodeURIComponent(rowId(row)).replaceAll("%2F", "/");
}

async function openRow(row, step) {
  const run = (view.run += 1);
  document.body.dataset.opened = "";
  const detail = await detailOf(row);
  if (run !== view.run) return;
  Object.assign(view, { row, step: -1, detail });
  document.title = `${rowId(row)} · VEPA`;
  const box = byId("detail");
  box.replaceChildren(walkBar(), headOf(detail), legendOf());
  box.scrollTop = 0;
  markOpen(row);
  if (!(await drawSteps(box, detail, row, run))) return;
  findMatches();
  if (step === undefined) openMatches();
  else goToStep(step);
  document.body.dataset.opened = rowId(row);
}

async function drawSteps(box, detail, row, run) {
  const steps = detail.steps || [];
  const base = linkOf(row);
  for (let at = 0; at < steps.length; at += SLICE_STEPS) {
    const slice = document.createDocumentFragment();
    steps.slice(at, at + SLICE_STEPS).forEach((step, offset) => {
      if (step.opens) slice.append(el("h2", { class: "conversation" }, step.opens));
      slice.append(stepBox(step, at + offset, base));
    });
    box.append(slice);
    if (at + SLICE_STEPS < steps.length) await breath();
    if (run !== view.run) return false;
  }
  return true;
}

function walkBar() {
  return el("div", { class: "walk" },
    el("button", { type: "button", class: "back", onclick: toList }, "← List"),
    el("button", { type: "button", "aria-keyshortcuts": "[", onclick: () => walk(-1) }, "Previous"),
    el("button", { type: "button", "aria-keyshortcuts": "]", onclick: () => walk(1) }, "Next"));
}

function headOf(detail) {
  const bad = (detail.tripped || []).map((key) => key.replaceAll("_", " ")).join(", ");
  return el("header", { class: "head" },
    el("h1", {}, detail.id),
    bad ? el("p", { class: "tripped" }, `Tripped: ${bad}`) : null,
    el("dl", { class: "facts" }, (detail.facts || []).map(factOf)),
    labelList(detail.labels),
    eventFold(detail.events, null),
    (detail.tables || []).map(tableFold),
    textFold("What the operator told the agent", detail.system),
    detail.tools ? toolsFold(detail.tools) : null,
    textFold("Annotations", detail.meta));
}

function factOf([name, value, bad]) {
  return el("div", { class: bad ? "bad" : null }, el("dt", {}, name), el("dd", {}, value));
}

function textFold(title, text) {
  if (!text) return null;
  const body = el("div", { class: "body" });
  longText(body, text, (target, part) => target.append(el("pre", { class: "text" }, part)));
  return el("details", {}, el("summary", {}, title), body);
}

function tableFold(table) {
  return el("details", {}, el("summary", {}, table.title), el("table", {},
    el("thead", {}, el("tr", {}, table.columns.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, table.rows.map((row) => el("tr", { class: row.bad ? "bad" : null },
      row.cells.map((cell) => el("td", {}, cell)))))));
}

function toolsFold(tools) {
  return el("details", {}, el("summary", {}, counted(tools.length, "tool") + " offered"),
    el("dl", { class: "arguments" }, tools.map(([name, ...told]) => el("div", {},
      el("dt", {}, el("code", {}, name)),
      el("dd", { class: "text" }, told.filter(Boolean).join(" · "))))));
}

function legendOf() {
  const sample = (kind, mark, meaning) => el("li", {},
    el("span", { class: `src ${kind}` }, "words", mark ? el("sup", {}, mark) : null),
    ` ${meaning}`);
  const kinds = store.index.legend.map(([kind, letter, meaning]) =>
    sample(kind, letter && `${letter}2`, meaning));
  return el("details", { class: "legend" }, el("summary", {}, "What the marks of words mean"),
    el("p", {}, "Words in arguments, by where they first stood; the number is the step, and each "
      + "mark leads there."),
    el("ul", {}, kinds, sample("message request", "M2!", "a third party's request")));
}

function stepBoxes() {
  return [...byId("detail").querySelectorAll("article.step")];
}

function goToStep(index) {
  const boxes = stepBoxes();
  if (!boxes.length) return;
  const at = Math.min(Math.max(index, 0), boxes.length - 1);
  view.step = at;
  boxes.forEach((box, place) => box.classList.toggle("current", place === at));
  boxes[at].focus({ preventScroll: true });
  boxes[at].scrollIntoView({ block: "start" });
}

// -- what was searched, in the open trajectory ----------------------------------------------------

function findMatches() {
  const { terms } = search;
  const steps = (view.detail && view.detail.steps) || [];
  view.matches = [];
  if (terms.length) {
    steps.forEach((step, at) => {
      const words = wordsOfStep(step);
      if (terms.some((term) => words.includes(term))) view.matches.push(at);
    });
    for (const fold of byId("detail").querySelectorAll("details.result")) {
      if (terms.some((term) => fold.words.includes(term))) { fold.fill(); fold.open = true; }
    }
  }
  highlight(terms);
}

function openMatches() {
  if (view.matches.length) byId(`step-${view.matches[0]}`).scrollIntoView({ block: "start" });
}

function goToMatch(way) {
  const { matches, step } = view;
  if (!matches.length) return;
  // Past the last one it begins anew.
  if (way > 0) goToStep(matches.find((at) => at > step) ?? matches[0]);
  else goToStep(matches.findLast((at) => at < step) ?? matches.at(-1));
}

const MOST_MARKED = 2000;

function highlight(terms) {
  if (!("highlights" in CSS)) return;
  const ranges = [];
  const texts = document.createTreeWalker(byId("detail"), NodeFilter.SHOW_TEXT);
  while (terms.length && ranges.length < MOST_MARKED && texts.nextNode()) {
    rangesIn(texts.currentNode, terms, ranges);
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

function rangesIn(node, terms, ranges) {
  const words = node.data.toLowerCase();
  if (words.length !== node.data.length) return; // places would not be the same
  for (const term of terms) {
    for (let at = words.indexOf(term); at >= 0; at = words.indexOf(term, at + term.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + term.length);
      ranges.push(range);
    }
  }
}
