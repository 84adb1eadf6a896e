// The form: triggers, the primary one, definitions, how sure; and the draft of it in this tab.

let touched = null;

function triggerRows() {
  return all(".trigger");
}

function boxOf(row) {
  return row.querySelector("[type=checkbox]");
}

function chosenRows() {
  return triggerRows().filter((row) => boxOf(row).checked);
}

function primaryRow() {
  return chosenRows().find((row) => row.querySelector("[type=radio]").checked);
}

function makePrimary(row) {
  if (row) row.querySelector("[type=radio]").checked = true;
}

// The first one that is chosen is the primary one; when it goes, the next one takes its place.
function settlePrimary() {
  const chosen = chosenRows();
  if (!chosen.length) all("[name=primary]").forEach((each) => { each.checked = false; });
  else if (!primaryRow()) makePrimary(chosen[0]);
  const title = primaryRow()?.querySelector(".choice label").firstElementChild.nextSibling.data.trim();
  byId("chosen").textContent = chosen.length
    ? `${chosen.length} chosen; primary: ${title}`
    : "The first one that you choose is the primary one.";
}

function toggleTrigger(row) {
  if (!row) return;
  boxOf(row).checked = !boxOf(row).checked;
  touch(row);
  changedForm();
}

function nextPrimary() {
  const chosen = chosenRows();
  if (!chosen.length) return;
  makePrimary(chosen[(chosen.indexOf(primaryRow()) + 1) % chosen.length]);
  changedForm();
}

function touch(row) {
  touched = row;
  row.scrollIntoView({ block: "nearest" });
}

function toggleDefinition() {
  const row = document.activeElement.closest?.(".trigger") || touched || triggerRows()[0];
  const about = row.querySelector(".about");
  about.open = !about.open;
  row.scrollIntoView({ block: "nearest" });
}

// A mouse over a trigger, or the focus on it, shows what it is.
function hint(row) {
  let box = byId("hint");
  if (!row || row.querySelector(".about").open) { box?.remove(); return; }
  if (!box) {
    box = document.createElement("p");
    box.id = "hint";
    byId("field-triggers").append(box);
  }
  box.textContent = row.querySelector(".about p").textContent;
}

function filterTriggers() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  let first = null;
  for (const row of triggerRows()) {
    const text = `${row.dataset.number} ${row.querySelector(".choice").textContent}`.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    row.classList.remove("first");
    if (!row.hidden && !first) first = row;
  }
  if (words.length) first?.classList.add("first");
  return words.length ? first : null;
}

function keyInFilter(event) {
  if (event.key !== "Enter") return;
  event.preventDefault();
  const first = filterTriggers();
  byId("filter").value = "";
  filterTriggers();
  if (first) toggleTrigger(first);
  focusStep();
}

function moreSure(steps) {
  const field = byId("field-confidence");
  if (steps > 0) field.stepUp(steps); else field.stepDown(-steps);
  changedForm();
}

function decide(value) {
  byId(`d-${value}`).checked = true;
  changedForm();
}

function changedForm() {
  settlePrimary();
  byId("sure").textContent = `${Math.round(byId("field-confidence").value * 100)} %`;
  for (const name of ["risk_source", "harm", "severity"]) {
    byId(`means-${name}`).textContent = byId(`field-${name}`).selectedOptions[0]?.title || "";
  }
  paintOwn();
  keepDraft();
}

// -- the draft: what was typed outlives a reload, a lost connection and a new login ---------------

function draftName() {
  return `vepa-draft ${document.body.dataset.who} ${verdict.dataset.item}`;
}

function keepDraft() {
  const kept = [...new FormData(verdict)].filter(([name]) => name !== "claim");
  try { sessionStorage.setItem(draftName(), JSON.stringify(kept)); } catch { /* no room: no draft */ }
}

function forgetDraft() {
  sessionStorage.removeItem(draftName());
}

function restoreDraft() {
  const text = sessionStorage.getItem(draftName());
  if (!text || byId("error").textContent) return;
  const draft = JSON.parse(text);
  const values = (name) => draft.filter(([each]) => each === name).map(([, value]) => value);
  for (const name of ["decision", "trigger", "primary"]) {
    for (const each of all(`[name=${name}]`, verdict)) each.checked = values(name).includes(each.value);
  }
  for (const name of ["risk_source", "harm", "severity", "confidence", "rationale", "note"]) {
    if (values(name).length) byId(`field-${name}`).value = values(name)[0];
  }
  const steps = values("evidence_step");
  values("evidence_quote").forEach((quote, at) => {
    const row = quoteRows()[at] || newRow();
    fieldsOf(row).step.value = steps[at];
    fieldsOf(row).words.value = quote;
  });
}
