// The steps of a trajectory.

const GLIMPSE = 110;
const DEEPEST = 12;

function stepBox(step, index, base) {
  const fold = step.result ? resultFold(step.result) : null;
  return el("article", {
    id: `step-${index}`,
    class: `step ${step.kind}${step.marked ? " marked" : ""}`,
    tabindex: "-1",
    "aria-label": `Step ${index}: ${step.tool || step.kind}`,
  },
  stepHead(step, index, base),
  step.thought ? el("p", { class: "thought text" },
    el("span", { class: "label" }, "thinks "), step.thought) : null,
  step.text !== undefined ? saidText(step.text) : null,
  step.arguments ? argumentList(step.arguments, base) : null,
  fold,
  step.unanswered ? el("p", { class: "failed" }, "No result was shown.") : null,
  eventFold(step.events, step.quiet),
  labelList(step.labels));
}

function stepHead(step, index, base) {
  return el("h3", {},
    el("a", { class: "number", href: `#${base}/${index}`, "aria-label": `Link to step ${index}` },
      String(index)), " ",
    step.tool ? el("code", {}, step.tool) : step.kind,
    step.where ? el("small", {}, ` ${step.where}`) : null,
    step.speaker ? el("small", {}, ` by ${step.speaker}`) : null,
    step.marked ? el("b", { class: "mistake" }, " marked as the decisive mistake") : null);
}

function saidText(text) {
  const box = el("div", { class: "text said" });
  longText(box, text, plainText);
  return box;
}

function argumentList(given, base) {
  return el("dl", { class: "arguments" }, given.map(([name, pieces]) => el("div", {},
    el("dt", {}, name),
    el("dd", { class: "text" }, pieces.map((piece) => pieceOf(piece, base))))));
}

// [text] or [text, kind, step, request]: a mark tells the source without its colour.
function pieceOf([text, kind, step, request], base) {
  if (!kind) return text;
  const [, letter, meaning] = store.index.legend.find((each) => each[0] === kind);
  const asked = request ? "; part of a third party's request" : "";
  return el("a", {
    class: `src ${kind}${request ? " request" : ""}`,
    href: `#${base}/${step}`,
    title: `${meaning}; first in step ${step}${asked}`,
    "data-step": step,
  }, text, el("sup", {}, `${letter}${step}${request ? "!" : ""}`));
}

function resultFold(result) {
  const text = result.text || "";
  const body = el("div", { class: "body" });
  const fold = el("details", { class: `result${result.ok ? "" : " failed"}` },
    el("summary", {},
      el("b", {}, result.ok ? "ok" : "failed"),
      result.error ? ` ${result.error}` : null,
      result.seconds !== undefined ? ` ${result.seconds.toFixed(2)} s` : null,
      result.truncated ? el("b", {}, " cut at the output limit") : null, " ",
      el("span", { class: "glimpse" }, glimpse(text))),
    body);
  fold.addEventListener("toggle", () => fillResult(fold, text));
  fold.fill = () => fillResult(fold, text);
  fold.words = text.toLowerCase();
  return fold;
}

function fillResult(fold, text) {
  const body = fold.querySelector(".body");
  if (body.firstChild) return;
  longText(body, text, (target, part) => {
    target.append(el("pre", { class: "text" }, part.split("\n").map(lineOf)));
  });
}

function lineOf(line) {
  const made = el("span", { class: "line" }, `${line}\n`);
  const depth = Math.min(line.length - line.replace(/^[ \-│]+/, "").length, DEEPEST);
  if (depth) made.style.setProperty("--in", `${depth}ch`);
  return made;
}

function glimpse(text) {
  const flat = text.slice(0, 4 * GLIMPSE).replace(/\s+/g, " ").trim();
  return flat.slice(0, GLIMPSE) + (flat.length > GLIMPSE || text.length > 4 * GLIMPSE ? "…" : "");
}
