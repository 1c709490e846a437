"use strict";
// Small helps; every page works without them.
const root = document.documentElement;
const wait = (work, ms) => { let timer; return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), ms); }; };

async function parsed(place) {
  // A part leaves the session's messages to the next whole page, maybe in another window.
  const answer = await fetch(place, { credentials: "same-origin", headers: { "x-console-part": "yes" } });
  if (!answer.ok || answer.redirected) return null;
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

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

document.querySelectorAll("[data-filter]").forEach((field) => field.addEventListener("input", wait(() => {
  const words = field.value.toLowerCase().split(/\s+/);
  for (const row of document.getElementById(field.dataset.filter).rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
}, 80)));

document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  const field = document.querySelector("[data-search]");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && field) { event.preventDefault(); field.focus(); }
  if (event.key === "Escape" && event.target.closest?.("details[open]")) { const open = event.target.closest("details"); open.open = false; open.querySelector("summary").focus(); }
});

const place = document.querySelector(".side nav [aria-current]");
if (place && place.parentElement.scrollWidth > place.parentElement.clientWidth) place.parentElement.scrollLeft = place.offsetLeft - 60;

// The page's live part, fetched anew; not while the keyboard's focus is in it.
const live = document.querySelector("[data-live]");
const liveSwitch = document.querySelector("[data-live-switch]");
async function refresh() {
  if (!liveSwitch.checked || document.hidden || live.contains(document.activeElement)) return;
  const fresh = (await parsed(location.href))?.querySelector("[data-live]");
  if (fresh) live.replaceChildren(...fresh.childNodes); else liveSwitch.checked = false;
}
if (live && liveSwitch) setInterval(refresh, 2000);

// The same turn under other knobs, fitted as the sliders move.
const knobs = document.querySelector("[data-knobs]");
if (knobs) {
  const outcome = document.querySelector("[data-outcome]");
  let newest = 0;
  knobs.addEventListener("change", wait(async () => {
    const mine = ++newest;
    outcome.setAttribute("aria-busy", "true");
    const fresh = (await parsed(`${location.pathname}?${new URLSearchParams(new FormData(knobs))}`))?.querySelector("[data-outcome]");
    if (fresh && mine === newest) outcome.replaceChildren(...fresh.childNodes);
    outcome.removeAttribute("aria-busy");
  }, 120));
}

// A link into what is folded away unfolds it.
function unfold() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target && target.closest("details");
  if (fold && !fold.open) { fold.open = true; target.scrollIntoView({ block: "center" }); }
}
addEventListener("hashchange", unfold);
unfold();
