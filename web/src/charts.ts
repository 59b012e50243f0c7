// The parts of ECharts that the page uses, and what all its charts have in common.

import * as echarts from "echarts/core";
import { CustomChart, HeatmapChart, LineChart, SankeyChart, ScatterChart } from "echarts/charts";
import { DataZoomInsideComponent, DataZoomSliderComponent, GridComponent, MarkLineComponent, TooltipComponent, VisualMapContinuousComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";
import type { EChartsType } from "echarts/core";
import { colours, onTheme, type Colours } from "./theme";

echarts.use([CanvasRenderer, CustomChart, DataZoomInsideComponent, DataZoomSliderComponent, GridComponent, HeatmapChart, LineChart, MarkLineComponent, SankeyChart, ScatterChart, TooltipComponent, VisualMapContinuousComponent]);

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Option = any;
export type Chart = EChartsType;

const charts: { made: Chart; paint: () => void }[] = [];

/** A chart that follows its box and the theme: `option` is asked again when either changes, and
 * what it leaves out is for `then` to add. */
export function chart(box: HTMLElement, option: (paint: Colours, width: number) => Option, then: (made: Chart) => void = () => {}): Chart {
  box.replaceChildren();
  const made = echarts.init(box, null, { renderer: "canvas" });
  const paint = () => {
    const wanted = option(colours(), made.getWidth());
    if (made.getHeight() !== box.clientHeight) made.resize(); // it may have asked for another height
    made.setOption({ animation: false, ...wanted }, { notMerge: true });
    then(made);
  };
  paint();
  onTheme(paint);
  let width = made.getWidth();
  new ResizeObserver(() => {
    if (box.clientWidth === width || !box.clientWidth) return;
    width = box.clientWidth;
    made.resize();
    paint();
  }).observe(box);
  charts.push({ made, paint });
  return made;
}

/** All charts at once, and at once: a printer does not wait for the next frame. */
export function resizeAll(width: number | "auto"): void {
  for (const { made, paint } of charts) {
    made.resize({ width });
    paint();
    made.getZr().flush();
    flatten(made.getDom(), width !== "auto");
  }
}

/** Of canvases on top of each other, printers take the last: one that holds them all is put there. */
function flatten(box: HTMLElement, on: boolean): void {
  box.querySelector(".flat")?.remove();
  const layers = [...box.querySelectorAll("canvas")];
  if (!on || layers.length < 2) return;
  const flat = layers[0].cloneNode() as HTMLCanvasElement;
  flat.className = "flat";
  layers[layers.length - 1].after(flat);
  for (const layer of layers) flat.getContext("2d")?.drawImage(layer, 0, 0);
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

export function tooltip(paint: Colours): Option {
  return {
    confine: true,
    transitionDuration: 0,
    backgroundColor: paint.panel,
    borderColor: paint.rule,
    borderWidth: 1,
    padding: [8, 12],
    textStyle: { color: paint.ink, fontFamily: FONT, fontSize: 13 },
    extraCssText: "box-shadow: none; max-width: min(26rem, 90vw); white-space: normal;",
  };
}

export function axis(paint: Colours): Option {
  return {
    axisLine: { lineStyle: { color: paint.rule } },
    axisTick: { show: false },
    axisLabel: { color: paint.soft, fontFamily: FONT, fontSize: 12, hideOverlap: true },
    splitLine: { lineStyle: { color: paint.faint } },
    nameTextStyle: { color: paint.soft, fontFamily: FONT, fontSize: 12 },
  };
}

/** The axis of all charts that have steps across. */
export function steps(paint: Colours, turns: number): Option {
  return { ...axis(paint), type: "value", min: 0, max: turns, splitLine: { show: false }, axisLabel: { ...axis(paint).axisLabel, showMaxLabel: false, formatter: (at: number) => (Number.isInteger(at) ? at.toLocaleString("en-US") : "") } };
}

/** A short number for an axis or a tooltip. */
export function short(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(4))) : value.toExponential(1).replace("e+", "e");
}
