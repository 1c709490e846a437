"use strict";
// Small helps; every page works without them.
const root = document.documentElement;
const kept = localStorage.getItem("theme");
if (kept) root.dataset.theme = kept;

document.querySelectorAll("[data-theme-switch]").forEach((button) => button.addEventListener("click", () => {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}));

document.querySelectorAll("input[data-shown]").forEach((slider) => {
  const show = () => { slider.nextElementSibling.textContent = Number(slider.value).toLocaleString("en"); };
  slider.addEventListener("input", show);
  show();
});

document.querySelectorAll("[data-filter]").forEach((field) => field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/);
  for (const row of document.getElementById(field.dataset.filter).rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
}));

document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  const field = document.querySelector("[data-search]");
  if (event.key === "/" && !isTyping && field) { event.preventDefault(); field.focus(); }
});

const live = document.querySelector("[data-live]");
const liveSwitch = document.querySelector("[data-live-switch]");
async function refresh() {
  if (!liveSwitch.checked || document.hidden) return;
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) { liveSwitch.checked = false; return; }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-live]");
  if (fresh) live.replaceChildren(...fresh.childNodes);
}
if (live && liveSwitch) setInterval(refresh, 2000);
