// The findings as a list: what is wrong, on which path, what that takes for granted, and the cure.

import { part } from "../../../web/src/player/parts.js";
import type { Checked, Finding, Fixes, Row } from "./protocol";

export interface Deeds {
  /** The folder of the rules' pages. */
  rules: string;
  goTo(line: number): void;
  fix(finding: Finding): void;
}

/** The list. `fixes` come later than the findings. */
export function list(checked: Checked, fixes: Fixes, deeds: Deeds): HTMLElement[] {
  const made = checked.findings.map((finding) => card(finding, finding.key in fixes, deeds));
  if (checked.unknown.length) {
    const rows = checked.unknown.map((one) => part("li", "", toLine(one.line, deeds), ` ${one.what}: ${one.why}`));
    made.push(part("section", "pg-card pg-unknown", part("h3", "", "Not followed"), part("p", "", "About this code nothing is said, good or bad."), part("ul", "", ...rows)));
  }
  return made;
}

function card(finding: Finding, curable: boolean, deeds: Deeds): HTMLElement {
  const rule = part("a", "pg-rule", finding.rule);
  rule.href = `${deeds.rules}${finding.rule}.html`;
  const head = part("h3", "", rule, ` ${finding.name} `, part("span", "pg-certainty", finding.certainty));
  const said = part("p", "", toLine(finding.line, deeds), ` ${finding.message}: `, part("b", "", finding.detail), ".");
  const cure = part("p", "pg-cure", part("b", "", "Fix: "), `${finding.fix}.`);
  const made = part("section", `pg-card pg-${finding.severity}`, head, said, path(finding.rows, deeds));
  if (finding.granted.length) made.append(part("p", "pg-granted", `Taken for granted: ${finding.granted.join("; ")}.`));
  made.append(part("p", "pg-granted", `What you see: ${finding.symptom}.`), cure);
  if (curable) {
    const button = part("button", "pg-button pg-fix", "Apply the fix");
    button.type = "button";
    button.addEventListener("click", () => deeds.fix(finding));
    made.append(button);
  }
  return made;
}

function path(rows: Row[], deeds: Deeds): HTMLElement {
  const made = part("table", "pg-path");
  made.setAttribute("aria-label", "What happens, in order");
  const timed = rows.some((row) => row.when);
  for (const row of rows) {
    const line = part("tr", "");
    if (timed) line.append(part("td", "pg-when", row.when));
    const code = part("td", "", row.line === null ? "" : toLine(row.line, deeds), " ");
    if (row.code) code.append(part("code", "", row.code));
    if (row.note) code.append(part("span", "pg-note", ` ${row.note}`));
    line.append(part("td", `pg-what pg-what-${row.what}`, row.what), code);
    made.append(line);
  }
  return made;
}

function toLine(line: number, deeds: Deeds): HTMLElement {
  const made = part("button", "pg-line", `line ${line}`);
  made.type = "button";
  made.addEventListener("click", () => deeds.goTo(line));
  return made;
}
