// What the page was made from, unpacked so that any turn is found at once.

export const KINDS = ["deposit", "edit", "unscale", "clip", "norm", "spend", "skip", "clear", "update", "schedule", "sync", "fault", "epoch", "end"] as const;
export type Kind = (typeof KINDS)[number];

export type Severity = "error" | "warning" | "info";
export type Mark = [kind: number, lanes: number[], site: number];
export type Part = [site: number, count: number, again: 0 | 1, parameters: number];
export type Spending = [lane: number, opened: number, parts: Part[]];
export type Pin = [finding: number, turn: number, mark: number, last: number];

interface PackedRank {
  rank: number;
  lanes: [called: string, parameters: number][];
  patterns: Mark[][];
  turns: number[];
  deposits: number[] | null;
  spends: number[] | null;
  spendings: Spending[];
  pins: Pin[];
  times: number[];
}

export interface Line {
  rank: number;
  lane: string;
  turns: number[];
  values: (number | null)[];
}

export interface Heat {
  rank: number;
  rows: string[];
  lanes: string[];
  columns: number;
  low: number;
  high: number;
  cells: string;
}

export type Measure = "loss" | "rate" | "norm" | "ratio";

export interface Measures {
  lines: Line[];
  binned: boolean;
  heats: Heat[];
}

export interface Data {
  sites: [where: string, code: string][];
  weights: string[];
  findings: { rule: string; severity: Severity; says: string; where: string; count: number }[];
  ranks: PackedRank[];
  flows: { sites: number[]; lanes: string[]; links: [site: number, lane: number, fate: number, entries: number, leak: 0 | 1][] };
  differences: [turn: number, last: number, what: string][];
  noun: string;
  measures: Record<Measure, Measures | null>;
}

/** Undoes the packing: a negative number goes back that far, and the next says how much to copy. */
export function unpacked(packed: number[]): Uint32Array {
  let length = 0;
  for (let i = 0; i < packed.length; i++) length += packed[i] < 0 ? packed[++i] : 1;
  const values = new Uint32Array(length);
  let at = 0;
  for (let i = 0; i < packed.length; i++) {
    if (packed[i] >= 0) {
      values[at++] = packed[i];
      continue;
    }
    const back = -packed[i];
    for (let copied = packed[++i]; copied > 0; copied--, at++) values[at] = values[at - back];
  }
  return values;
}

/** Sites and lanes between which there is a leak. */
export function leaksOf({ flows }: Data): Set<string> {
  return new Set(flows.links.filter((link) => link[4]).map(([site, lane]) => `${flows.sites[site]} ${flows.lanes[lane]}`));
}

/** One process of the run. */
export class Rank {
  readonly number: number;
  readonly lanes: [called: string, parameters: number][];
  readonly patterns: Mark[][];
  readonly turns: Uint32Array;
  readonly pins: Pin[];
  readonly spendings: Spending[];
  readonly epochs: number[] = [];
  readonly faults: number[] = [];
  /** For each spending: does it spend something again, or what was meant for another optimizer? */
  readonly wrong: boolean[];
  /** Sums up to each turn: of all marks, and by lane of spends, of wrong ones, of skips. */
  readonly marks: Uint32Array;
  readonly spent: Uint32Array[];
  readonly misspent: Uint32Array[];
  readonly skipped: Uint32Array[];
  private readonly deposits: Uint32Array | null;
  private readonly spends: Uint32Array | null;
  private readonly depositsBefore: Uint32Array;
  private readonly spendsBefore: Uint32Array;
  private readonly times: number[];

  constructor(
    packed: PackedRank,
    private readonly leaks: Set<string>,
  ) {
    this.number = packed.rank;
    this.lanes = packed.lanes;
    this.patterns = packed.patterns;
    this.pins = packed.pins;
    this.spendings = packed.spendings;
    this.times = packed.times;
    this.turns = unpacked(packed.turns);
    this.deposits = packed.deposits && unpacked(packed.deposits);
    this.spends = packed.spends && unpacked(packed.spends);
    this.wrong = this.spendings.map(([lane, , parts]) => parts.some((part) => part[2] || this.leaked(part[0], lane)));
    const sums = () => new Uint32Array(this.turns.length + 1);
    this.marks = sums();
    this.depositsBefore = sums();
    this.spendsBefore = sums();
    this.spent = this.lanes.map(sums);
    this.misspent = this.lanes.map(sums);
    this.skipped = this.lanes.map(sums);
    this.sumUp();
  }

