// What is sent, again where the answer was lost: the queue takes a verdict once, however often it
// comes. Nothing that was typed is thrown away before the server has said that it has it.

const RETRY_MS = 2000;
const AWAKE_MS = 60 * 60 * 1000;
let sending = false;
let lostCase = false;
let lastSeen = Date.now();

async function post(path, form) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams(form ? new FormData(form) : {}),
    credentials: "same-origin",
  });
  const told = await answer.json().catch(() => ({ error: "The server's answer is not readable." }));
  return { status: answer.status, wait: Number(answer.headers.get("retry-after")), told };
}

function pause(ms) {
  return new Promise((resolve) => { setTimeout(resolve, ms); });
}

// Sends until there is an answer; asks for a login when the session is gone.
async function insist(path, form) {
  for (;;) {
    let answer;
    try {
      answer = await post(path, form);
    } catch {
      say("The server does not answer. What you typed is kept, and sent again until it does.");
      await pause(RETRY_MS);
      continue;
    }
    if (answer.status === 401) { await logInAgain(); continue; }
    if (answer.status === 429 || answer.status === 503) {
      say(`${answer.told.error} It is sent again.`, true);
      await pause(Math.max(RETRY_MS, answer.wait * 1000));
      continue;
    }
    return answer;
  }
}

async function act(path, form) {
  if (sending) return;
  sending = true;
  const buttons = all("button.strong, .acts button");
  buttons.forEach((each) => { each.disabled = true; });
  try {
    say("");
    const { status, told } = await insist(path, form);
    if (status === 200) {
      if (form === verdict && verdict && path !== "/undo") forgetDraft();
      location.replace(told.go);
      return;
    }
    if (status === 409) lose(told.error);
    else complain(told);
  } finally {
    sending = false;
    buttons.forEach((each) => { each.disabled = false; });
  }
}

function lose(why) {
  lostCase = true;
  document.body.dataset.lost = "yes";
  say(`Not taken: ${why} What you typed stays here to be copied; n takes the next case.`);
}

// Shows what is wrong beside the field that it is about.
function complain({ error, field, remedy }) {
  const text = remedy ? `${error} (${remedy})` : error;
  const name = (field || "").split(".")[0];
  all(".wrong").forEach((each) => each.classList.remove("wrong"));
  const box = byId(`field-${name}`);
  if (byId("error")) byId("error").textContent = text;
  say(text);
  if (!box) return;
  box.classList.add("wrong");
  box.scrollIntoView({ block: "nearest" });
  if (inField(box)) box.focus();
}

function logInAgain() {
  const dialog = byId("again");
  say("You are not logged in any more. What you typed is kept.");
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => {
    byId("again-form").onsubmit = async (event) => {
      event.preventDefault();
      try {
        const { status, told } = await post("/login", byId("again-form"));
        if (status === 200 && told.who === document.body.dataset.who) {
          dialog.close();
          say("");
          resolve();
        } else if (status === 200) {
          byId("again-error").textContent = `This is the link of ${told.who}.`;
        } else byId("again-error").textContent = told.error;
      } catch {
        byId("again-error").textContent = "The server does not answer yet.";
      }
    };
  });
}

// -- the lease ------------------------------------------------------------------------------------

function tellCounts({ total, settled, open, mine }) {
  byId("bar").max = total;
  byId("bar").value = settled;
  byId("n-open").textContent = open;
  byId("n-settled").textContent = settled;
  byId("n-mine").textContent = mine;
}

async function renew() {
  // Whoever went away leaves the case to others.
  if (sending || lostCase || Date.now() - lastSeen > AWAKE_MS) return;
  try {
    const { status, told } = await post("/renew", verdict);
    if (status === 200) {
      tellCounts(told);
      if (byId("message").dataset.about === "lease") say("");
      delete byId("message").dataset.about;
    } else if (status === 409) lose(told.error);
    else if (status === 401) {
      say("You are not logged in any more: log in when you settle, or in another tab.");
      byId("message").dataset.about = "lease";
    }
  } catch {
    say("The server does not answer just now. What you type is kept in this tab.");
    byId("message").dataset.about = "lease";
  }
}

function keepLease() {
  setInterval(renew, Number(verdict.dataset.renew) * 1000);
  for (const type of ["keydown", "pointerdown"]) {
    document.addEventListener(type, () => { lastSeen = Date.now(); }, true);
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden) renew(); });
}
