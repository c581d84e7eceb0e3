"""A diagnosis as one page: causes, the split of the step, and a heat map of operators that opens to its rows.

The page is one file that works without a network: styles, script and data are inside.
"""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InputError
from recommender.diagnosis.evidence import View

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ingest.profiles.facts import Profile, Rank

MOST_OPERATORS = 40
"""Operator types of a rank in the heat map: the costliest."""
MOST_ROWS = 25
"""Rows behind an operator: the longest."""

_COLUMNS = (
    ("cube", "aic_mac_ratio"),
    ("cube load", "aic_mte2_ratio"),
    ("fixpipe", "aic_fixpipe_ratio"),
    ("vector", "aiv_vec_ratio"),
    ("vector load", "aiv_mte2_ratio"),
    ("vector store", "aiv_mte3_ratio"),
    ("scalar", "aiv_scalar_ratio"),
)


def write_page(path: Path, answer: Mapping[str, object], profile: Profile) -> None:
    """Write the page, beside and then in place.

    Args:
        path: Where.
        answer: The diagnosis with remedies as plain content.
        profile: Its facts.

    Raises:
        InputError: The place cannot be written to.
    """
    content = _page(answer, [_heat(rank) for rank in profile.ranks if rank.kernels is not None])
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(content, encoding="utf-8")
        beside.replace(path)
    except OSError as fault:
        raise InputError(f"{path}: cannot be written ({fault.strerror or fault})") from fault


def _heat(rank: Rank) -> dict[str, object]:
    """Operators of a rank with time, calls, pipes and their longest rows."""
    view = View(rank)
    kernels = rank.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    label = kernels.label
    sums = np.bincount(label.codes, weights=np.nan_to_num(kernels.duration_us), minlength=len(label.labels))
    operators = []
    for code in np.argsort(-sums, kind="stable")[:MOST_OPERATORS]:
        rows = np.flatnonzero(label.codes == code)
        if not len(rows):
            continue
        weights = np.nan_to_num(kernels.duration_us[rows])
        pipes = []
        for _, name in _COLUMNS:
            values = kernels.pipe(name)[rows]
            known = ~np.isnan(values) & (weights > 0)
            pipes.append(
                round(float(np.average(values[known], weights=weights[known])), 3) if known.any() else None
            )
        longest = rows[np.argsort(-weights, kind="stable")[:MOST_ROWS]]
        operators.append(
            {
                "name": label.labels[int(code)] or "?",
                "us": round(float(sums[code]), 3),
                "share": round(float(sums[code]) / view.total_us, 4) if view.total_us > 0 else None,
                "n": len(rows),
                "pipes": pipes,
                "rows": [
                    {
                        "row": int(kernels.rows[i]),
                        "name": kernels.text("name", int(i))[:120],
                        "core": kernels.text("core", int(i)),
                        "us": round(float(kernels.duration_us[i]), 3),
                        "wait": None if np.isnan(kernels.wait_us[i]) else round(float(kernels.wait_us[i]), 3),
                        "shapes": kernels.text("input_shapes", int(i))[:200],
                    }
                    for i in longest
                ],
            }
        )
    name = rank.rank if rank.rank is not None else rank.folder
    return {"rank": name, "file": kernels.file, "operators": operators}


def _page(answer: Mapping[str, object], heat: list[dict[str, object]]) -> str:
    content = {"answer": answer, "heat": heat, "columns": [name for name, _ in _COLUMNS]}
    data = json.dumps(content, ensure_ascii=False, allow_nan=False)
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    title = html.escape(f"Diagnosis of {answer.get('path', '')}")
    return _TEMPLATE.replace("__TITLE__", title).replace("__DATA__", data)


_TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>__TITLE__</title>
<style>
body{font:14px/1.45 system-ui,sans-serif;margin:1.5em auto;max-width:1150px;padding:0 1em;color:#1a1a1a;background:#fff}
h1{font-size:1.3em} h2{font-size:1.1em;margin-top:2em} .cause{border-left:4px solid #b3402a;padding:.2em 1em;margin:1em 0}
.muted{color:#666} table{border-collapse:collapse;width:100%} th,td{padding:.25em .5em;text-align:right;vertical-align:top}
th:first-child,td:first-child{text-align:left} tr.op{cursor:pointer} tr.op:focus{outline:2px solid #36c}
td.heat{min-width:3.5em} .bar{display:flex;height:1.2em;margin:.2em 0 .6em;border-radius:3px;overflow:hidden}
.bar span{display:block} .k{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 1em;border-radius:2px}
tr.rows td{background:#f7f7f4;text-align:left} code{background:#f1f1ee;padding:0 .3em} .scroll{overflow-x:auto}
</style></head><body>
<h1>__TITLE__</h1><div id="summary"></div><h2>Causes</h2><div id="causes"></div>
<h2>The step</h2><div id="steps"></div>
<h2>Operators</h2><p class="muted">Cells show how busy each unit is, weighted by time; empty is not collected.
Open an operator to see its longest rows.</p><div id="heat"></div>
<h2>Not collected</h2><div id="missing"></div>
<script type="application/json" id="data">__DATA__</script>
<script>
const D=JSON.parse(document.getElementById('data').textContent),A=D.answer;
const el=(t,txt,c)=>{const e=document.createElement(t);if(txt!==undefined&&txt!==null)e.textContent=txt;if(c)e.className=c;return e};
const pct=x=>x===null||x===undefined?'':(100*x).toFixed(x<0.1?1:0)+' %';const ms=x=>(x/1000).toFixed(2)+' ms';
const put=(id,...n)=>document.getElementById(id).append(...n);
put('summary',el('p',A.causes.length?`${A.causes.length} of the causes that cost at least ${pct(A.significant_share)} of the step`:
 `Nothing that was collected costs ${pct(A.significant_share)} of the step and shows a known cause.`,'muted'));
for(const n of A.notes)put('summary',el('p','Note: '+n,'muted'));
for(const c of A.causes){const d=el('div',null,'cause');d.append(el('strong',c.label+' ('+c.cause+')'));
 d.append(el('p',`Costs ${pct(c.share)} of the step (${ms(c.lost_us)}), confidence ${pct(c.confidence)}, at most ${c.ceiling.toFixed(2)}x. `+
 `Expected gain ${c.gain.expected.toFixed(2)}x, 90 % interval ${c.gain.low.toFixed(2)}x to ${c.gain.high.toFixed(2)}x, modelled.`));
 if(c.fix_test)d.append(el('p',`Replayed without it: ${c.fix_test.factor.toFixed(2)}x; ${c.fix_test.symptom} goes from `+
 `${pct(c.fix_test.symptom_share_before)} to ${pct(c.fix_test.symptom_share_after)} of the step.`));
 d.append(el('p','Chain: '+c.chain.join(' \\u2190 ')));
 const u=el('ul');for(const e of c.evidence){u.append(el('li',(e.rank===null?'':'rank '+e.rank+': ')+e.says+' ('+
 e.places.map(p=>p.file+(p.rows.length?':'+p.rows.slice(0,6).join(','):'')).join('; ')+')'))}d.append(u);
 if(c.perhaps.length)d.append(el('p','Perhaps behind it: '+c.perhaps.map(p=>p.cause+' '+pct(p.chance)).join(', '),'muted'));
 if(c.remedies&&c.remedies.length){d.append(el('p','What to do'));const r=el('ul');for(const m of c.remedies){const li=el('li',m.label+' ');
 for(const s of m.settings)li.append(el('code',s),' ');for(const k of m.cases)li.append(el('span',
 ` ${k.kind}: ${k.metric} ${k.mean_factor.toFixed(2)}x on ${k.hardware||'hardware not told'} (n=${k.n}).`,'muted'));r.append(li)}d.append(r)}
 put('causes',d)}
const parts=[['computing_us','compute','#4878a8'],['exposed_us','communication exposed','#b3402a'],['free_us','free','#d8d4c8']];
const key=el('p');for(const p of parts){const k=el('span',null,'k');k.style.background=p[2];key.append(k,p[1])}put('steps',key);
for(const r of A.ranks)for(const s of r.steps){put('steps',el('div',`rank ${r.rank??r.folder}, step ${s.step||'?'}: ${ms(s.step_us)}`));
 const b=el('div',null,'bar');for(const p of parts){const x=el('span');x.style.width=(100*s[p[0]]/s.step_us)+'%';x.style.background=p[2];
 x.title=p[1]+' '+ms(s[p[0]]);b.append(x)}put('steps',b)}
for(const h of D.heat){put('heat',el('h3','rank '+h.rank+', '+h.file));const t=el('table'),hd=el('tr');
 for(const c of ['operator','calls','time','of step',...D.columns])hd.append(el('th',c));t.append(hd);
 for(const o of h.operators){const tr=el('tr',null,'op');tr.tabIndex=0;tr.append(el('td',o.name),el('td',o.n),el('td',ms(o.us)));
  const sh=el('td',pct(o.share),'heat');sh.style.background=`rgba(179,64,42,${Math.min(.85,2*(o.share||0))})`;tr.append(sh);
  for(const v of o.pipes){const c=el('td',v===null?'':pct(v),'heat');if(v!==null)c.style.background=`rgba(72,120,168,${.75*v})`;tr.append(c)}
  t.append(tr);let open=null;const toggle=()=>{if(open){open.remove();open=null;return}open=el('tr',null,'rows');const td=el('td');
   td.colSpan=4+D.columns.length;const it=el('table'),ih=el('tr');for(const c of ['row','name','core','time','wait','input shapes'])ih.append(el('th',c));
   it.append(ih);for(const r of o.rows){const x=el('tr');x.append(el('td',r.row),el('td',r.name),el('td',r.core),el('td',r.us+' \\u00b5s'),
   el('td',r.wait===null?'':r.wait+' \\u00b5s'),el('td',r.shapes));it.append(x)}td.append(it);open.append(td);tr.after(open)};
  tr.onclick=toggle;tr.onkeydown=e=>{if(e.key==='Enter')toggle()}}
 const w=el('div',null,'scroll');w.append(t);put('heat',w)}
if(!D.heat.length)put('heat',el('p','No kernels were collected.'));
const mu=el('ul');for(const m of A.not_collected)mu.append(el('li',m.what+': '+m.how));put('missing',mu);
</script></body></html>
"""
