// What the timeline draws for a range of turns: much of it as densities, some as windows, little
// as single marks. However long the run is, there are never more than MOST shapes.

import { KINDS, type Rank, type Severity } from "./data";

export const MOST = 2000;

export type Level = "density" | "windows" | "marks";

export type Shape =
  | { is: "share"; row: number; from: number; to: number; spent: number; misspent: number; skipped: number }
  | { is: "window"; row: number; from: number; to: number; rank: number; turn: number; fate: "spent" | "wrong" | "skipped" }
  | { is: "mark"; row: number; at: number; rank: number; turn: number; mark: number; wrong: boolean }
  | { is: "line"; row: number; rows: number; at: number; kind: "epoch" | "fault" };

export interface Row {
  rank: number;
  lane: number;
  /** Of all optimizers of the page: what the axis says. */
  called: string;
}

export interface PinShape {
  finding: number;
  severity: Severity;
  at: number;
  last: number;
}

/** A row for each optimizer of each rank. */
export function rowsOf(ranks: Rank[]): Row[] {
  return ranks.flatMap((rank, number) => rank.lanes.map(([called], lane) => ({ rank: number, lane, called })));
}

/** How much can be told apart in so many pixels. */
export function level(ranks: Rank[], rows: Row[], from: number, to: number, width: number): Level {
  const marks = Math.max(...ranks.map((rank) => within(rank.marks, from, to)), 1);
  const shapes = ranks.reduce((sum, rank, number) => sum + within(rank.marks, from, to) * rows.filter((row) => row.rank === number).length, 0);
  if (shapes <= MOST * 0.8 && width / marks >= 5) return "marks";
  const turns = Math.max(to - from, 1);
  return width / turns >= 2.5 && turns * ranks.length * 1.2 <= MOST * 0.8 ? "windows" : "density";
}

export function shapes(ranks: Rank[], rows: Row[], from: number, to: number, width: number): Shape[] {
  const found: Shape[] = [];
  const at = level(ranks, rows, from, to, width);
  ranks.forEach((rank, number) => {
    const own = rows.flatMap((row, index) => (row.rank === number ? [index] : []));
    lines(rank, own, from, to, found);
    if (at === "density") return;
    windows(rank, number, own, from, to, found);
    if (at === "marks") marks(rank, number, own, from, to, found);
  });
  if (at === "density") shares(ranks, rows, from, to, Math.min(width / 3, 280), found);
  return found.slice(0, MOST);
}

/** How the steps of each stretch went, by optimizer. */
export function shares(ranks: Rank[], rows: Row[], from: number, to: number, most: number, found: Shape[]): void {
  const start = Math.floor(from);
  const end = Math.ceil(to);
  // Optimizers that take turns each have a step in every bin.
  const sharing = Math.max(...ranks.map((rank) => rank.lanes.length), 1) * 2;
  const bins = Math.max(1, Math.min(Math.ceil((end - start) / sharing), Math.floor(most), Math.floor((MOST * 0.75) / Math.max(rows.length, 1))));
  rows.forEach((row, index) => {
    const rank = ranks[row.rank];
    const last = rank.turns.length;
    for (let bin = 0; bin < bins; bin++) {
      const a = Math.min(start + Math.floor(((end - start) * bin) / bins), last);
      const b = Math.min(start + Math.floor(((end - start) * (bin + 1)) / bins), last);
      const spent = rank.spent[row.lane][b] - rank.spent[row.lane][a];
      const skipped = rank.skipped[row.lane][b] - rank.skipped[row.lane][a];
      if (!spent && !skipped) continue;
      const misspent = rank.misspent[row.lane][b] - rank.misspent[row.lane][a];
      const before = found[found.length - 1];
      // What looks the same is one shape: a long quiet run is one bar.
      if (before?.is === "share" && before.row === index && before.to === a && alike(before, spent, misspent, skipped)) {
        before.to = b;
        before.spent += spent;
        before.misspent += misspent;
        before.skipped += skipped;
      } else {
        found.push({ is: "share", row: index, from: a, to: b, spent, misspent, skipped });
      }
    }
  });
}

function alike(one: { spent: number; misspent: number; skipped: number }, spent: number, misspent: number, skipped: number): boolean {
  const all = spent + skipped;
  const its = one.spent + one.skipped;
  return misspent / all === one.misspent / its && skipped / all === one.skipped / its;
}

function windows(rank: Rank, number: number, own: number[], from: number, to: number, found: Shape[]): void {
  const last = Math.min(Math.ceil(to) + 1, rank.turns.length);
  for (let turn = Math.max(Math.floor(from) - 1, 0); turn < last; turn++) {
    const end = rank.end(turn);
    if (end < 0) continue;
    const [kind, [lane]] = rank.pattern(turn)[end];
    const spending = rank.spending(turn);
    const skipped = KINDS[kind] === "skip";
    const opened = turn - (spending?.[1] ?? 0);
    found.push({
      is: "window",
      row: own[lane],
      from: opening(rank, skipped ? turn : opened, lane),
      to: turn + 1,
      rank: number,
      turn,
      fate: skipped ? "skipped" : rank.misspends(turn) ? "wrong" : "spent",
    });
  }
}

/** Just before the first deposit of a turn that is not cleared within it. */
function opening(rank: Rank, turn: number, lane: number): number {
  const pattern = rank.pattern(turn);
  let first = -1;
  for (let mark = 0; mark < pattern.length; mark++) {
    const [kind, lanes] = pattern[mark];
    if (!lanes.includes(lane)) continue;
    if (KINDS[kind] === "deposit" && first < 0) first = mark;
    else if (KINDS[kind] === "clear") first = -1;
    else if (KINDS[kind] === "spend" || KINDS[kind] === "skip") break;
  }
  return turn + (Math.max(first, 0) + 0.4) / Math.max(pattern.length, 1);
}

function marks(rank: Rank, number: number, own: number[], from: number, to: number, found: Shape[]): void {
  const last = Math.min(Math.ceil(to), rank.turns.length);
  for (let turn = Math.max(Math.floor(from), 0); turn < last; turn++) {
    rank.pattern(turn).forEach(([kind, lanes, site], mark) => {
      if (KINDS[kind] === "epoch" || KINDS[kind] === "fault") return;
      const at = rank.position(turn, mark);
      const wrong = (lane: number) => (KINDS[kind] === "spend" ? rank.misspends(turn) : KINDS[kind] === "deposit" && rank.leaked(site, lane));
      if (!lanes.length) for (const row of own) found.push({ is: "mark", row, at, rank: number, turn, mark, wrong: false });
      for (const lane of lanes) found.push({ is: "mark", row: own[lane], at, rank: number, turn, mark, wrong: wrong(lane) });
    });
  }
}

/** What concerns a whole rank runs through all its lanes; many epochs would hide all else. */
function lines(rank: Rank, own: number[], from: number, to: number, found: Shape[]): void {
  for (const [kind, all] of [["epoch", rank.epochs], ["fault", rank.faults]] as const) {
    const seen = between(all, from, to);
    const every = kind === "epoch" && seen.length > 60 ? Infinity : Math.ceil(seen.length / 120);
    for (let i = 0; i < seen.length && every !== Infinity; i += every) {
      found.push({ is: "line", row: own[0] ?? 0, rows: own.length, at: seen[i], kind });
    }
  }
}

function between(sorted: number[], from: number, to: number): number[] {
  return sorted.filter((at) => at >= from && at <= to);
}

function within(sums: Uint32Array, from: number, to: number): number {
  const last = sums.length - 1;
  return sums[Math.min(Math.ceil(to), last)] - sums[Math.min(Math.floor(from), last)];
}
