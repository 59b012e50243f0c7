// A step in words: what it spent, from where, and how much each deposit weighed.

import { KINDS, type Data, type Rank } from "./data";
import { counted, el } from "./dom";

const SHOWN = 12;

export function describeTurn(data: Data, rank: Rank, turn: number, several: boolean): HTMLElement {
  const end = rank.end(turn);
  const box = el("div", { class: "told" });
  if (end < 0) {
    box.append(el("p", { class: "told-head" }, `The run ended in ${data.noun} ${number(turn + 1)}, before another step.`));
    return box;
  }
  const [kind, [lane], site] = rank.pattern(turn)[end];
  const skipped = KINDS[kind] === "skip";
  const called = rank.lanes[lane][0];
  const where = data.sites[site][0];
  box.append(
    el("p", { class: "told-head" }, `${skipped ? "Skipped step" : "Step"} of `, el("b", {}, called), several ? ` on rank ${rank.number}` : ""),
    el("p", { class: "told-where" }, `${data.noun} ${number(turn + 1)}, at ${rank.time(turn).toFixed(1)} s, `, el("code", {}, where)),
  );
  const spending = rank.spending(turn);
  if (skipped) {
    box.append(el("p", {}, "It updated nothing: gradients were not finite, or torch refused it."));
  } else if (!spending) {
    box.append(el("p", {}, "What it spent is left out of this page: the run is too varied to hold all of it."));
  } else if (!spending[2].length) {
    box.append(el("p", {}, "It found no deposit to spend."));
  } else {
    const rows = spending[2].map(([from, count, again, parameters]) => {
      const [at, code] = data.sites[from];
      const weights = again ? null : rank.weights(turn, lane, from, count, turn - spending[1]);
      const weighed = weights ? summed(weights.map((weight) => data.weights[weight])) : "";
      const leaked = rank.leaked(from, lane);
      return el(
        "li",
        { class: again || leaked ? "again" : "new" },
        el("b", {}, again ? `${number(count)} spent again` : counted(count, "new deposit")),
        el("span", {}, ` in ${counted(parameters, "parameter")}`),
        leaked ? el("b", {}, ", meant for another optimizer") : null,
        el("code", { class: "told-code" }, code || at),
        el("span", { class: "told-at" }, code ? at : ""),
        weighed ? el("span", { class: "told-weight" }, weighed) : null,
      );
    });
    box.append(el("p", {}, "It spent:"), el("ul", {}, ...rows.slice(0, SHOWN)));
    if (rows.length > SHOWN) box.append(el("p", {}, `and ${rows.length - SHOWN} more call sites`));
  }
  return box;
}

/** `3 × mean of 8 items; mean of 2 items`. */
function summed(weights: string[]): string {
  const told: [string, number][] = [];
  for (const weight of weights) {
    const last = told[told.length - 1];
    if (last?.[0] === weight) last[1]++;
    else told.push([weight, 1]);
  }
  const words = told.filter(([weight]) => weight).map(([weight, times]) => (times > 1 ? `${times} × ${weight}` : weight));
  return words.length > 6 ? `${words.slice(0, 5).join("; ")}; and ${words.length - 5} more` : words.join("; ");
}

export function describeMark(data: Data, rank: Rank, turn: number, mark: number, says: string): HTMLElement {
  const [kind, lanes, site] = rank.pattern(turn)[mark];
  const [where, code] = data.sites[site];
  const box = el("div", { class: "told" }, el("p", { class: "told-head" }, says));
  if (lanes.length) box.append(el("p", {}, lanes.map((lane) => rank.lanes[lane][0]).join(", ")));
  box.append(el("p", { class: "told-where" }, `${data.noun} ${number(turn + 1)}, `, el("code", {}, where)));
  if (code) box.append(el("code", { class: "told-code" }, code));
  if (KINDS[kind] === "deposit" && lanes.length) {
    const after = rank.pattern(turn).slice(mark + 1).filter((other) => KINDS[other[0]] === "deposit" && other[2] === site && other[1].includes(lanes[0])).length;
    const weights = rank.weights(turn, lanes[0], site, after + 1, turn);
    const weighed = weights?.length ? data.weights[weights[0]] : "";
    if (weighed) box.append(el("p", { class: "told-weight" }, weighed));
  }
  return box;
}

export function number(n: number): string {
  return n.toLocaleString("en-US");
}
