// The page works without this, as far as the verdict and the findings go; this draws the rest.

import { resizeAll } from "./charts";
import { leaksOf, Rank, type Data } from "./data";
import { byId, calm } from "./dom";
import { openFinding, startFindings, startRules } from "./findings";
import { flow } from "./flow";
import { heat } from "./heat";
import { norms } from "./norms";
import { forPrint, startTheme } from "./theme";
import { Timeline } from "./timeline";

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
  const rest: (() => void)[] = [() => drawFlow(data), ...(["norm", "ratio"] as const).map((kind) => () => drawMeasures(data, ranks, kind, timeline))];
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

function drawMeasures(data: Data, ranks: Rank[], kind: "norm" | "ratio", timeline: Timeline | null): void {
  const measures = data.measures[kind];
  if (!measures) return;
  const box = byId(`${kind}-chart`);
  if (box && measures.lines.length) {
    const drawn = norms(box, data, ranks, measures, kind);
    let waiting = 0;
    // It follows the timeline when that rests: while it moves, nothing else is worth its frames.
    timeline?.onRange((startValue, endValue) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => drawn.dispatchAction({ type: "dataZoom", startValue, endValue }), 150);
    });
  }
  const turns = Math.max(...ranks.map((rank) => rank.turns.length), 1);
  measures.heats.forEach((one, index) => {
    const place = byId(`${kind}-heat-${index}`);
    if (place) heat(place, data, one, turns);
  });
}

function ready(): void {
  document.documentElement.dataset.ready = "true";
  performance.mark("gradledger-ready");
}

start();
