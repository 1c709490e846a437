// What is wrong with the open page, as far as a program can see it.
() => {
  const faults = [];
  const seen = (e) => e.checkVisibility({ visibilityProperty: true });
  const named = (e) => e.ariaLabel || (e.getAttribute('aria-labelledby') || '').split(/\s+/).map((id) => id && document.getElementById(id)?.textContent.trim()).join('');
  const all = (query) => [...document.querySelectorAll(query)];
  if (all('h1').length !== 1) faults.push('not one h1');
  if (!document.documentElement.lang) faults.push('no language');
  if (all('main').length !== 1 || !document.title.trim()) faults.push('no main, or no title');
  const ids = new Map();
  for (const e of all('[id]')) ids.set(e.id, (ids.get(e.id) || 0) + 1);
  for (const [id, count] of ids) if (count > 1) faults.push('an id twice: ' + id);
  for (const e of all('[aria-labelledby], [aria-describedby]'))
    for (const name of ['aria-labelledby', 'aria-describedby'])
      for (const id of (e.getAttribute(name) || '').split(/\s+/)) if (id && !ids.has(id)) faults.push('labelled by nothing: ' + id);
  let level = 1;
  for (const e of all('h1, h2, h3, h4')) { const own = +e.tagName[1]; if (seen(e) && own > level + 1) faults.push('a heading leaps: ' + e.textContent.trim().slice(0, 40)); if (seen(e)) level = own; }
  for (const e of all('input:not([type=hidden]), select, textarea'))
    if (seen(e) && ![...e.labels].some((one) => one.textContent.trim()) && !named(e)) faults.push('no label: ' + e.name);
  for (const e of all('a, button, summary'))
    if (seen(e) && !(e.textContent.trim() || named(e) || e.querySelector('img[alt]:not([alt=""])'))) faults.push('no name: ' + e.outerHTML.slice(0, 80));
  for (const e of all('img:not([alt])')) faults.push('a picture without words: ' + e.src);
  for (const e of all('svg[role=img], [role=region], [role=application], section, nav'))
    if (seen(e) && !named(e) && (e.tagName !== 'SECTION' || !e.querySelector('h1, h2, h3, .empty'))) faults.push('no name: ' + e.outerHTML.slice(0, 80));
  for (const e of all('th')) if (seen(e) && !e.textContent.trim()) faults.push('an empty heading in: ' + e.closest('table').textContent.trim().slice(0, 40));
  for (const e of all('table')) if (seen(e) && e.tHead) {
    const wide = [...e.tHead.rows[0].cells].filter(seen).length;
    for (const row of e.tBodies[0]?.rows || []) if (seen(row) && [...row.cells].filter(seen).length !== wide) { faults.push('a row as wide as no heading: ' + row.textContent.trim().slice(0, 40)); break; }
  }
  for (const e of all('button, summary, select, input:not([type=hidden]):not([type=checkbox]):not([type=range]), .side nav a')) {
    const box = e.getBoundingClientRect();
    if (seen(e) && (box.height < 24 || box.width < 24) && !e.closest('.prose')) { if (e.tagName !== 'SUMMARY' || box.height < 20) faults.push('too small to touch: ' + (e.textContent.trim() || e.name).slice(0, 40)); }
  }
  for (const e of all('.wide, .tall, pre')) if (seen(e) && e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0 && !e.closest('[tabindex]')) faults.push('scrolls for the mouse alone: ' + e.textContent.trim().slice(0, 40));
  if (document.documentElement.scrollWidth > innerWidth + 1) faults.push('wider than the window: ' + document.documentElement.scrollWidth);
  const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).slice(0, 3).map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$|transparent/.test(c)) return c; } return 'rgb(255,255,255)'; };
  for (const e of all('body *')) {
    if (!seen(e) || e.closest('svg, canvas, #graph, .unseen, option') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) { faults.push('hard to read: ' + e.textContent.trim().slice(0, 40)); }
  }
  return [...new Set(faults)].slice(0, 8);
}
