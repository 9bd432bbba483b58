// Fills in a known provider's host without reading the page again, so that a value that was pasted first stays.
"use strict";

(() => {
  const form = document.getElementById("add");
  form.addEventListener("click", (event) => {
    const chosen = event.target.closest("a[data-host]");
    if (!chosen || event.metaKey || event.ctrlKey) {
      return;
    }
    event.preventDefault();
    form.elements.name.value = chosen.dataset.name;
    form.elements["host-0"].value = chosen.dataset.host;
    form.elements["kind-0"].value = chosen.dataset.kind;
    form.elements["target-0"].value = chosen.dataset.target;
    for (const each of form.querySelectorAll("a[data-host]")) {
      each.removeAttribute("aria-current");
    }
    chosen.setAttribute("aria-current", "true");
    form.elements[chosen.dataset.host ? "value" : "host-0"].focus();
  });
})();
