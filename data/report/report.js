"use strict";
(async () => {
const packed = Uint8Array.from(atob(document.getElementById("document").textContent), c => c.charCodeAt(0));
const D = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
document.body.classList.add("js");
const make = (name, text, kind) => { const e = document.createElement(name); if (text !== undefined && text !== null) e.textContent = text; if (kind) e.className = kind; return e; };
const time = us => { if (us === null) return ""; const [n, u] = us >= 1e6 ? [us / 1e6, "s"] : us >= 1e3 ? [us / 1e3, "ms"] : [us, "µs"]; return +n.toPrecision(4) + "\u00a0" + u; };
const unitOf = u => u && u !== "1" ? "\u00a0" + u : "";
const short = x => { const a = Math.abs(x); return a !== 0 && (a < 1e-4 || a >= 1e9) ? x.toExponential(3) : String(+x.toPrecision(4)); };
const valued = (x, u) => u === "s" ? time(x * 1e6) : u === "B" ? short(x / 1e9) + "\u00a0GB" : short(x) + unitOf(u);
const zh = document.documentElement.lang.startsWith("zh");
const say = (en, chinese) => zh ? chinese : en;
const content = section => D.parts[+section.dataset.part].content;

/* Maps of heat are grids: one cell takes part in the order of tabs, arrow keys move on, Enter or a click shows its rows. */
for (const table of document.querySelectorAll("table[data-map]")) {
  const section = table.closest("section"), heat = content(section).heat, panel = section.querySelector(".rows");
  const unit = table.dataset.map === "unit", body = table.tBodies[0], ranks = heat.ranks.length;
  let here = null;
  const enter = cell => { if (here) here.tabIndex = -1; here = cell; cell.tabIndex = 0; };
  table.setAttribute("role", "grid");
  if (body.rows.length && body.rows[0].cells.length > 1) enter(body.rows[0].cells[1]);
  const open = cell => {
    const o = cell.parentNode.sectionRowIndex, r = cell.cellIndex - 1, title = table.tHead.rows[0].cells[r + 1].textContent;
    const rows = heat.rows.filter(x => unit ? Math.floor(x[0] / ranks) === o : x[0] === o * ranks + r).sort((a, b) => b[4] - a[4]).slice(0, 25);
    panel.textContent = "";
    panel.append(make("b", heat.operators[o].name.slice(0, 200) + " · " + (unit ? title : say("rank ", "卡 ") + heat.ranks[r]) + " · " + (cell.textContent || "–")));
    const shown = make("table"), head = shown.createTHead().insertRow(), list = shown.createTBody();
    for (const text of [say("row", "行"), say("name", "名称"), say("core", "核"), say("time", "时间"), say("wait", "等待"), say("input shapes", "输入形状")]) { const th = make("th", text); th.scope = "col"; head.append(th); }
    for (const x of rows) { const tr = list.insertRow(); for (const text of [heat.files[x[0] % ranks] + ":" + x[1], heat.texts[x[2]], heat.texts[x[3]], time(x[4]), time(x[5]), heat.texts[x[6]]]) tr.append(make("td", text)); }
    const box = make("div", null, "scroll"); box.tabIndex = 0; box.append(shown);
    panel.append(rows.length ? box : make("p", say("No rows were kept for this cell.", "此格没有保留的行。")));
    panel.scrollIntoView({ block: "nearest" });
  };
  const cellOf = e => { const cell = e.target.closest("td"); return cell && body.contains(cell) ? cell : null; };
  body.addEventListener("click", e => { const cell = cellOf(e); if (cell) { enter(cell); open(cell); } });
  body.addEventListener("keydown", e => {
    const cell = cellOf(e); if (!cell) return;
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (e.key === "Enter" || e.key === " ") { e.preventDefault(); open(cell); }
    else if (move) {
      const row = body.rows[cell.parentNode.sectionRowIndex + move[0]], to = row && row.cells[cell.cellIndex + move[1]];
      if (to && to.cellIndex) { e.preventDefault(); enter(to); to.focus(); }
    }
  });
}

/* Fronts: the choice is the least weighted sum of costs, each the log of a value from 0 at its best to 1 at its worst. */
for (const box of document.querySelectorAll(".front")) {
  const front = content(box.closest("section")).front_points, n = front.objectives.length, m = front.front.length;
  const costs = new Float64Array(m * n), low = new Array(n).fill(Infinity), high = new Array(n).fill(-Infinity);
  front.front.forEach((at, i) => front.objectives.forEach((o, j) => {
    const c = (o.better === "lower" ? 1 : -1) * Math.log(front.points[at][j]);
    costs[i * n + j] = c; low[j] = Math.min(low[j], c); high[j] = Math.max(high[j], c);
  }));
  for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) costs[i * n + j] = (costs[i * n + j] - low[j]) / (high[j] - low[j] || 1);
  const [x, y] = box.dataset.scales.split(";").map(text => { const [a, b, s, e, log] = text.split(",").map(Number); return v => s + (log ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a)) * (e - s); });
  const inputs = [...box.querySelectorAll("input")], outputs = [...box.querySelectorAll("output")], ring = box.querySelector(".ring"), said = box.querySelector(".choice");
  const choose = () => {
    const w = inputs.map(i => +i.value); let best = 0, least = Infinity;
    for (let i = 0; i < m; i++) { let sum = 0; for (let j = 0; j < n; j++) sum += w[j] * costs[i * n + j]; if (sum < least) { least = sum; best = i; } }
    const at = front.front[best], p = front.points[at], known = front.configurations[at];
    inputs.forEach((_, j) => outputs[j].textContent = w[j].toFixed(2));
    ring.setAttribute("transform", `translate(${x(p[0])} ${y(p[1])})`);
    box.dataset.choice = at;
    said.textContent = say("These weights choose ", "此权重选中：") + front.objectives.map((o, j) => o.metric.replace(/_/g, " ") + " " + valued(p[j], o.unit)).join(", ") + (known ? ": " + known.set : "");
  };
  inputs.forEach(i => i.addEventListener("input", choose));
  choose();
}
})();
