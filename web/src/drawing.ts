// How the shapes of the timeline look. Each function gives ECharts what to draw for one of them.

import { FONT, type Option } from "./charts";
import type { Kind } from "./data";
import type { PinShape, Shape } from "./shapes";
import { SIGNS } from "./symbols";
import type { Colours } from "./theme";

export const LANE = 52;

/** Of what went as it should. */
const PALE = 0.3;
const LEAST_WIDTH = 3;
const LEAST_HEIGHT = 8;

/** How steps went in a stretch: a pale bar for all of them, and what went wrong or was skipped as
 * a part of its height. */
export function drawShare(shape: Extract<Shape, { is: "share" }>, api: Option, paint: Colours, thickness: number): Option {
  const [left, middle] = api.coord([shape.from, shape.row]);
  const [right] = api.coord([shape.to, shape.row]);
  const height = Math.min((api.size([0, 1]) as number[])[1], LANE) * thickness;
  const all = shape.spent + shape.skipped;
  const top = middle - height / 2;
  const width = Math.max(right - left, 1) + 0.3;
  const rect = (x: number, y: number, wide: number, high: number, fill: string, opacity = 1) => ({ type: "rect", shape: { x, y, width: wide, height: high }, style: { fill, opacity } });
  const children = [rect(left, top, width, height, paint.spent, PALE)];
  let drawn = 0;
  for (const [n, fill] of [
    [shape.misspent, paint.again],
    [shape.skipped, paint.skipped],
  ] as const) {
    if (!n) continue;
    // A single wrong or skipped step among thousands is still seen.
    const wide = Math.max(width, LEAST_WIDTH);
    const high = Math.max((n / all) * height, Math.min(LEAST_HEIGHT, height / 3));
    children.push(rect(left, top, wide, height, fill, PALE), rect(left, top + height - drawn - high, wide, high, fill));
    drawn += high;
  }
  return { type: "group", children };
}

/** A box from the first deposit to the step; where marks are too small, the step is its right edge. */
export function drawWindow(shape: Extract<Shape, { is: "window" }>, api: Option, paint: Colours, detailed: boolean): Option {
  const [left, middle] = api.coord([shape.from, shape.row]);
  const [right] = api.coord([shape.to, shape.row]);
  const height = LANE * 0.62;
  const colour = { spent: paint.spent, wrong: paint.again, skipped: paint.skipped }[shape.fate];
  const width = Math.max(right - left, 1);
  const edge = Math.min(3, width * 0.5);
  const y = middle - height / 2;
  const box = { type: "rect", shape: { x: left, y, width, height, r: width > 12 ? 3 : 0 }, style: { fill: colour, opacity: detailed ? 0.16 : 0.3 } };
  const step = { type: "rect", shape: { x: right - edge, y, width: edge, height }, style: { fill: colour } };
  return { type: "group", children: detailed ? [box] : [box, step] };
}

export function drawMark(shape: Extract<Shape, { is: "mark" }>, kind: Kind, api: Option, paint: Colours): Option {
  const sign = SIGNS[kind];
  const ends = kind === "spend" || kind === "skip";
  const size = ends ? 14 : 10;
  const [x, middle] = api.coord([shape.at, shape.row]);
  const colour = shape.wrong ? paint.again : paint[sign.colour];
  return {
    type: "path",
    shape: { pathData: sign.path, x: ends ? x - size - 1 : x - size / 2, y: middle - size / 2, width: size, height: size },
    style: { fill: sign.hollow ? "transparent" : colour, stroke: colour, lineWidth: sign.hollow ? 1.6 : 0.6 },
  };
}

/** Through all lanes of a rank. */
export function drawLine(shape: Extract<Shape, { is: "line" }>, api: Option, paint: Colours, lane: number): Option {
  const [x, middle] = api.coord([shape.at, shape.row]);
  const fault = shape.kind === "fault";
  return {
    type: "line",
    shape: { x1: x, x2: x, y1: middle - lane / 2, y2: middle + lane * (shape.rows - 0.5) },
    style: { stroke: fault ? paint.fault : paint.soft, lineWidth: fault ? 2 : 1, lineDash: fault ? undefined : [3, 3] },
  };
}

/** A number in a circle, how often where there is room, a line down to where it was seen first, and one along to where last. */
export function drawPin(pin: PinShape, often: string, params: Option, api: Option, paint: Colours): Option {
  const [x] = api.coord([api.value(0), 0]);
  const [first] = api.coord([pin.at, 0]);
  const [last] = api.coord([pin.last, 0]);
  const { x: left, y: top, width, height } = params.coordSys;
  const colour = paint[pin.severity];
  return {
    type: "group",
    children: [
      { type: "line", shape: { x1: first, x2: first, y1: 20, y2: top + height }, style: { stroke: colour, lineWidth: 1, opacity: 0.55 }, silent: true },
      { type: "line", shape: { x1: first, x2: Math.max(Math.min(last, left + width), first), y1: 22, y2: 22 }, style: { stroke: colour, lineWidth: 2, opacity: 0.35 }, silent: true },
      { type: "circle", shape: { cx: x, cy: 11, r: 9 }, style: { fill: colour } },
      { type: "text", style: { text: String(pin.finding + 1), x, y: 11, align: "center", verticalAlign: "middle", fill: paint.paper, font: `600 11px ${FONT}` }, silent: true },
      ...(often ? [{ type: "text", style: { text: often, x: x + 13, y: 11, align: "left", verticalAlign: "middle", fill: paint.soft, font: `11px ${FONT}` }, silent: true }] : []),
    ],
  };
}

/** Turns that stand out: the chosen one, and those in which ranks did different things. */
export function drawBand(params: Option, api: Option, paint: Colours): Option {
  const chosen = api.value(2) === 1;
  return stripe(params, api, chosen ? { fill: paint.band, stroke: paint.accent, lineWidth: 1 } : { fill: paint.warning, opacity: 0.16 });
}

/** What is not shown steps back in the overview. */
export function drawVeil(params: Option, api: Option, paint: Colours): Option {
  return stripe(params, api, { fill: paint.paper, opacity: 0.72 });
}

function stripe(params: Option, api: Option, style: Option): Option {
  const [left] = api.coord([api.value(0), 0]);
  const [right] = api.coord([api.value(1), 0]);
  const { y, height } = params.coordSys;
  return { type: "rect", shape: { x: left, y, width: right > left ? Math.max(right - left, 1.5) : 0, height }, style };
}

/** Where there is no room beside a lane, its name stands in it. */
export function drawName(text: string, params: Option, api: Option, paint: Colours, lane: number): Option {
  const [, middle] = api.coord([0, api.value(1)]);
  const { x, width } = params.coordSys;
  return { type: "text", style: { text, x: x + 3, y: middle - lane / 2 + 3, fill: paint.soft, font: `11px ${FONT}`, width: width - 6, overflow: "truncate" } };
}
