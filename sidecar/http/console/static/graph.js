"use strict";
// The wiki's pages and links, drawn on a canvas by the vendored force-graph.
const drawing = document.getElementById("graph");
const told = document.querySelector("[data-told]");
const colours = { entity: "--wiki", topic: "--knowledge", decision: "--workspace" };
const OTHERS = "other";
const MANY = 1500;
const LABELS = 120;
const TYPE_COLOURS = ["memory", "knowledge", "thread", "workspace", "wiki"];
const UNTYPED = new Set(["reference", "parent_of", "child_of"]);

function palette() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { types: Object.fromEntries(Object.entries(colours).map(([type, name]) => [type, of(name)])), faint: of("--line"), line: of("--dropped"), typed: of("--memory"), strong: of("--accent"), ink: of("--ink"), card: of("--card") };
}

// Links come as places among the pages; each page learns its neighbours.
function unpacked(data) {
  const nodes = data.nodes.map((node) => ({ ...node, near: new Set() }));
  const known = new Set([...document.querySelectorAll("[data-origin]")].map((box) => box.dataset.origin));
  const links = data.links.map(([from, to, named, origins, [since, until]]) => {
    const isTyped = !UNTYPED.has(named);
    const kind = isTyped ? "typed" : named;
    const type = isTyped ? named : "";
    const said = isTyped ? `${nodes[from].name} ${named.replaceAll("_", " ")} ${nodes[to].name}${since && ` since ${since}`}${until && ` until ${until}`}` : "";
    const [source, target] = [nodes[from], nodes[to]];
    source.near.add(target);
    target.near.add(source);
    return { source, target, kind, type, said, since, until, origins: origins.length ? [...new Set(origins.map((one) => (known.has(one) ? one : OTHERS)))] : [OTHERS] };
  });
  return { nodes, links };
}

// Each type of edge that is there gets a colour and a switch.
function typed(links) {
  const counts = new Map();
  for (const link of links) if (link.type) counts.set(link.type, (counts.get(link.type) || 0) + 1);
  const box = document.querySelector("[data-types]");
  const types = [...counts.keys()].sort();
  types.forEach((type, place) => {
    const label = document.createElement("label");
    const tick = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    tick.dataset.type = type;
    const mark = document.createElement("span");
    mark.className = `src s-${TYPE_COLOURS[place % TYPE_COLOURS.length]}`;
    mark.textContent = `${type.replaceAll("_", " ")} (${counts.get(type)})`;
    label.append(tick, mark);
    box.append(label);
  });
  box.hidden = !types.length;
  return Object.fromEntries(types.map((type, place) => [type, `--${TYPE_COLOURS[place % TYPE_COLOURS.length]}`]));
}

// The days on which an edge begins or ends, in order: between two of them the graph is the same.
function days(links) {
  return [...new Set(links.flatMap((link) => [link.since, link.until]).filter(Boolean))].sort();
}

const checked = (name) => new Set([...document.querySelectorAll(`[data-${name}]:checked`)].map((box) => box.dataset[name]));

