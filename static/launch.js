// Keeps the plan beside the launch form true while it is filled in. Without it, a button does the same.
"use strict";

(() => {
  const form = document.getElementById("launch");
  const PARTS = ["pick", "key", "plan"];
  let asked = 0;

  form.addEventListener("change", (event) => {
    if (event.target.matches("[data-replan]")) {
      look();
    }
  });

  async function look() {
    const mine = ++asked;
    const data = new FormData(form);
    data.set("plan", "1");
    let answer;
    try {
      answer = await fetch(form.action, { method: "POST", body: data, redirect: "error" });
    } catch {
      return; // away for a moment: the server checks again at launch
    }
    if (mine !== asked || !answer.ok) {
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    PARTS.forEach((id) => put(document.getElementById(id), page.getElementById(id)));
  }

  // Replaces what is inside and keeps the reader's place, and what they typed meanwhile.
  function put(box, fresh) {
    if (!box || !fresh) {
      return;
    }
    const active = box.contains(document.activeElement) ? document.activeElement : null;
    const typed = new Map([...box.querySelectorAll("input[id]")].map((each) => [each.id, each.value]));
    box.replaceChildren(...fresh.childNodes);
    for (const [id, value] of typed) {
      const again = document.getElementById(id);
      if (again && again.type !== "radio") {
        again.value = value;
      }
    }
    if (active) {
      const again = active.id
        ? document.getElementById(active.id)
        : box.querySelector(`[name="${active.name}"][value="${active.value}"]`);
      if (again) {
        again.focus({ preventScroll: true });
      }
    }
  }
})();
