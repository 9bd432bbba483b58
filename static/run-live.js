// Keeps the page of a going run alive: small pieces of HTML by socket, put in place by id.
// Without it, or without the socket, the page reloads itself.
"use strict";

(() => {
  const page = document.querySelector("[data-live]");
  const SPOKEN_EVERY = 5000; // the status line is read aloud: at most every 5 s
  const LOG_ROWS = 50;
  let seq = Number(page.dataset.seq);
  let failures = 0;
  let spokenAt = Date.now();
  let nextLine = null;
  let countdown = null;
  let leaving = false;

  const byId = (id) => document.getElementById(id);

  function connect() {
    clearInterval(countdown);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}${page.dataset.live}?after=${seq}`);
    socket.addEventListener("message", (event) => {
      failures = 0;
      take(JSON.parse(event.data));
    });
    socket.addEventListener("close", (event) => {
      if (leaving) {
        return;
      }
      if (event.code === 4404) {
        location.reload();
        return;
      }
      failures += 1;
      retry();
    });
  }

  function retry() {
    const wait = Math.min(1000 * 2 ** (failures - 1), 15000);
    const until = Date.now() + wait;
    const lost = clock(new Date());
    if (failures > 3) { // no socket here (a proxy in between, say): read the page again instead
      setTimeout(() => location.reload(), 10000);
      say(`This page lost its connection at ${lost}. The run goes on. It reads itself again in 10 s.`);
      byId("readout").classList.add("wait");
      return;
    }
    if (failures > 1) {
      byId("readout").classList.add("wait");
      say(`This page lost its connection at ${lost}. The run goes on. Trying again in ${Math.ceil((until - Date.now()) / 1000)} s.`);
    }
    setTimeout(connect, wait);
  }

  function take(news) {
    if (news.ended) {
      leaving = true;
      location.reload();
      return;
    }
    for (const [id, html] of Object.entries(news.parts)) {
      if (id === "f-now") {
        sayLater(html);
      } else if ((id !== "f-tasks" && id !== "f-pager") || page.dataset.plain) {
        put(byId(id), html);
      }
    }
    if (news.log) {
      prepend(news.log);
    }
    byId("readout").classList.toggle("wait", news.waits);
    byId("slow").hidden = !news.throttled;
    byId("f-updated").textContent = news.at;
  }

  // Replaces what is inside, and keeps the reader's place: focus on the same link, the same sideways scroll.
  function put(box, html) {
    if (!box) {
      return;
    }
    const focused = box.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    const places = [...box.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    box.innerHTML = html;
    [...box.querySelectorAll(".scroll")].forEach((each, at) => { each.scrollLeft = places[at] || 0; });
    if (focused) {
      const again = [...box.querySelectorAll("a")].find((each) => each.getAttribute("href") === focused);
      if (again) {
        again.focus({ preventScroll: true });
      }
    }
  }

  function prepend(html) {
    const body = byId("f-log");
    body.insertAdjacentHTML("afterbegin", html);
    const first = body.querySelector("tr[data-seq]");
    seq = first ? Number(first.dataset.seq) : seq;
    while (body.rows.length > LOG_ROWS) {
      body.deleteRow(-1);
    }
  }

  // The newest line wins; it is written when the last one has stood for five seconds.
  function sayLater(html) {
    const waiting = nextLine !== null;
    nextLine = html;
    if (!waiting) {
      setTimeout(() => {
        byId("f-now").innerHTML = nextLine;
        nextLine = null;
        spokenAt = Date.now();
      }, Math.max(0, spokenAt + SPOKEN_EVERY - Date.now()));
    }
  }

  function say(text) {
    byId("f-now").textContent = text;
    spokenAt = Date.now();
  }

  function clock(at) {
    return at.toISOString().slice(11, 19);
  }

  connect();
})();
