// Elements. Text of a trace only ever becomes text: nothing here, or anywhere, writes markup.

function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(2).filter((child) => child !== undefined && child !== null));
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

// A turn of the event loop, so that keys are heard and frames are painted meanwhile.
function breath() {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(0);
  });
}

function counted(number, what, several) {
  return `${number.toLocaleString("en")} ${number === 1 ? what : several || `${what}s`}`;
}

const LONGEST = 60000;

// A text of any length; what is too long to lay out at once waits behind a button.
function longText(target, text, draw) {
  draw(target, text.slice(0, LONGEST));
  if (text.length <= LONGEST) return;
  const button = el("button", { type: "button", class: "more" },
    `Show ${(text.length - LONGEST).toLocaleString("en")} more signs`);
  button.addEventListener("click", () => {
    button.remove();
    longText(target, text.slice(LONGEST), draw);
  });
  target.append(button);
}

function plainText(target, text) {
  target.append(text);
}
