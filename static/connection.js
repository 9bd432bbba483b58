// Tries a connection without reading the page again, so that what was edited below stays; tells how long it takes.
"use strict";

(() => {
  const form = document.getElementById("test");
  if (!form) {
    return;
  }
  const box = document.getElementById("result");
  const button = form.querySelector("button[type=submit]");

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const begun = Date.now();
    button.disabled = true;
    const tell = () => say(`Calling ${form.elements.model.value} … ${Math.round((Date.now() - begun) / 1000)} s`);
    tell();
    const clock = setInterval(tell, 1000);
    try {
      const answer = await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "error" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("result");
      if (fresh) {
        box.replaceChildren(...fresh.childNodes);
      } else {
        say(`The server answered ${answer.status}. Nothing is known of the call; try again.`);
      }
    } catch {
      say("The server gave no answer. Nothing is known of the call; try again.");
    } finally {
      clearInterval(clock);
      button.disabled = false;
    }
  });

  function say(words) {
    const line = document.createElement("p");
    line.className = "small muted";
    line.textContent = words;
    box.replaceChildren(line);
  }
})();
