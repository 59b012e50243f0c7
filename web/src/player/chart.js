// The chart: what every cell holds after each step, side by side. One drags the mark over it.

import { KINDS, OTHER, held, isFaulty, listed, placeOf, roundOf, rowsOf } from "./play.js";
import { part, sign } from "./parts.js";

/** @typedef {import("./play.js").Play} Play */
/** @typedef {import("./play.js").Held} Held */

export class Chart {
  /** @param {Play} play @param {(at: number) => void} go */
  constructor(play, go) {
    this.play = play;
    /** @type {HTMLElement[]} */
    this.columns = [];
    this.track = part("div", "lp-track");
    this.track.setAttribute("role", "slider");
    this.track.setAttribute("aria-label", "Step");
    this.track.setAttribute("aria-valuemin", "1");
    this.track.setAttribute("aria-valuemax", String(play.steps.length));
    this.track.tabIndex = 0;
    this.scroller = part("div", "lp-scroller", this.track);
    const rows = rowsOf(play);
    const labels = part("div", "lp-labels", part("span", "lp-label lp-label-rounds"));
    for (const row of rows) {
      const owner = play.lanes.length > 1 || !row.lane ? part("small", "", row.lane || "no optimizer") : "";
      const label = part("span", "lp-label", part("b", "", listed(row.names, 2)), owner);
      label.title = row.names.join(", ");
      labels.append(label);
    }
    labels.append(part("span", "lp-label lp-label-signs"));
    this.element = part("div", "lp-chart", labels, this.scroller);
    const most = rows.map((row) => Math.max(1, ...row.at.map(held)));
    let before = "";
    let isOdd = false;
    play.steps.forEach((step, number) => {
      const column = part("div", `lp-column${isFaulty(step) ? " lp-faulty" : ""}`);
      const round = roundOf(step);
      if (round !== before) isOdd = !isOdd;
      if (isOdd) column.classList.add("lp-odd");
      const inner = step.rounds.at(-1);
      const head = part("span", "lp-head", round !== before && inner ? String(inner.number) : "");
      if (round !== before && inner && inner.number === 1 && number) column.classList.add("lp-epoch");
      before = round;
      column.append(head);
      rows.forEach((row, place) => {
        const cell = row.at[number];
        const bars = part("span", "lp-bars");
        for (const holding of cell?.holds ?? []) bars.append(bar(holding, most[place] ?? 1));
        column.append(bars);
      });
      const kind = KINDS[step.kind] ?? OTHER;
      column.append(sign(kind.sign, `lp-sign lp-k-${KINDS[step.kind] ? step.kind : "other"}`));
      column.title = `${round ? `${round}: ` : ""}${placeOf(step)} ${step.says}`;
      this.columns.push(column);
      this.track.append(column);
    });
    this.listen(go);
  }

  /** @param {(at: number) => void} go */
  listen(go) {
    /** @param {PointerEvent} event */
    const follow = (event) => {
      const box = this.track.getBoundingClientRect();
      const part = (event.clientX - box.left) / Math.max(box.width, 1);
      go(Math.floor(part * this.columns.length));
    };
    this.track.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      follow(event);
      if (event.pointerType === "mouse") this.track.setPointerCapture(event.pointerId); // a finger scrolls
    });
    this.track.addEventListener("pointermove", (event) => {
      if (event.buttons && this.track.hasPointerCapture(event.pointerId)) follow(event);
    });
  }

  /** @param {number} at @param {string} said */
  show(at, said) {
    this.columns.forEach((column, number) => {
      column.classList.toggle("lp-now-column", number === at);
      column.classList.toggle("lp-to-come", number > at);
    });
    this.track.setAttribute("aria-valuenow", String(at + 1));
    this.track.setAttribute("aria-valuetext", said);
    const column = this.columns[at];
    if (!column) return;
    const { scroller } = this;
    const room = scroller.clientWidth;
    if (column.offsetLeft < scroller.scrollLeft + 20 || column.offsetLeft + column.offsetWidth > scroller.scrollLeft + room - 20)
      scroller.scrollLeft = column.offsetLeft - room / 2;
  }
}

/** @param {Held} holding @param {number} most */
function bar(holding, most) {
  const made = part("i", `lp-bar ${stateOf(holding)}`);
  made.style.height = `${(100 * holding.count) / most}%`;
  made.style.setProperty("--lp-count", String(holding.count));
  return made;
}

/** @param {Held} holding */
export const stateOf = (holding) => `lp-${holding.is_spent ? "spent" : "fresh"}${holding.left_over ? " lp-left" : ""}`;
