// A number for each step: losses, learning rates, gradient norms, update-to-weight ratios.

import { axis, chart, FONT, short, steps, tooltip, type Chart, type Option } from "./charts";
import { KINDS, unpacked, type Data, type Line, type Measure, type Measures, type Rank } from "./data";
import { el } from "./dom";
import { number } from "./spend";
import type { Colours } from "./theme";

const DASHES = ["solid", [6, 4], [2, 3], [10, 4, 2, 4]];
const HUES = ["accent", "again", "left", "skipped", "soft"] as const;
const MOST_MARKS = 400;
const RULE = "rule of thumb";

/** `left` is where the steps begin, as in the heat maps below. */
export function curves(box: HTMLElement, data: Data, ranks: Rank[], measures: Measures, kind: Measure, left: (width: number) => number): Chart {
  const log = isLogarithmic(kind, measures.lines);
  const shown = (value: number | null) => value !== null && (!log || value > 0);
  const lines = measures.lines.map((line) => {
    const turns = unpacked(line.turns); // the distances between them
    for (let index = 1; index < turns.length; index++) turns[index] += turns[index - 1];
    const name = ranks.length > 1 ? `rank ${line.rank} ${line.lane}` : line.lane;
    return { ...line, name, points: line.values.map((value, index) => [turns[index] + 1, shown(value) ? value : null]) };
  });
  const skips = kind === "norm" ? ended(ranks[0], "skip") : [];
  const clips = kind === "norm" ? having(ranks[0], "clip") : [];
  const turns = Math.max(...ranks.map((rank) => rank.turns.length), 1);
  const lanes = [...new Set(lines.map((line) => line.lane))];
  return chart(box, (paint, width) => ({
    grid: { left: left(width), right: 16, top: 20, bottom: 30 },
    tooltip: { ...tooltip(paint), trigger: "axis", axisPointer: { type: "line", lineStyle: { color: paint.soft } }, formatter: (events: Option[]) => told(events, data, measures) },
    xAxis: steps(paint, turns),
    yAxis: { ...axis(paint), ...(log ? { type: "log", ...range(lines.flatMap((line) => line.values).concat(kind === "ratio" ? [1e-3] : [])) } : { type: "value", scale: kind === "loss" }), axisLine: { show: false }, axisLabel: { ...axis(paint).axisLabel, formatter: short } },
    dataZoom: [{ type: "inside", filterMode: "none", zoomOnMouseWheel: false, moveOnMouseMove: false, moveOnMouseWheel: false, preventDefaultMouseMove: false }],
    series: [
      ...lines.map((line, index) => ({
        type: "line",
        name: line.name,
        data: line.points,
        symbol: line.points.length > 60 ? "none" : "circle",
        symbolSize: 4,
        sampling: "minmax",
        connectNulls: false,
        lineStyle: { width: 1.4, color: hue(lanes.indexOf(line.lane), paint), type: DASHES[(ranks.findIndex((rank) => rank.number === line.rank) + DASHES.length) % DASHES.length] },
        itemStyle: { color: hue(lanes.indexOf(line.lane), paint) },
        emphasis: { disabled: true },
        ...(index === 0 ? { markLine: markLine(data, ranks, paint, width) } : {}),
      })),
      ...(kind === "norm" ? [strip("clipped", clips, paint.soft, "M2 4h12M2 12h12M5 8h6"), strip("skipped", skips, paint.skipped, "M3 3h10v10h-10z")] : []),
      ...(kind === "ratio" ? [ruleOfThumb(paint, turns)] : []),
    ],
  }));
}

/** Norms and ratios always; losses where they span more than two powers of ten, and all are positive. */
function isLogarithmic(kind: Measure, lines: Line[]): boolean {
  if (kind === "norm" || kind === "ratio") return true;
  if (kind === "rate") return false;
  const values = lines.flatMap((line) => line.values).filter((value) => value !== null);
  let low = Infinity;
  let high = 0;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > 0 && high / low > 100;
}

function hue(lane: number, paint: Colours): string {
  return paint[HUES[Math.max(lane, 0) % HUES.length]];
}

/** Turns that ended so, as signs at the top of the chart. */
function strip(name: string, turns: number[], colour: string, path: string): Option {
  const every = Math.max(1, Math.ceil(turns.length / MOST_MARKS));
  return {
    type: "custom",
    name,
    clip: true,
    z: 4,
    data: turns.filter((_, index) => index % every === 0).map((turn) => [turn + 1, 1]),
    encode: { x: 0 },
    renderItem: (params: Option, api: Option) => {
      const [x] = api.coord([api.value(0), 1]);
      const y = params.coordSys.y + (name === "skipped" ? 2 : params.coordSys.height - 7);
      return name === "skipped"
        ? { type: "path", shape: { pathData: path, x: x - 5, y, width: 9, height: 9 }, style: { fill: "transparent", stroke: colour, lineWidth: 1.5 } }
        : { type: "rect", shape: { x: x - 0.6, y, width: 1.2, height: 7 }, style: { fill: colour, opacity: 0.7 } };
    },
    tooltip: { show: false },
  };
}

function ruleOfThumb(paint: Colours, turns: number): Option {
  return { type: "line", name: RULE, data: [[0, 1e-3], [turns, 1e-3]], symbol: "none", silent: true, z: 1, lineStyle: { color: paint.soft, type: "dotted", width: 1.5 } };
}

function markLine(data: Data, ranks: Rank[], paint: Colours, width: number): Option {
  const pins = ranks.flatMap((rank) => rank.pins).filter((pin, index, all) => all.findIndex((other) => other[0] === pin[0]) === index);
  return {
    silent: true,
    symbol: "none",
    label: { show: width > 560, formatter: "{b}", position: "end", color: paint.soft, fontFamily: FONT, fontSize: 11, distance: 3 },
    data: [
      ...pins.slice(0, 20).map(([finding, turn]) => ({ name: String(finding + 1), xAxis: turn + 1, lineStyle: { color: paint[data.findings[finding].severity], type: "solid", width: 1, opacity: 0.5 } })),
    ],
  };
}

function range(values: (number | null)[]): { min?: number; max?: number } {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !(value > 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (!(high > 0)) return { min: 0.1, max: 10 };
  return { min: 10 ** Math.floor(Math.log10(low)), max: 10 ** Math.max(Math.ceil(Math.log10(high)), Math.floor(Math.log10(low)) + 1) };
}

function told(events: Option[], data: Data, measures: Measures): HTMLElement {
  const lines = events.filter((event) => event.seriesType === "line" && event.seriesName !== RULE);
  const turn = lines[0]?.value[0] ?? 0;
  return el(
    "div",
    { class: "told" },
    el("p", { class: "told-head" }, `${measures.binned ? "about " : ""}${data.noun} ${number(turn)}`),
    ...lines.map((event) => el("p", {}, `${event.seriesName}: `, el("b", {}, event.value[1] === null ? "not a number that can be drawn here" : short(event.value[1])))),
  );
}

function ended(rank: Rank, kind: string): number[] {
  const those = rank.patterns.map((pattern) => pattern.some((mark) => KINDS[mark[0]] === kind));
  return [...rank.turns.keys()].filter((turn) => those[rank.turns[turn]]);
}

const having = ended;
