// What the cells hold now: a lane for each optimizer, a row for each cell, a block for each deposit.

import { stateOf } from "./chart.js";
import { held, listed } from "./play.js";
import { part } from "./parts.js";

/** @typedef {import("./play.js").Play} Play */
/** @typedef {import("./play.js").Step} Step */
/** @typedef {import("./play.js").Cell} Cell */
/** @typedef {import("./play.js").Held} Held */

const MOST_BLOCKS = 16;

/** @param {Play} play @param {Step} step @param {Step | undefined} before The one that was shown before it, if it was. */
export function lanes(play, step, before) {
  const named = [...play.lanes.map((lane) => lane.name), ""];
  return named.flatMap((name) => {
    const cells = step.cells.filter((cell) => cell.lane === name);
    if (!cells.length) return [];
    const made = play.lanes.find((lane) => lane.name === name);
    const owner = part("h4", "", name || "no optimizer owns");
    if (made?.line) owner.append(part("small", "", ` line ${made.line}`));
    return [part("section", "lp-lane", owner, ...cells.map((cell) => row(cell, step, before)))];
  });
}

/** @param {Cell} cell @param {Step} step @param {Step | undefined} before */
function row(cell, step, before) {
  const touched = cell.names.some((name) => step.touches.includes(name));
  const made = part("div", `lp-cell${touched ? " lp-touched" : ""}`);
  const name = part("span", "lp-name", listed(cell.names), part("small", "", ".grad"));
  name.title = cell.names.join(", ");
  const had = before ? held(before.cells.find((one) => one.names.some((n) => cell.names.includes(n))) ?? null) : Infinity;
  const holds = part("span", "lp-holds");
  let number = 0;
  for (const holding of cell.holds) {
    holds.append(deposit(holding, Math.max(0, number + holding.count - had)));
    number += holding.count;
  }
  if (!cell.holds.length) holds.append(part("span", "lp-empty", cell.zeros ? "zeros" : "None"));
  made.append(name, holds);
  return made;
}

/** @param {Held} holding @param {number} fresh How many of its blocks have just come. */
function deposit(holding, fresh) {
  const blocks = part("span", "lp-blocks");
  const shown = Math.min(holding.count, MOST_BLOCKS);
  for (let number = 0; number < shown; number++) {
    blocks.append(part("i", `lp-block ${stateOf(holding)}${number >= shown - fresh ? " lp-new" : ""}`));
  }
  const line = holding.line === null ? "elsewhere" : `line ${holding.line}`;
  const told = [holding.weight, holding.scaled ? "scaled" : "", holding.clipped ? "clipped" : ""];
  told.push(holding.local ? "this rank only" : "", holding.left_over ? "left over" : "");
  if (holding.is_spent) told.push(holding.spent === null ? "spent" : `spent in line ${holding.spent}`);
  else told.push("not spent yet");
  const words = part("small", "", told.filter(Boolean).join(" · "));
  const times = holding.count > 1 ? `${holding.count} × ` : "";
  return part("span", "lp-deposit", blocks, part("span", "lp-told", part("b", "", times + line), words));
}
