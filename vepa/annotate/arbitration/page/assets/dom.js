// Elements and messages. Text of a trace only ever becomes text: nothing here writes markup.

function byId(id) {
  return document.getElementById(id);
}

function all(selector, within = document) {
  return [...within.querySelectorAll(selector)];
}

// A message above the page; `calm` where nothing is wrong.
function say(text, calm = false) {
  const box = byId("message");
  box.textContent = text;
  box.hidden = !text;
  box.classList.toggle("calm", calm);
}

function inField(target) {
  if (target.tagName === "TEXTAREA" || target.tagName === "SELECT") return true;
  return target.tagName === "INPUT" && !["checkbox", "radio", "range"].includes(target.type);
}

const verdict = byId("verdict");
