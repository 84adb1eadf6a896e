// The keyboard.

function inField(target) {
  return ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);
}

function inDetail() {
  return byId("detail").contains(document.activeElement);
}

const KEYS = {
  "/": () => { byId("search").focus(); byId("search").select(); },
  "?": () => byId("help").showModal(),
  f: () => { byId("filters").open = true; byId("selects").querySelector("select")?.focus(); },
  j: () => move(1),
  ArrowDown: () => move(1),
  k: () => move(-1),
  ArrowUp: () => move(-1),
  "[": () => walk(-1),
  "]": () => walk(1),
  n: () => goToMatch(1),
  N: () => goToMatch(-1),
  o: () => fold(stepBoxes()[Math.max(view.step, 0)]),
  O: () => fold(byId("detail")),
};

function move(way) {
  if (inDetail()) goToStep(view.step < 0 && way < 0 ? 0 : view.step + way);
  else if (document.body.classList.contains("single")) goToStep(way > 0 ? 0 : -1);
  else { byId("list").focus(); moveTo(list.active + way); preview(); }
}

// Opens what is closed; closes all when nothing is.
function fold(box) {
  if (!box) return;
  const folds = [...box.querySelectorAll("article.step details, :scope > details")]
    .filter((each) => each.closest("article.step"));
  const open = folds.some((each) => !each.open);
  folds.forEach((each) => { each.open = open; });
}

function escape() {
  const field = byId("search");
  if (document.activeElement === field && field.value) {
    field.value = "";
    field.dispatchEvent(new Event("input"));
  } else if (inField(document.activeElement) || inDetail()) toList();
}

function keyInSearch(event) {
  if (event.key !== "Enter" && event.key !== "ArrowDown") return false;
  if (document.body.classList.contains("single")) goToMatch(1);
  else byId("list").focus();
  return true;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (event.key === "Escape") { escape(); return; }
  if (event.target === byId("search")) {
    if (keyInSearch(event)) event.preventDefault();
    return;
  }
  if (inField(event.target)) return;
  if (event.key === "Enter" && event.target === byId("list")) {
    event.preventDefault();
    if (list.rows.length) go(list.rows[list.active], true);
    return;
  }
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}