function drawn({ nodes, links }, focusId) {
  let paint = palette();
  const colourOf = typed(links);
  const stops = days(links);
  let types = checked("type");
  const paintOf = (link) => getComputedStyle(document.documentElement).getPropertyValue(colourOf[link.type]).trim() || paint.typed;
  let typePaint = {};
  const mixed = () => { typePaint = Object.fromEntries(Object.keys(colourOf).map((type) => [type, paintOf({ type })])); };
  mixed();
  let kinds = checked("kind");
  let origins = checked("origin");
  let chosen = nodes.find((node) => node.id === focusId) || null;
  const isMany = nodes.length > MANY;
  const isLit = (node) => !chosen || node === chosen || chosen.near.has(node);
  let asOf = "";
  const isThen = (link) => !asOf || ((!link.since || link.since <= asOf) && (!link.until || asOf < link.until));
  const isShown = (link) => kinds.has(link.kind) && (!link.type || types.has(link.type)) && isThen(link) && link.origins.some((one) => origins.has(one));
  const touches = (link) => !chosen || link.source === chosen || link.target === chosen;
  const byHubness = (a, b) => b.hubness - a.hubness || a.name.localeCompare(b.name);
  const hubs = [...nodes].sort(byHubness).slice(0, LABELS);
  const size = (node) => 2 + Math.min(9, Math.sqrt(node.hubness));

  // Names of the greatest first; one that would stand on another is left out.
  function labelled(canvas, scale) {
    const high = 11 / scale;
    const taken = [];
    canvas.textAlign = "center";
    canvas.textBaseline = "top";
    canvas.lineWidth = 3 / scale;
    canvas.strokeStyle = paint.card;
    canvas.fillStyle = paint.ink;
    for (const node of chosen ? [chosen, ...[...chosen.near].sort(byHubness).slice(0, LABELS)] : hubs) {
      const label = node.name.length > 32 ? `${node.name.slice(0, 31)}…` : node.name;
      canvas.font = `${node === chosen ? "bold " : ""}${high}px system-ui, sans-serif`;
      const half = canvas.measureText(label).width / 2;
      const top = node.y + size(node) / 2 + 2 / scale;
      const box = [node.x - half, top, node.x + half, top + high];
      if (taken.some((one) => box[0] < one[2] && box[2] > one[0] && box[1] < one[3] && box[3] > one[1])) continue;
      taken.push(box);
      canvas.strokeText(label, node.x, top);
      canvas.fillText(label, node.x, top);
    }
  }

  const graph = new ForceGraph(drawing)
    .graphData({ nodes, links })
    .width(drawing.clientWidth).height(drawing.clientHeight)
    .nodeLabel(null)
    .nodeVal((node) => size(node) ** 2 / 16)
    .nodeColor((node) => (isLit(node) ? paint.types[node.type] : paint.faint))
    .linkColor((link) => (chosen && touches(link) ? paint.strong : chosen ? paint.faint : link.type ? typePaint[link.type] : paint.line))
    .linkLineDash((link) => (link.until ? [4, 3] : null))
    .onLinkHover((link) => { if (link && link.said) told.textContent = link.said; else if (!chosen) tell(null); })
    .linkWidth((link) => (chosen && touches(link) ? 1.5 : 1))
    .linkVisibility(isShown)
    .linkDirectionalArrowLength((link) => (chosen && touches(link) ? 4 : 0)).linkDirectionalArrowRelPos(1)
    .onRenderFramePost((canvas, scale) => labelled(canvas, scale))
    .warmupTicks(isMany ? 30 : 0).cooldownTime(isMany ? 4000 : 6000).d3AlphaDecay(isMany ? 0.05 : 0.03)
    .autoPauseRedraw(true)
    .enableNodeDrag(!isMany)
    .onNodeClick((node) => (node === chosen ? open(node) : choose(node)))
    .onNodeHover((node) => { drawing.style.cursor = node ? "pointer" : ""; if (!chosen) tell(node); })
    .onBackgroundClick(() => choose(null));
  graph.d3Force("charge").distanceMax(isMany ? 300 : 600).theta(isMany ? 1.2 : 0.9);

  const open = (node) => { location.href = `/wiki/${node.key}`; };
  const redraw = () => graph.nodeColor(graph.nodeColor());
  const whole = told.textContent;
  function tell(node) {
    told.textContent = node ? `${node.name} (${node.type}): ${node.near.size} ${node.near.size === 1 ? "neighbour" : "neighbours"} here${node === chosen ? "; click it again or press Enter to open it" : ""}` : whole;
  }
  function choose(node, isMoving = false) {
    chosen = node;
    tell(node);
    if (node && isMoving) { graph.centerAt(node.x, node.y, 300); if (graph.zoom() < 2) graph.zoom(2.5, 300); }
    redraw();
  }
  const isLinked = nodes.some((node) => node.near.size);
  const fit = (ms = 300) => graph.zoomToFit(ms, 30, (node) => !isLinked || node.near.size > 0);
  let isFitted = false;
  let ticks = 0;
  for (const touch of ["pointerdown", "wheel", "keydown"]) drawing.addEventListener(touch, () => { isFitted = true; }, { passive: true });
  graph.onEngineTick(() => { if (!isFitted && !chosen && ++ticks % 15 === 0) fit(0); });
  graph.onEngineStop(() => { if (!isFitted) { isFitted = true; chosen ? choose(chosen, true) : fit(); } drawing.dataset.calm = "1"; });

  const slider = document.querySelector("[data-time]");
  const date = document.querySelector("[data-as-of]");
  function filtered() {
    graph.linkVisibility(isShown);
    const shown = links.filter(isShown).length;
    slider.setAttribute("aria-valuetext", asOf || "any time");
    told.textContent = `${shown.toLocaleString("en")} of ${links.length.toLocaleString("en")} links are shown${asOf ? `, as of ${asOf}` : ""}`;
    drawing.dataset.shown = String(shown);
  }
  function at(day) {
    asOf = day;
    date.value = day;
    const after = stops.findIndex((stop) => stop > day);
    slider.value = String(!day ? stops.length : after < 0 ? stops.length - 1 : Math.max(0, after - 1));
    filtered();
  }
  slider.max = String(stops.length);
  slider.value = slider.max;
  slider.disabled = !stops.length;
  slider.setAttribute("aria-valuetext", "any time");
  slider.addEventListener("input", () => at(stops[Number(slider.value)] || ""));
  date.addEventListener("change", () => at(date.value));
  document.querySelectorAll("[data-kind], [data-origin], [data-type]").forEach((box) => box.addEventListener("change", () => { kinds = checked("kind"); origins = checked("origin"); types = checked("type"); filtered(); }));
  document.querySelector("[data-fit]").addEventListener("click", () => { choose(null); fit(); });
  document.querySelector("[data-find]").addEventListener("change", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    const found = wanted && (nodes.find((node) => node.name.toLowerCase() === wanted) || nodes.find((node) => node.name.toLowerCase().includes(wanted)));
    choose(found || null, true);
    if (wanted && !found) told.textContent = "No page drawn here has this name; the wiki's search looks through all.";
  });
  let step = -1;
  drawing.addEventListener("keydown", (event) => {
    const around = chosen ? [...chosen.near].sort(byHubness) : nodes;
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (move && around.length) { step = (step + move + around.length) % around.length; choose(around[step], true); step = -1; }
    else if (event.key === "Enter" && chosen) open(chosen);
    else if (event.key === "Escape") choose(null);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => graph.width(drawing.clientWidth).height(drawing.clientHeight)).observe(drawing);
  const repaint = () => { paint = palette(); mixed(); redraw(); };
  new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
}

function listed(nodes) {
  const items = nodes.slice(0, 500).map((node) => {
    const link = document.createElement("a");
    link.href = `/wiki/${node.key}`;
    link.textContent = node.name;
    const item = document.createElement("li");
    item.append(link);
    return item;
  });
  document.querySelector("[data-list]").append(...items);
  document.getElementById("graph-names").append(...nodes.slice(0, 500).map((node) => new Option(node.name)));
}

async function begin() {
  const asked = new URLSearchParams({ focus: drawing.dataset.focus, known_by: drawing.dataset.knownBy });
  const answer = await fetch(`/wiki/graph.json?${asked}`, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) { told.textContent = "The graph could not be read; load the page again."; return; }
  const data = await answer.json();
  const graph = unpacked(data);
  const number = (count) => count.toLocaleString("en");
  told.textContent = graph.nodes.length ? `${number(graph.nodes.length)} pages, ${number(graph.links.length)} links${data.is_truncated ? "; the wiki has more, these are the greatest hubs" : ""}` : "There are no pages yet; a compile writes them.";
  listed(graph.nodes);
  if (graph.nodes.length) drawn(graph, data.focus);
  drawing.dataset.ready = "1";
}
begin();
