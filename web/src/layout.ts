// Where the parts of the timeline are: the lanes with their axes above, the whole run below.

import { axis, FONT, type Option } from "./charts";
import { number } from "./spend";
import type { Colours } from "./theme";

export const OVERVIEW = 40;
export const TOP = 26;
export const RIGHT = 16;

export interface Layout {
  /** The names of the lanes. */
  lanes: string[];
  /** How high a lane is. */
  lane: number;
  left: number;
  /** The names stand in the lanes, and not beside them. */
  narrow: boolean;
  turns: number;
  ended: number;
  least: number;
  from: number;
  to: number;
}

export function height(lanes: number, lane: number): number {
  return TOP + lanes * lane + 40 + OVERVIEW + 12;
}

export function frame(paint: Colours, at: Layout): Option {
  const high = at.lanes.length * at.lane;
  const grid = { left: at.left, right: RIGHT };
  const shown = { startValue: at.from, endValue: at.to, minValueSpan: at.least, throttle: 0, filterMode: "none", xAxisIndex: 0 };
  const label = axis(paint).axisLabel;
  const whole = { type: "value", min: 0, max: at.turns };
  const lanes = { type: "category", inverse: true };
  return {
    grid: [
      { ...grid, top: TOP, height: high },
      { ...grid, top: TOP + high + 40, height: OVERVIEW },
    ],
    xAxis: [
      {
        ...axis(paint),
        ...whole,
        gridIndex: 0,
        minInterval: at.turns > 1 ? 1 : undefined,
        splitLine: { show: false },
        axisLabel: { ...label, showMaxLabel: at.ended === at.turns, formatter: (turn: number) => (Number.isInteger(turn) ? number(turn) : "") },
      },
      { ...whole, gridIndex: 1, show: false },
    ],
    yAxis: [
      {
        ...axis(paint),
        ...lanes,
        gridIndex: 0,
        data: at.lanes,
        axisLine: { show: false },
        axisLabel: { show: !at.narrow, color: paint.ink, fontFamily: FONT, fontSize: 13, width: at.left - 16, overflow: "truncate", interval: 0 },
        splitLine: { show: true, interval: 0, lineStyle: { color: paint.faint } },
      },
      { ...lanes, gridIndex: 1, data: at.lanes.map((_, index) => String(index)), show: false },
    ],
    dataZoom: [
      { ...shown, type: "inside", zoomOnMouseWheel: false, moveOnMouseMove: true, moveOnMouseWheel: false, preventDefaultMouseMove: false },
      {
        ...shown,
        ...grid,
        type: "slider",
        top: TOP + high + 38,
        height: OVERVIEW + 4,
        showDataShadow: false,
        showDetail: false,
        brushSelect: true,
        backgroundColor: "transparent",
        borderColor: paint.rule,
        fillerColor: "transparent",
        handleStyle: { color: paint.panel, borderColor: paint.ink, borderWidth: 1 },
        moveHandleSize: 0,
        handleSize: "60%",
        brushStyle: { color: paint.band },
        emphasis: { handleStyle: { borderColor: paint.accent } },
      },
    ],
  };
}
