// What a play is, and what the player asks of it. The website shows these files as they are, without
// a build, so they are JavaScript; their types are in the comments and are checked.

/**
 * @typedef {{ line: number | null, count: number, weight: string, scaled: boolean, clipped: boolean,
 *   spent: number | null, is_spent: boolean, left_over: boolean, local: boolean }} Held
 * A deposit, or several that are alike.
 * @typedef {{ lane: string, names: string[], zeros: boolean, holds: Held[] }} Cell
 * @typedef {{ rule: string, name: string, detail: string }} Fault
 * @typedef {{ line: number | null, where?: string, kind: string, says: string, touches: string[],
 *   rounds: { unit: string, number: number }[], cells: Cell[], faults: Fault[] }} Step
 * @typedef {{ version: number, path: string, what: string, code: string[], first?: number,
 *   lanes: { name: string, line: number | null }[], steps: Step[], note?: string }} Play
 * What gradledger.static.playing makes of a program, and the report of a recording. `first`: the number of the first line of `code`.
 * @typedef {{ lane: string, names: string[], at: (Cell | null)[] }} Row
 * Cells that are alike in every step.
 */

/** What happened, by the kind of the event: its sign has the shape that it has in reports. */
export const KINDS = /** @type {Record<string, { sign: string, says: string }>} */ ({
  backward: { sign: "M2 3h12l-6 11z", says: "backward deposits" },
  step: { sign: "M2.5 2.5h11v11h-11z", says: "step spends" },
  clear: { sign: "M8 3a5 5 0 1 0 .01 0z", says: "clears" },
  skipped: { sign: "M3 3h10v10h-10zM3 13l10-10", says: "step skipped" },
  fault: { sign: "M3 3l10 10M13 3l-10 10", says: "exception" },
  clip: { sign: "M2 4h12M2 12h12M5 8h6", says: "clips" },
});
export const OTHER = { sign: "M8 5a3 3 0 1 0 .01 0z", says: "something else" };

/** `epoch 1, iteration 3`. @param {Step} step */
export const roundOf = (step) => step.rounds.map((round) => `${round.unit} ${round.number}`).join(", ");

/** @param {Step} step */
export const isFaulty = (step) => step.faults.length > 0;

/** How many deposits a cell holds. @param {Cell | null} cell */
export const held = (cell) => (cell ? cell.holds.reduce((sum, holding) => sum + holding.count, 0) : 0);

/** `line 12`, or where it is if that is in another file. @param {Step} step */
export const placeOf = (step) => (step.line === null ? (step.where ?? "elsewhere") : `line ${step.line}`);

/** The rows of the chart: for each lane, the cells that have the same history. @param {Play} play @returns {Row[]} */
export function rowsOf(play) {
  /** @type {Map<string, { lane: string, history: string[], at: (Cell | null)[] }>} */
  const names = new Map();
  play.steps.forEach((step, number) => {
    for (const cell of step.cells) {
      const told = JSON.stringify([cell.zeros, cell.holds]);
      for (const name of cell.names) {
        const known = names.get(name) ?? { lane: "", history: [], at: [] };
        names.set(name, known);
        known.lane ||= cell.lane;
        known.history[number] = told;
        known.at[number] = cell;
      }
    }
  });
  /** @type {Map<string, Row>} */
  const rows = new Map();
  for (const [name, { lane, history, at }] of names) {
    const key = JSON.stringify([lane, history]);
    const row = rows.get(key);
    if (row) row.names.push(name);
    else rows.set(key, { lane, names: [name], at: Array.from({ length: play.steps.length }, (_, i) => at[i] ?? null) });
  }
  return [...rows.values()].sort((one, other) => Number(one.lane === "") - Number(other.lane === ""));
}

/** `encoder, head and 3 more`. @param {string[]} names @param {number} most */
export function listed(names, most = 3) {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
