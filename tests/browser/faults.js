// What is wrong with the open page, as far as a program can see it.
() => {
  const faults = [];
  const seen = (e) => e.offsetParent !== null;
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
  if (!document.documentElement.lang) faults.push('no language');
  for (const e of document.querySelectorAll('input:not([type=hidden]), select, textarea'))
    if (seen(e) && !e.labels.length && !e.ariaLabel) faults.push('no label: ' + e.name);
  for (const e of document.querySelectorAll('a, button, summary'))
    if (seen(e) && !(e.textContent.trim() || e.ariaLabel)) faults.push('no name: ' + e.outerHTML.slice(0, 80));
  if (document.documentElement.scrollWidth > innerWidth + 1) faults.push('wider than the window: ' + document.documentElement.scrollWidth);
  const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).slice(0, 3).map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$|transparent/.test(c)) return c; } return 'rgb(255,255,255)'; };
  for (const e of document.querySelectorAll('body *')) {
    if (!seen(e) || e.closest('svg, canvas, #graph') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) { faults.push('hard to read: ' + e.textContent.trim().slice(0, 40)); }
  }
  return [...new Set(faults)].slice(0, 8);
}
