// What happened to each backward: call sites, optimizers, fates.

import { chart, FONT, MONO, tooltip, type Chart } from "./charts";
import type { Data } from "./data";
import { counted, el } from "./dom";
import type { Colours } from "./theme";

const FATES = ["spent once", "spent again", "cleared", "left over"];
/** A label of two lines beside a thin node has room. */
const GAP = 36;
const FATE_COLOURS = ["spent", "again", "cleared", "left"] as const;

export function flow(box: HTMLElement, data: Data): Chart | null {
  const { sites, lanes, links } = data.flows;
  if (!links.length) return null;
  box.style.height = `${(56 + GAP - 18) * Math.max(sites.length, lanes.length, new Set(links.map((link) => link[2])).size, 2) + 60}px`;
  return chart(box, (paint, width) => ({
    tooltip: {
      ...tooltip(paint),
      trigger: "item",
      formatter: (event: { data: { says?: string; name?: string; label?: string } }) => el("div", { class: "told" }, event.data.says ?? ""),
    },
    series: [
      {
        type: "sankey",
        left: 8,
        right: width < 560 ? 84 : 110,
        top: 22,
        bottom: 24,
        nodeWidth: 10,
        nodeGap: GAP,
        nodeAlign: "justify",
        draggable: false,
        layoutIterations: 0,
        emphasis: { focus: "adjacency" },
        label: { color: paint.ink, fontFamily: FONT, fontSize: 13, overflow: "truncate" },
        data: nodes(data, paint, width),
        links: edges(data, paint),
      },
    ],
  }));
}

function nodes(data: Data, paint: Colours, width: number): unknown[] {
  const { sites, lanes, links } = data.flows;
  const total = (of: (link: (typeof links)[number]) => boolean) => links.filter(of).reduce((sum, link) => sum + link[3], 0);
  const room = width / 2 - 30;
  const most = width < 560 ? 15 : 44;
  return [
    ...sites.map((site, index) => {
      const [where, code] = data.sites[site];
      return {
        name: `site ${index}`,
        depth: 0,
        itemStyle: { color: paint.soft },
        label: { position: "right", fontFamily: MONO, fontSize: 12, lineHeight: 17, formatter: () => (code ? clipped(code, most) : tail(where, most)) + (code ? `\n${tail(where, most)}` : ""), width: room },
        says: `${code || where} at ${where}: ${counted(total((link) => link[0] === index), "entry").replace("entrys", "entries")}`,
      };
    }),
    ...lanes.map((lane, index) => ({
      name: `lane ${index}`,
      depth: 1,
      itemStyle: { color: paint.ink },
      label: { position: "right", fontWeight: 600, formatter: () => clipped(lane, 24), width: room },
      says: lane,
    })),
    ...FATES.map((fate, index) => ({ name: `fate ${index}`, depth: 2, itemStyle: { color: paint[FATE_COLOURS[index]] }, label: { position: "right", lineHeight: 17, formatter: () => `${fate}\n${total((link) => link[2] === index).toLocaleString("en-US")}` }, says: fate })).filter((_, index) => links.some((link) => link[2] === index)),
  ];
}

function edges(data: Data, paint: Colours): unknown[] {
  const { sites, lanes, links } = data.flows;
  const width = (entries: number) => Math.max(entries, Math.max(...links.map((link) => link[3])) / 60);
  const style = (fate: number, leak: number) => ({ color: leak ? paint.again : paint[FATE_COLOURS[fate]], opacity: leak ? 0.7 : 0.35 });
  const first = links.map(([site, lane, fate, entries, leak]) => ({
    source: `site ${site}`,
    target: `lane ${lane}`,
    value: width(entries),
    lineStyle: style(fate, leak),
    says: `${data.sites[sites[site]][1] || data.sites[sites[site]][0]} → ${lanes[lane]}: ${entries.toLocaleString("en-US")} ${FATES[fate]}${leak ? ", although meant for another optimizer" : ""}`,
  }));
  const second = new Map<string, { lane: number; fate: number; leak: number; entries: number }>();
  for (const [, lane, fate, entries, leak] of links) {
    const key = `${lane} ${fate} ${leak}`;
    const known = second.get(key) ?? { lane, fate, leak, entries: 0 };
    known.entries += entries;
    second.set(key, known);
  }
  return [
    ...first,
    ...[...second.values()].map(({ lane, fate, leak, entries }) => ({
      source: `lane ${lane}`,
      target: `fate ${fate}`,
      value: width(entries),
      lineStyle: style(fate, leak),
      says: `${lanes[lane]}: ${entries.toLocaleString("en-US")} ${FATES[fate]}${leak ? ", although meant for another optimizer" : ""}`,
    })),
  ];
}

/** Of a long path, the end says more. */
function tail(text: string, most: number): string {
  return text.length > most ? `…${text.slice(1 - most)}` : text;
}

function clipped(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
