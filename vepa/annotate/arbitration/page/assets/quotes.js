// What is selected in a step, and the rows of evidence.

let lastSelected = null;

function blockOf(node) {
  const box = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
  return box.closest(".quotable");
}

// The selection as far as it lies in the text where it begins: a quote stands in one text.
function selectedQuote() {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0).cloneRange();
  let block = blockOf(range.startContainer);
  if (!block) {
    block = all(".quotable").find((each) => range.intersectsNode(each));
    if (!block) return null;
    range.setStart(block, 0);
  }
  if (!block.contains(range.endContainer)) range.setEnd(block, block.childNodes.length);
  const quote = range.toString().trim();
  const step = block.closest("[data-step]");
  return quote && step ? { step: step.dataset.step, quote } : null;
}

// A tap on a button may take the selection away before the button hears of it.
function rememberSelection() {
  const found = selectedQuote();
  if (found) lastSelected = found;
  else if (!getSelection().isCollapsed) lastSelected = null;
}

function quoteRows() {
  return all("#quotes .quote");
}

function fieldsOf(row) {
  return { step: row.querySelector("input"), words: row.querySelector("textarea") };
}

function newRow() {
  const rows = quoteRows();
  const row = rows.at(-1).cloneNode(true);
  const { step, words } = fieldsOf(row);
  step.value = verdict.dataset.judged;
  words.value = "";
  row.querySelector("button")?.remove();
  byId("quotes").append(row);
  dressRow(row);
  return row;
}

function dressRow(row) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "×";
  button.setAttribute("aria-label", "Remove this quote");
  button.addEventListener("click", () => {
    if (quoteRows().length === 1) newRow();
    row.remove();
    changedForm();
    focusStep();
  });
  row.append(button);
}

function emptyRow() {
  return quoteRows().find((row) => !fieldsOf(row).words.value.trim()) || newRow();
}

function addQuote() {
  const found = selectedQuote() || lastSelected;
  const row = emptyRow();
  const { step, words } = fieldsOf(row);
  lastSelected = null;
  if (!found) {
    step.value = currentStep()?.dataset.step ?? verdict.dataset.judged;
    words.focus();
    say("Nothing is selected: type or paste the words as they stand in the step.", true);
    return;
  }
  const known = quoteRows().some((each) => fieldsOf(each).words.value === found.quote
    && fieldsOf(each).step.value === found.step);
  if (!known) {
    step.value = found.step;
    words.value = found.quote;
  }
  getSelection().removeAllRanges();
  changedForm();
  say("");
}

// Selects the next line of the step, so that words can be quoted without a mouse.
let walked = { step: null, at: -1 };

function selectNext() {
  const step = currentStep() || byId("judged");
  if (!step) return;
  const pieces = all(".quotable", step).filter((each) => each.getClientRects().length)
    .flatMap((each) => { const lines = all(".line", each); return lines.length ? lines : [each]; })
    .filter((each) => each.textContent.trim());
  if (!pieces.length) return;
  const at = walked.step === step ? (walked.at + 1) % pieces.length : 0;
  walked = { step, at };
  getSelection().selectAllChildren(pieces[at]);
  pieces[at].scrollIntoView({ block: "nearest" });
}
