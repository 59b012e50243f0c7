// One line about a check: what was found, or why nothing can be said.

import type { Checked } from "./protocol";

export interface Verdict {
  says: string;
  tone: "bad" | "good" | "plain" | "wrong";
}

export function verdict(checked: Checked, milliseconds: number, hadOne: boolean): Verdict {
  const [trouble] = checked.not_checked;
  if (trouble) {
    const where = trouble.line ? `Line ${trouble.line}: ` : "";
    return { says: `${where}${trouble.why}.${hadOne ? " Shown is what was found before." : ""}`, tone: "wrong" };
  }
  const took = `${Math.max(1, Math.round(milliseconds)).toLocaleString("en-US")} ms`;
  const { findings, unknown, stats } = checked;
  if (findings.length) return { says: `The books do not balance: ${counted(findings.length, "finding")} · ${took}`, tone: "bad" };
  if (unknown.length) return { says: `Nothing found, but ${counted(unknown.length, "part")} could not be followed · ${took}`, tone: "plain" };
  if (stats.followed) {
    const followed = `${counted(stats.followed, "training loop")} followed`;
    if (checked.balanced) return { says: `The books balance: ${followed} · ${took}`, tone: "good" };
    return { says: `No fault found: ${followed}. ${counted(stats.unshown, "finding")} that ${stats.unshown === 1 ? "is" : "are"} only possible: gradledger check --possible · ${took}`, tone: "good" };
  }
  return { says: `No gradients here: there is nothing to follow · ${took}`, tone: "plain" };
}

const counted = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? "" : "s"}`;
