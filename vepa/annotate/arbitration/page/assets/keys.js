// The keyboard.

function stepBoxes() {
  return all("#steps article.step");
}

function currentStep() {
  const active = document.activeElement.closest?.("article.step");
  return active || stepBoxes().find((each) => each.classList.contains("current"));
}

function goToStep(box) {
  if (!box) return;
  stepBoxes().forEach((each) => each.classList.toggle("current", each === box));
  box.focus({ preventScroll: true });
  box.scrollIntoView({ block: "nearest" });
}

function move(way) {
  const boxes = stepBoxes();
  const at = boxes.indexOf(currentStep() || byId("judged"));
  goToStep(boxes[Math.min(Math.max(at + way, 0), boxes.length - 1)]);
}

function focusStep() {
  const box = currentStep() || byId("judged");
  if (box) box.focus({ preventScroll: true });
  else document.activeElement.blur?.();
}

function fold(boxes) {
  const folds = boxes.flatMap((box) => all("details", box));
  const open = folds.some((each) => !each.open);
  folds.forEach((each) => { each.open = open; });
}

function nextCase() {
  if (verdict && !lostCase) say("Settle this one first, or skip it: s leaves it to others.", true);
  else act("/next", byId("next"));
}

function undo() {
  if (document.body.dataset.view === "lost") return;
  act("/undo", byId("undo-form") || verdict);
}

const ANYWHERE = {
  n: nextCase,
  u: undo,
  j: () => move(1),
  k: () => move(-1),
  o: () => { const box = currentStep() || byId("judged"); if (box) fold([box]); },
  O: () => fold(stepBoxes()),
  b: () => byId("codebook").showModal(),
  "?": () => byId("help").showModal(),
};

const IN_CASE = {
  a: () => decide("allow"),
  r: () => decide("refuse"),
  t: () => byId("filter").focus(),
  p: nextPrimary,
  d: toggleDefinition,
  i: () => byId("field-risk_source").focus(),
  h: () => byId("field-harm").focus(),
  v: () => byId("field-severity").focus(),
  "+": () => moreSure(1),
  "=": () => moreSure(1),
  "-": () => moreSure(-1),
  x: selectNext,
  e: addQuote,
  w: () => byId("field-rationale").focus(),
  m: () => byId("field-note").focus(),
  s: () => act("/skip", verdict),
  Enter: () => act("/settle", verdict),
};

// Digits by their place on the keyboard: with Shift they give other signs, other ones everywhere.
function triggerOf(event) {
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code);
  if (!digit) return null;
  const number = (Number(digit[1]) || 10) + (event.shiftKey ? 10 : 0);
  return document.querySelector(`.trigger[data-number="${number}"]`);
}

function onKey(event) {
  if (document.querySelector("dialog[open]") || event.isComposing) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && verdict) {
    event.preventDefault();
    act("/settle", verdict);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { target } = event;
  if (event.key === "Escape") { getSelection().removeAllRanges(); focusStep(); return; }
  if (target.id === "filter") { keyInFilter(event); return; }
  if (target.tagName === "SELECT" && event.key === "Enter") {
    event.preventDefault();
    focusStep();
    return;
  }
  if (inField(target)) return;
  // Enter on a button, a link or a fold is theirs.
  if (event.key === "Enter" && target.closest("button, a, summary")) return;
  const row = verdict ? triggerOf(event) : null;
  const does = row ? () => toggleTrigger(row) : ANYWHERE[event.key] || (verdict && IN_CASE[event.key]);
  if (!does) return;
  event.preventDefault();
  does();
}
