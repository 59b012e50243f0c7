// The page works without this, as far as the verdict and the findings go; this draws the rest.

import { resizeAll } from "./charts";
import { curves } from "./curves";
import { leaksOf, Rank, type Data, type Measure } from "./data";
import { byId, calm } from "./dom";
import { openFinding, startFindings, startRules } from "./findings";
import { flow } from "./flow";
import { heat, labels } from "./heat";
import { forPrint, startTheme } from "./theme";
import "./player/element.js";
import { Timeline } from "./timeline";

const MEASURES: Measure[] = ["loss", "rate", "norm", "ratio"];
/** For the numbers of an axis. */
const LEFT = 58;

/** About the width of A4 and of Letter between their margins. */
const PAPER = 660;

function start(): void {
  document.documentElement.dataset.scripted = "true";
  startTheme(byId<HTMLButtonElement>("theme"));
  startRules();
  const data = JSON.parse(byId("data")?.textContent ?? "null") as Data | null;
  const ranks = data?.ranks.map((packed) => new Rank(packed, leaksOf(data))) ?? [];
  let timeline: Timeline | null = null;
  startFindings((finding) => {
    if (!timeline?.showFinding(finding)) return;
    byId("timeline")?.scrollIntoView({ behavior: calm() ? "auto" : "smooth", block: "start" });
    byId("timeline-chart")?.focus({ preventScroll: true });
  });
  const box = byId("timeline-chart");
  if (data && box) timeline = new Timeline(box, data, ranks, openFinding);
  ready();
  if (!data) return;
  // What is below the first screen can wait until the first screen is there.
  const rest: (() => void)[] = [() => drawFlow(data), ...MEASURES.map((kind) => () => drawMeasures(data, ranks, kind, timeline))];
  const next = () => {
    rest.shift()?.();
    if (rest.length) whenIdle(next);
    else document.documentElement.dataset.drawn = "all";
  };
  whenIdle(next);
  addEventListener("beforeprint", () => {
    while (rest.length) rest.shift()!();
    forPrint(true);
    resizeAll(PAPER);
  });
  addEventListener("afterprint", () => {
    forPrint(false);
    resizeAll("auto");
  });
}

function whenIdle(then: () => void): void {
  if ("requestIdleCallback" in window) requestIdleCallback(then, { timeout: 1000 });
  else setTimeout(then);
}

function drawFlow(data: Data): void {
  const box = byId("flow-chart");
  if (box) flow(box, data);
}

function drawMeasures(data: Data, ranks: Rank[], kind: Measure, timeline: Timeline | null): void {
  const measures = data.measures[kind];
  if (!measures) return;
  const turns = Math.max(...ranks.map((rank) => rank.turns.length), 1);
  const heats = MEASURES.flatMap((each) => data.measures[each]?.heats ?? []);
  // One scale of steps for all of them, line below line.
  const left = (width: number) => (heats.length ? Math.max(labels(heats, width), LEFT) : LEFT);
  const box = byId(`${kind}-chart`);
  const drawn = box && measures.lines.length ? [curves(box, data, ranks, measures, kind, left)] : [];
  measures.heats.forEach((one, index) => {
    const place = byId(`${kind}-heat-${index}`);
    if (place) drawn.push(heat(place, data, one, turns, left));
  });
  let waiting = 0;
  // They follow the timeline when that rests: while it moves, nothing else is worth its frames.
  timeline?.onRange((from, to) => {
    clearTimeout(waiting);
    const shown = { start: (100 * from) / turns, end: (100 * to) / turns };
    waiting = setTimeout(() => drawn.forEach((each) => each.dispatchAction({ type: "dataZoom", ...shown })), 150);
  });
}

function ready(): void {
  document.documentElement.dataset.ready = "true";
  performance.mark("gradledger-ready");
}

start();
