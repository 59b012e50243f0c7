// The same numbers by layer: layers down, steps across.

import { axis, chart, MONO, short, steps, tooltip, type Chart } from "./charts";
import type { Data, Heat } from "./data";
import { el } from "./dom";
import { number } from "./spend";
import { isDark } from "./theme";

/** `left` is where the columns begin, so that other charts can begin there, too. */
export function heat(box: HTMLElement, data: Data, heat: Heat, turns: number, left: (width: number) => number): Chart {
  const values = decoded(heat);
  const row = heat.rows.length > 24 ? 11 : 18;
  box.style.height = `${heat.rows.length * row + 84}px`;
  return chart(box, (paint, width) => ({
    grid: { left: left(width), right: 16, top: 8, bottom: 70 },
    tooltip: {
      ...tooltip(paint),
      formatter: (event: { value: [number, number, number] }) => {
        const [column, at, value] = event.value;
        const first = Math.floor((column * turns) / heat.columns) + 1;
        const last = Math.max(Math.floor(((column + 1) * turns) / heat.columns), first);
        return el("div", { class: "told" }, el("p", { class: "told-head mono" }, heat.rows[at]), el("p", {}, `${heat.lanes[at]}, ${first === last ? `${data.noun} ${number(first)}` : `${data.noun}s ${number(first)} to ${number(last)}`}: about `, el("b", {}, short(Number((10 ** value).toPrecision(2))))));
      },
    },
    // Columns are categories to ECharts; the axis that is shown is that of the lines above.
    xAxis: [
      { type: "category", show: false, data: Array.from({ length: heat.columns }, (_, column) => column) },
      { ...steps(paint, turns), position: "bottom" },
    ],
    dataZoom: [{ type: "inside", xAxisIndex: [0, 1], filterMode: "none", zoomOnMouseWheel: false, moveOnMouseMove: false, moveOnMouseWheel: false, preventDefaultMouseMove: false }],
    yAxis: {
      ...axis(paint),
      type: "category",
      inverse: true,
      data: heat.rows,
      axisLine: { show: false },
      splitLine: { show: false },
      axisLabel: { color: paint.soft, fontFamily: MONO, fontSize: row > 12 ? 11 : 9, interval: 0, width: left(width) - 10, overflow: "truncate" },
    },
    visualMap: {
      type: "continuous",
      min: heat.low,
      max: heat.high,
      calculable: false,
      orient: "horizontal",
      left: left(width),
      bottom: 4,
      itemWidth: 10,
      itemHeight: width < 560 ? 90 : 160,
      text: [short(Number((10 ** heat.high).toPrecision(2))), short(Number((10 ** heat.low).toPrecision(2)))],
      textStyle: { color: paint.soft },
      inRange: { color: scale() },
    },
    series: [{ type: "heatmap", data: values, progressive: 0, emphasis: { disabled: true } }],
  }));
}

/** The room that the names of all layers take. */
export function labels(heats: Heat[], width: number): number {
  const longest = Math.max(...heats.flatMap((heat) => heat.rows.map((row) => row.length)), 4) * 6.8 + 14;
  return Math.round(Math.min(longest, width * (width < 560 ? 0.34 : 0.28)));
}

/** One hue, from the paper to the ink, and equal steps for the eye; more is further from the paper. */
function scale(): string[] {
  return isDark() ? ["#16202b", "#17405f", "#1b6a99", "#4aa3d0", "#b5dff5"] : ["#eef5fa", "#b9d9ec", "#6fb1d6", "#2079ad", "#083a5c"];
}

/** A byte for each cell: 0 for nothing, 1 to 255 from the lowest power of ten to the highest. */
function decoded(heat: Heat): [number, number, number][] {
  const bytes = atob(heat.cells);
  const found: [number, number, number][] = [];
  for (let row = 0; row < heat.rows.length; row++) {
    for (let column = 0; column < heat.columns; column++) {
      const byte = bytes.charCodeAt(row * heat.columns + column);
      if (byte) found.push([column, row, heat.low + ((byte - 1) / 254) * (heat.high - heat.low)]);
    }
  }
  return found;
}
