// Marks of evidence in the steps: ranges that are painted, the text itself stays as it is.

// The ranges in which a quote stands in a text; white space plays no part.
function rangesOf(block, pattern) {
  const nodes = [];
  let whole = "";
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    nodes.push([whole.length, walker.currentNode]);
    whole += walker.currentNode.data;
  }
  const place = (at) => {
    const [start, node] = nodes.findLast(([from]) => from <= at);
    return [node, Math.min(at - start, node.data.length)];
  };
  return [...whole.matchAll(pattern)].slice(0, 20).map((found) => {
    const range = new Range();
    range.setStart(...place(found.index));
    range.setEnd(...place(found.index + found[0].length - 1));
    range.setEnd(range.endContainer, range.endOffset + 1);
    return range;
  });
}

function patternOf(quote) {
  const words = quote.split(/\s+/).filter(Boolean).slice(0, 400);
  if (!words.length) return null;
  return new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\\/-]/g, "\\$&")).join("\\s+"), "g");
}

// Steps and quotes by mark; a mark that nothing stands for is taken away.
function paint(marks) {
  if (!("highlights" in CSS)) return;
  for (const [name, quotes] of Object.entries(marks)) {
    const ranges = quotes.flatMap(({ step, quote }) => {
      const pattern = patternOf(quote);
      const box = document.querySelector(`article[data-step="${CSS.escape(step)}"]`);
      return pattern && box ? all(".quotable", box).flatMap((each) => rangesOf(each, pattern)) : [];
    });
    if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
    else CSS.highlights.delete(name);
  }
}

function paintOwn() {
  paint({ own: quoteRows().map((row) => {
    const { step, words } = fieldsOf(row);
    return { step: step.value, quote: words.value };
  }) });
}

function paintSaid() {
  const marks = { own: [], "other-0": [], "other-1": [] };
  for (const each of all("q[data-mark]")) {
    marks[each.dataset.mark]?.push({ step: each.dataset.step, quote: each.textContent });
  }
  paint(marks);
}

// What is quoted out of a fold is unfolded.
function unfoldSaid() {
  for (const each of all("q[data-mark]")) {
    const pattern = patternOf(each.textContent);
    const box = document.querySelector(`article[data-step="${CSS.escape(each.dataset.step)}"]`);
    if (!pattern || !box) continue;
    for (const fold of all("details", box)) {
      pattern.lastIndex = 0;
      if (!fold.open && pattern.test(fold.textContent)) fold.open = true;
    }
  }
}
