// Events field by field, the rules that fired on them, the nearest misses, and labels.

function labelList(labels) {
  if (!labels || !labels.length) return null;
  return el("ul", { class: "labels", "aria-label": "Labels" }, labels.map((label) => el("li", {
    class: label.value === "refuse" || label.value === "allow" ? label.value : "other",
  },
  el("span", { class: "by" }, label.unit ? `${label.by} (${label.unit}): ` : `${label.by}: `),
  el("b", {}, label.value.replaceAll("_", " ")),
  label.note ? ` ${label.note.replaceAll("_", " ")}` : null)));
}

function eventFold(events, quiet) {
  if (!events || !events.length) return null;
  const known = (quiet || []).filter(([, value]) => value !== "unknown");
  const summary = known.map(([name, value]) => el("span", {},
    el("i", {}, name.replaceAll("_", " ")), ` ${value}`));
  const units = events.map((event) => `event (${event.unit})`).join(", ");
  return el("div", { class: "events" },
    el("details", { class: "event" },
      el("summary", {}, summary.length ? summary : units),
      eventTable(events)),
    events.filter((event) => event.reasons).map(reasonsOf));
}

const HEADINGS = { call: "Before the call", step: "After it", trajectory: "Whole trajectory" };

function eventTable(events) {
  const values = events.map((event) => new Map(event.fields || []));
  const names = [...new Set(values.flatMap((each) => [...each.keys()]))];
  const matched = matchedFields(events);
  const head = [el("th", { scope: "col" }, "Field"),
    ...events.map((event) => el("th", { scope: "col" }, HEADINGS[event.unit] || event.unit))];
  if (matched.size) head.push(el("th", { scope: "col" }, "Rules"));
  return el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, names.map((name) => {
    const cells = values.map((each) => each.get(name) || "");
    const changed = new Set(cells).size > 1;
    return el("tr", { class: changed ? "changed" : null },
      el("th", { scope: "row" }, name),
      cells.map((cell) => el("td", {}, cell)),
      matched.size ? el("td", {}, (matched.get(name) || []).join(", ")) : null);
  })));
}

// Field -> rules that decided by it.
function matchedFields(events) {
  const matched = new Map();
  for (const reason of events.flatMap((event) => event.reasons || [])) {
    if (!reason.decides || !reason.rule) continue;
    for (const [field] of reason.parts) {
      matched.set(field, [...new Set([...(matched.get(field) || []), reason.rule])]);
    }
  }
  return matched;
}

function reasonsOf(event) {
  const deciding = event.reasons.filter((reason) => reason.decides);
  const others = event.reasons.filter((reason) => !reason.decides);
  const verdict = el("span", { class: `badge verdict ${event.verdict}` }, event.verdict);
  const told = deciding.some((reason) => reason.rule)
    ? counted(deciding.length, "rule") + " fired" : "no rule fired";
  return el("details", { class: "reasons" },
    el("summary", {}, `policy (${event.unit}) `, verdict, ` ${told}`,
      differs(event) ? el("b", { class: "differs" }, ` label: ${event.label}`) : null),
    deciding.filter((reason) => reason.rule).map(reasonBox),
    others.length ? el("p", { class: "quiet" }, "Rules that did not decide") : null,
    others.map(reasonBox));
}

function differs(event) {
  return event.label && event.verdict !== "abstain" && event.label !== event.verdict;
}

function reasonBox(reason) {
  return el("div", { class: `reason${reason.decides ? " decides" : ""}` },
    el("p", {}, reason.told),
    el("ul", {}, reason.parts.map(partOf)));
}

function partOf([field, wanted, value, holds]) {
  return el("li", { class: holds ? "holds" : "fails" },
    el("span", { "aria-hidden": "true" }, holds ? "✓ " : "✗ "),
    el("code", {}, field), ` ${wanted}`, holds ? null : `: it is ${value}`);
}
