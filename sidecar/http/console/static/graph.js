"use strict";
// The wiki's pages and links, drawn on a canvas by the vendored force-graph.
const place = document.getElementById("graph");
const told = document.querySelector("[data-told]");
const colours = { entity: "--wiki", topic: "--knowledge", decision: "--workspace" };
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function drawn(data) {
  const near = new Map(data.nodes.map((node) => [node.id, new Set()]));
  data.links.forEach((link) => { near.get(link.source).add(link.target); near.get(link.target).add(link.source); });
  const shown = () => new Set([...document.querySelectorAll("[data-kind]:checked")].map((box) => box.dataset.kind));
  let kinds = shown();
  let focus = null;
  const isNear = (node) => !focus || node.id === focus || near.get(focus).has(node.id);
  const graph = new ForceGraph(place)
    .graphData(data)
    .width(place.clientWidth).height(place.clientHeight)
    .nodeLabel("name")
    .nodeVal((node) => 1 + Math.sqrt(node.hubness))
    .nodeColor((node) => (isNear(node) ? colour(colours[node.type]) : colour("--free")))
    .linkColor(() => colour("--line"))
    .linkVisibility((link) => kinds.has(link.kind) && isNear(link.source) && isNear(link.target))
    .cooldownTime(data.nodes.length > 1000 ? 6000 : 10000)
    .onNodeClick((node) => { if (focus === node.id) location.href = `/wiki/${node.key}`; focus = node.id; told.textContent = `${node.name}: ${near.get(node.id).size} neighbours; click again to open`; })
    .onBackgroundClick(() => { focus = null; told.textContent = ""; });
  document.querySelectorAll("[data-kind]").forEach((box) => box.addEventListener("change", () => { kinds = shown(); }));
  document.querySelector("[data-fit]").addEventListener("click", () => { focus = null; graph.zoomToFit(300, 20); });
  document.querySelector("[data-find]").addEventListener("change", (event) => {
    const wanted = event.target.value.toLowerCase();
    const found = wanted && data.nodes.find((node) => node.name.toLowerCase().includes(wanted));
    focus = found ? found.id : null;
    if (found) { graph.centerAt(found.x, found.y, 300); graph.zoom(4, 300); }
    told.textContent = found ? found.name : wanted ? "no such page here" : "";
  });
  addEventListener("resize", () => graph.width(place.clientWidth).height(place.clientHeight));
}

function listed(data) {
  const list = document.querySelector("[data-list]");
  for (const node of data.nodes) {
    const link = document.createElement("a");
    link.href = `/wiki/${node.key}`;
    link.textContent = node.name;
    const item = document.createElement("li");
    item.append(link);
    list.append(item);
  }
}

async function begin() {
  const answer = await fetch(`/wiki/graph.json?focus=${encodeURIComponent(place.dataset.focus)}`, { credentials: "same-origin" });
  const data = await answer.json();
  listed(data);
  drawn(data);
  told.textContent = `${data.nodes.length} pages, ${data.links.length} links${data.is_truncated ? "; there are more" : ""}`;
  place.dataset.ready = "1";
}
begin();
