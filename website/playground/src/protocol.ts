// What the page and its worker say to each other, and what website/playground/entry.py answers.

import type { Play } from "../../../web/src/player/play.js";

export interface Row {
  when: string;
  what: string;
  line: number | null;
  code: string;
  note: string;
}

export interface Finding {
  key: string;
  rule: string;
  name: string;
  severity: "error" | "warning" | "info";
  certainty: "certain" | "likely" | "possible";
  line: number;
  message: string;
  detail: string;
  fix: string;
  symptom: string;
  rows: Row[];
  granted: string[];
  span: [number, number] | null;
}

export interface Checked {
  balanced: boolean;
  findings: Finding[];
  unknown: { line: number; what: string; why: string }[];
  not_checked: { line: number; why: string }[];
  suppressed: unknown[];
  stats: { followed: number; unshown: number };
}

/** Whole lines, and what takes their place; `end` is the first that stays. */
export interface Edit {
  line: number;
  end: number;
  text: string;
}

export type Fixes = Record<string, Edit[]>;

export interface Question {
  id: number;
  text: string;
}

export type Answer =
  | { kind: "loading"; what: string }
  | { kind: "ready" }
  | { kind: "checked"; id: number; checked: Checked; milliseconds: number }
  | { kind: "plays"; id: number; plays: Play[] }
  | { kind: "fixes"; id: number; fixes: Fixes }
  | { kind: "failed"; id: number; why: string };