  private sumUp(): void {
    const count = (pattern: Mark[], kind: Kind) => pattern.filter((mark) => KINDS[mark[0]] === kind).length;
    const deposits = this.patterns.map((pattern) => count(pattern, "deposit"));
    const spends = this.patterns.map((pattern) => count(pattern, "spend"));
    const ends = this.patterns.map((pattern) => pattern.find((mark) => KINDS[mark[0]] === "spend" || KINDS[mark[0]] === "skip"));
    const special = this.patterns.map((pattern) => pattern.some((mark) => KINDS[mark[0]] === "epoch" || KINDS[mark[0]] === "fault"));
    for (let turn = 0; turn < this.turns.length; turn++) {
      const pattern = this.turns[turn];
      this.marks[turn + 1] = this.marks[turn] + this.patterns[pattern].length;
      this.depositsBefore[turn + 1] = this.depositsBefore[turn] + deposits[pattern];
      this.spendsBefore[turn + 1] = this.spendsBefore[turn] + spends[pattern];
      for (let lane = 0; lane < this.lanes.length; lane++) {
        const ended = ends[pattern]?.[1].includes(lane);
        const kind = ended ? KINDS[ends[pattern]![0]] : "";
        const spending = kind === "spend" && this.spends ? this.spends[this.spendsBefore[turn]] : -1;
        this.spent[lane][turn + 1] = this.spent[lane][turn] + (kind === "spend" ? 1 : 0);
        this.misspent[lane][turn + 1] = this.misspent[lane][turn] + (spending >= 0 && this.wrong[spending] ? 1 : 0);
        this.skipped[lane][turn + 1] = this.skipped[lane][turn] + (kind === "skip" ? 1 : 0);
      }
      if (special[pattern]) this.collect(turn);
    }
  }

  private collect(turn: number): void {
    this.pattern(turn).forEach((mark, index) => {
      if (KINDS[mark[0]] === "epoch") this.epochs.push(this.position(turn, index));
      if (KINDS[mark[0]] === "fault") this.faults.push(this.position(turn, index));
    });
  }

  pattern(turn: number): Mark[] {
    return this.patterns[this.turns[turn]] ?? [];
  }

  /** A turn is one wide; what happens in it is spread evenly, and its step stands at its end. */
  position(turn: number, mark: number): number {
    return turn + (mark + 1) / Math.max(this.pattern(turn).length, 1);
  }

  /** The mark that ends a turn; -1 where the run ended first. */
  end(turn: number): number {
    return this.pattern(turn).findIndex((mark) => KINDS[mark[0]] === "spend" || KINDS[mark[0]] === "skip");
  }

  spending(turn: number): Spending | null {
    return this.spendings[this.spendingNumber(turn)] ?? null;
  }

  misspends(turn: number): boolean {
    return this.wrong[this.spendingNumber(turn)] ?? false;
  }

  private spendingNumber(turn: number): number {
    const end = this.end(turn);
    if (end < 0 || KINDS[this.pattern(turn)[end][0]] !== "spend" || !this.spends) return -1;
    return this.spends[this.spendsBefore[turn]];
  }

  /** Is what this site deposits into this lane spent although it was meant for another? */
  leaked(site: number, lane: number): boolean {
    return this.leaks.has(`${site} ${this.lanes[lane][0]}`);
  }

  /** Numbers of the weights of the latest deposits of a site into a lane, the newest last. */
  weights(turn: number, lane: number, site: number, count: number, oldest: number): number[] | null {
    if (!this.deposits) return null;
    const found: number[] = [];
    for (let t = turn; t >= oldest && found.length < count; t--) {
      const pattern = this.pattern(t);
      let deposit = this.depositsBefore[t + 1];
      for (let m = pattern.length - 1; m >= 0 && found.length < count; m--) {
        if (KINDS[pattern[m][0]] !== "deposit") continue;
        deposit--;
        if (pattern[m][2] === site && pattern[m][1].includes(lane)) found.push(this.deposits[deposit]);
      }
    }
    return found.reverse();
  }

  /** About when a turn ended, in seconds: times are kept of some turns only. */
  time(turn: number): number {
    if (!this.times.length) return 0;
    const at = (turn / Math.max(this.turns.length - 1, 1)) * (this.times.length - 1);
    const low = Math.floor(at);
    const high = Math.min(low + 1, this.times.length - 1);
    return (this.times[low] + (this.times[high] - this.times[low]) * (at - low)) / 1000;
  }
}
