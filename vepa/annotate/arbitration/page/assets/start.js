// Start: what the page can do with scripts, and where it looks first.

function listenToForm() {
  verdict.noValidate = true;
  verdict.addEventListener("submit", (event) => {
    event.preventDefault();
    act(event.submitter?.getAttribute("formaction") || "/settle", verdict);
  });
  verdict.addEventListener("input", (event) => {
    if (event.target.id === "filter") { filterTriggers(); return; }
    const row = event.target.closest(".trigger");
    if (row) touch(row);
    changedForm();
  });
  for (const type of ["mouseover", "focusin"]) {
    byId("field-triggers").addEventListener(type, (event) => hint(event.target.closest(".trigger")));
  }
  byId("field-triggers").addEventListener("mouseleave", () => hint(null));
  byId("field-triggers").addEventListener("focusout", () => hint(null));
  document.addEventListener("selectionchange", rememberSelection);
  byId("quote-button").addEventListener("click", addQuote);
  byId("quote-thumb").addEventListener("click", addQuote);
}

function startCase() {
  quoteRows().forEach(dressRow);
  restoreDraft();
  changedForm();
  listenToForm();
  keepLease();
  if (verdict.dataset.field) byId(`field-${verdict.dataset.field.split(".")[0]}`)?.classList.add("wrong");
}

function start() {
  document.documentElement.classList.add("scripted");
  document.addEventListener("keydown", onKey);
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  byId("codebook-button").addEventListener("click", () => byId("codebook").showModal());
  for (const id of ["next", "undo-form"]) {
    byId(id)?.addEventListener("submit", (event) => {
      event.preventDefault();
      act(event.target.getAttribute("action"), event.target);
    });
  }
  if (verdict) startCase();
  else { unfoldSaid(); paintSaid(); }
  const judged = byId("judged");
  if (judged) {
    judged.focus({ preventScroll: true });
    // On a phone what the others said stands first.
    if (verdict || matchMedia("(min-width: 900px)").matches) judged.scrollIntoView({ block: "start" });
  }
  document.body.dataset.state = "ready";
}

start();
