// What the timeline says about the shape under the pointer.

import { KINDS, type Data, type Rank } from "./data";
import { counted, el } from "./dom";
import type { Row, Shape } from "./shapes";
import { describeMark, describeTurn, number } from "./spend";
import { SIGNS } from "./symbols";

export function tellShape(shape: Shape, data: Data, ranks: Rank[], rows: Row[]): HTMLElement {
  switch (shape.is) {
    case "window":
      return describeTurn(data, ranks[shape.rank], shape.turn, ranks.length > 1);
    case "mark": {
      const rank = ranks[shape.rank];
      const kind = KINDS[rank.pattern(shape.turn)[shape.mark][0]];
      if (kind === "spend" || kind === "skip") return describeTurn(data, rank, shape.turn, ranks.length > 1);
      return describeMark(data, rank, shape.turn, shape.mark, SIGNS[kind].says);
    }
    case "share": {
      const parts = [counted(shape.spent - shape.misspent, "step")];
      if (shape.misspent) parts.push(`${number(shape.misspent)} that spent something again, or of another's loss`);
      if (shape.skipped) parts.push(`${number(shape.skipped)} skipped`);
      return el("div", { class: "told" }, el("p", { class: "told-head" }, rows[shape.row].called), el("p", {}, `${data.noun}s ${number(shape.from + 1)} to ${number(shape.to)}: ${parts.join(", ")}`), el("p", { class: "told-where" }, "Click to look closer."));
    }
    case "line":
      return el("div", { class: "told" }, shape.kind === "fault" ? "An exception broke off the iteration." : "An epoch ended.");
  }
}

export function tellFinding(data: Data, finding: number): HTMLElement {
  const { rule, says, where } = data.findings[finding];
  return el("div", { class: "told" }, el("p", { class: "told-head" }, `${rule}: ${says}`), el("p", { class: "told-where" }, el("code", {}, where)), el("p", {}, "Click to read on."));
}
