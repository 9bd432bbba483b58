// Copy buttons and menus. Every page works without this file.
"use strict";

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy], .id button, .code > .btn, .once .value button");
  if (button) {
    copy(button);
  }
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) {
      menu.open = false;
    }
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") {
    return;
  }
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

function textFor(button) {
  const code = button.parentElement.querySelector("code");
  return button.dataset.copy || (code && (code.title || code.textContent)) || "";
}

async function copy(button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(textFor(button));
    button.textContent = "copied";
  } catch {
    // No permission (or no https): select the text, so that Ctrl-C does it.
    const code = button.parentElement.querySelector("code");
    if (code) {
      window.getSelection().selectAllChildren(code);
    }
    button.textContent = "selected";
  }
  setTimeout(() => { button.textContent = before; }, 1600);
}
