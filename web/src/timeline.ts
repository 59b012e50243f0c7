// The timeline: one lane for each optimizer, from the whole run down to a single mark.

import { chart, tooltip, type Chart, type Option } from "./charts";
import { KINDS, leaksOf, type Data, type Rank } from "./data";
import { byId, counted, el, picture } from "./dom";
import { drawBand, drawLine, drawMark, drawName, drawPin, drawShare, drawVeil, drawWindow, LANE } from "./drawing";
import { frame, height, OVERVIEW, RIGHT } from "./layout";
import { level, rowsOf, shapes, shares, type Level, type PinShape, type Row, type Shape } from "./shapes";
import { describeTurn, number } from "./spend";
import { SIGNS } from "./symbols";
import { tellFinding, tellShape } from "./telling";
import { colours, onTheme, type Colours } from "./theme";

/** On a phone, a lane's name stands in it. */
const NARROW = 560;
const TALL_LANE = 70;

type Range = (from: number, to: number) => void;

export class Timeline {
  private readonly chart: Chart;
  private readonly rows: Row[];
  private readonly turns: number;
  /** The last turn may end without a step, and is then not counted. */
  private readonly ended: number;
  private readonly least: number;
  private readonly pins: PinShape[];
  private from = 0;
  private to: number;
  private lane = LANE;
  private left = 0;
  private level: Level = "density";
  private drawn: Shape[] = [];
  private pinsDrawn: { pin: PinShape; x: number; often: string }[] = [];
  private chosen: { rank: number; turn: number } | null = null;
  private frame = 0;
  private readonly ranging: Range[] = [];

  constructor(
    private readonly box: HTMLElement,
    private readonly data: Data,
    private readonly ranks: Rank[],
    private readonly open: (finding: number) => void,
  ) {
    this.rows = rowsOf(ranks);
    this.turns = Math.max(...ranks.map((rank) => rank.turns.length), 1);
    this.ended = Math.max(...ranks.map((rank) => rank.turns.length - (rank.end(rank.turns.length - 1) < 0 ? 1 : 0)), 0);
    const crowded = Math.max(...ranks.flatMap((rank) => rank.patterns.map((pattern) => pattern.length)), 1);
    this.least = Math.min(1, this.turns, Math.max(20 / crowded, 0.02));
    this.pins = this.pinned();
    this.to = this.turns;
    this.fit(box.clientWidth);
    this.chart = chart(
      box,
      (paint, width) => this.option(paint, width),
      (made) => this.draw(made),
    );
    this.chart.on("datazoom", () => this.follow());
    this.chart.on("click", (event: Option) => this.clicked(event));
    this.listen();
    onTheme(() => this.legend());
    this.legend();
  }

  /** Somebody is told whenever other turns are shown. */
  onRange(listener: Range): void {
    this.ranging.push(listener);
  }

  /** These turns, as far as they exist; not fewer than can be told apart. */
  show(from: number, to: number): void {
    const span = Math.min(Math.max(to - from, this.least), this.turns);
    this.from = Math.min(Math.max((from + to - span) / 2, 0), this.turns - span);
    this.to = this.from + span;
    this.soon();
  }

  zoom(factor: number, at = (this.from + this.to) / 2): void {
    const span = Math.min(Math.max((this.to - this.from) * factor, this.least), this.turns);
    const share = (at - this.from) / (this.to - this.from);
    const start = Math.min(Math.max(at - span * share, 0), this.turns - span);
    this.show(start, start + span);
  }

  pan(share: number): void {
    const span = this.to - this.from;
    const start = Math.min(Math.max(this.from + span * share, 0), this.turns - span);
    this.show(start, start + span);
  }

  /** Some turns round where a finding was seen first. */
  showFinding(finding: number): boolean {
    const rank = this.ranks.findIndex((one) => one.pins.some((pin) => pin[0] === finding));
    const pin = this.ranks[rank]?.pins.find((one) => one[0] === finding);
    if (!pin) return false;
    const span = Math.min(this.turns, 12);
    const start = Math.min(Math.max(pin[1] + 0.5 - span / 2, 0), this.turns - span);
    this.show(start, start + span);
    this.choose(rank, pin[1]);
    return true;
  }

  nextFinding(by: 1 | -1): void {
    const all = this.pins.map((pin) => Math.max(Math.ceil(pin.at) - 1, 0));
    const here = this.chosen?.turn ?? (by > 0 ? -1 : this.turns);
    const next = by > 0 ? all.findIndex((turn) => turn > here) : all.findLastIndex((turn) => turn < here);
    const pin = this.pins[next < 0 ? (by > 0 ? 0 : all.length - 1) : next];
    if (pin) this.showFinding(pin.finding);
  }

  /** Tells about a turn below the timeline, and marks it. */
  choose(rank: number, turn: number): void {
    this.chosen = { rank, turn };
    const span = this.to - this.from;
    if (turn < this.from || turn + 1 > this.to) this.show(turn + 0.5 - span / 2, turn + 0.5 + span / 2);
    byId("turn-told")?.replaceChildren(describeTurn(this.data, this.ranks[rank], turn, this.ranks.length > 1));
    this.soon();
  }

  chooseNext(by: 1 | -1): void {
    const rank = this.chosen?.rank ?? 0;
    const turn = this.chosen ? this.chosen.turn + by : by > 0 ? Math.floor(this.from) : Math.ceil(this.to) - 1;
    this.choose(rank, Math.min(Math.max(turn, 0), Math.max(this.ranks[rank].turns.length - 1, 0)));
  }

  private pinned(): PinShape[] {
    const found = new Map<number, PinShape>();
    for (const rank of this.ranks) {
      for (const [finding, turn, mark, last] of rank.pins) {
        const at = rank.turns.length ? rank.position(Math.min(turn, rank.turns.length - 1), mark) : 0;
        const known = found.get(finding) ?? { finding, severity: this.data.findings[finding].severity, at, last: 0 };
        found.set(finding, { ...known, at: Math.min(known.at, at), last: Math.max(known.last, last + 1) });
      }
    }
    return [...found.values()].sort((a, b) => a.at - b.at || a.finding - b.finding);
  }

  /** As high as its lanes need, and as far from the left as their names. */
  private fit(width: number): void {
    const narrow = width < NARROW;
    this.lane = narrow ? TALL_LANE : LANE;
    this.left = narrow ? 8 : Math.min(200, 24 + 8 * Math.max(...this.rows.map((row) => this.label(row).length), 4));
    this.box.style.height = `${height(this.rows.length, this.lane)}px`;
  }

  private label(row: Row): string {
    return this.ranks.length > 1 ? `rank ${this.ranks[row.rank].number} ${row.called}` : row.called;
  }

  private option(paint: Colours, width: number): Option {
    this.fit(width);
    const narrow = width < NARROW;
    const overview: Shape[] = [];
    shares(this.ranks, this.rows, 0, this.turns, Math.min(240, (width - this.left) / 3), overview);
    const above = { type: "custom", xAxisIndex: 0, yAxisIndex: 0, data: [] };
    const below = { type: "custom", xAxisIndex: 1, yAxisIndex: 1, silent: true, clip: true };
    return {
      ...frame(paint, { lanes: this.rows.map((row) => this.label(row)), lane: this.lane, left: this.left, narrow, turns: this.turns, ended: this.ended, least: this.least, from: this.from, to: this.to }),
      tooltip: { ...tooltip(paint), trigger: "item", formatter: (event: Option) => this.tell(event) },
      series: [
        { ...above, id: "bands", silent: true, clip: true, renderItem: (params: Option, api: Option) => drawBand(params, api, paint) },
        { ...above, id: "shapes", clip: true, renderItem: (params: Option, api: Option) => this.shape(this.drawn[params.dataIndex], api, paint), encode: { x: [0, 1], y: 2 } },
        { ...above, id: "pins", clip: false, z: 5, renderItem: (params: Option, api: Option) => this.pin(params, api, paint), encode: { x: 0, y: 1 } },
        { ...above, id: "names", silent: true, clip: false, z: 4, data: narrow ? this.rows.map((_, row) => [0, row]) : [], renderItem: (params: Option, api: Option) => drawName(this.label(this.rows[params.dataIndex]), params, api, paint, this.lane), encode: { y: 1 } },
        { ...below, id: "overview", data: overview.map((shape) => [0, 1, shape.row]), renderItem: (params: Option, api: Option) => this.shape(overview[params.dataIndex], api, paint, 0.7), encode: { x: [0, 1], y: 2 } },
        { ...below, id: "veil", z: 3, data: [], renderItem: (params: Option, api: Option) => drawVeil(params, api, paint), encode: { x: [0, 1] } },
        {
          id: "overview-pins",
          type: "scatter",
          xAxisIndex: 1,
          yAxisIndex: 1,
          silent: true,
          symbol: "circle",
          symbolSize: 6,
          symbolOffset: [0, -(OVERVIEW / this.rows.length / 2 + 1)],
          z: 6,
          data: this.pins.map((pin) => ({ value: [pin.at, 0], itemStyle: { color: paint[pin.severity] } })),
        },
      ],
    };
  }

  /** The chart was dragged. */
  private follow(): void {
    const zoom = (this.chart.getOption() as Option).dataZoom[0];
    if (zoom.startValue === this.from && zoom.endValue === this.to) return;
    this.from = zoom.startValue;
    this.to = zoom.endValue;
    this.soon();
  }

  private soon(): void {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  private draw(made: Chart = this.chart): void {
    this.frame = 0;
    const right = made.getWidth() - RIGHT;
    const width = Math.max(right - this.left, 100);
    this.level = level(this.ranks, this.rows, this.from, this.to, width);
    this.drawn = shapes(this.ranks, this.rows, this.from, this.to, width);
    this.pinsDrawn = this.placedPins(width);
    const shown = { startValue: this.from, endValue: this.to };
    made.setOption({
      dataZoom: [shown, shown],
      series: [
        { id: "bands", data: this.bands() },
        { id: "shapes", data: this.drawn.map((shape) => [this.from, this.to, shape.row]) },
        { id: "pins", data: this.pinsDrawn.map(({ x }) => [x, 0]) },
        { id: "veil", data: [[0, this.from], [this.to, this.turns]] },
      ],
    });
    this.say();
    this.box.dataset.plot = `${this.left} ${right}`;
    this.ranging.forEach((listener) => listener(this.from, this.to));
  }

  /** For whoever can't see the canvas, and for tests. */
  private say(): void {
    const { noun } = this.data;
    const first = Math.min(Math.floor(this.from + 1e-6) + 1, this.turns);
    const last = Math.max(Math.ceil(this.to - 1e-6), first);
    const all = this.to - this.from >= this.turns;
    const range = byId("timeline-range");
    if (range) range.textContent = all ? `all ${counted(this.ended, noun)}` : first === last ? `${noun} ${number(first)} of ${number(this.ended)}` : `${noun}s ${number(first)} to ${number(Math.min(last, this.ended))} of ${number(this.ended)}`;
    Object.assign(this.box.dataset, { from: this.from, to: this.to, level: this.level, shapes: this.drawn.length });
  }

  /** Pins next to each other where they would hide one another. */
  private placedPins(width: number): { pin: PinShape; x: number; often: string }[] {
    const scale = width / (this.to - this.from);
    let taken = -Infinity;
    const placed = this.pins
      .filter((pin) => pin.at >= this.from - 1e-9 && pin.at <= this.to + 1e-9)
      .slice(0, 60)
      .map((pin) => {
        taken = Math.max(taken + 19, (pin.at - this.from) * scale);
        return { pin, left: taken };
      });
    return placed.map(({ pin, left }, index) => {
      const { rule, count } = this.data.findings[pin.finding];
      const often = `${rule}, ${counted(count, "time")}`;
      const room = (placed[index + 1]?.left ?? width) - left;
      return { pin, x: this.from + left / scale, often: room > 40 + often.length * 6.5 ? often : "" };
    });
  }

  private bands(): number[][] {
    const found = this.data.differences.filter(([turn, last]) => last + 1 >= this.from && turn <= this.to).map(([turn, last]) => [turn, last + 1, 0]);
    if (this.chosen && this.turns > 1) found.push([this.chosen.turn, this.chosen.turn + 1, 1]);
    return found.slice(-300);
  }

  private shape(shape: Shape | undefined, api: Option, paint: Colours, thickness = 0.56): Option {
    switch (shape?.is) {
      case "share":
        return drawShare(shape, api, paint, thickness);
      case "window":
        return drawWindow(shape, api, paint, this.level === "marks");
      case "mark":
        return drawMark(shape, KINDS[this.ranks[shape.rank].pattern(shape.turn)[shape.mark][0]], api, paint);
      case "line":
        return drawLine(shape, api, paint, this.lane);
    }
  }

  private pin(params: Option, api: Option, paint: Colours): Option {
    const drawn = this.pinsDrawn[params.dataIndex];
    return drawn && drawPin(drawn.pin, drawn.often, params, api, paint);
  }

  private tell(event: Option): HTMLElement | string {
    const pin = event.seriesId === "pins" ? this.pinsDrawn[event.dataIndex]?.pin : undefined;
    const shape = event.seriesId === "shapes" ? this.drawn[event.dataIndex] : undefined;
    if (pin) return tellFinding(this.data, pin.finding);
    return shape ? tellShape(shape, this.data, this.ranks, this.rows) : "";
  }

  private clicked(event: Option): void {
    const pin = event.seriesId === "pins" ? this.pinsDrawn[event.dataIndex]?.pin : undefined;
    const shape = event.seriesId === "shapes" ? this.drawn[event.dataIndex] : undefined;
    if (pin) this.open(pin.finding);
    else if (shape?.is === "window" || shape?.is === "mark") this.choose(shape.rank, shape.turn);
    else if (shape?.is === "share") this.zoom(0.25, this.turnAt(event.event.offsetX));
  }

  private turnAt(x: number): number {
    return this.chart.convertFromPixel({ xAxisIndex: 0 }, x) as unknown as number;
  }

  private listen(): void {
    const wheel = (event: WheelEvent) => {
      event.stopPropagation(); // the chart would let no wheel through
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      const by = event.deltaY || event.deltaX;
      // Zoomed all the way out, the wheel scrolls the page as anywhere else.
      if (!sideways && by > 0 && this.to - this.from >= this.turns) return;
      event.preventDefault();
      if (sideways) this.pan(Math.sign(event.deltaX || by) * 0.1);
      else this.zoom(by > 0 ? 1.25 : 0.8, this.turnAt(event.offsetX));
    };
    this.box.addEventListener("wheel", wheel, { passive: false, capture: true });
    this.box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = this.keys()[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
    const buttons: Record<string, () => void> = {
      "zoom-in": () => this.zoom(0.5),
      "zoom-out": () => this.zoom(2),
      "zoom-all": () => this.show(0, this.turns),
      "finding-before": () => this.nextFinding(-1),
      "finding-next": () => this.nextFinding(1),
    };
    for (const [id, act] of Object.entries(buttons)) byId(id)?.addEventListener("click", act);
  }

  private keys(): Record<string, () => void> {
    const span = this.to - this.from;
    return {
      ArrowLeft: () => this.pan(-0.2),
      ArrowRight: () => this.pan(0.2),
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      "0": () => this.show(0, this.turns),
      Home: () => this.show(0, span),
      End: () => this.show(this.turns - span, this.turns),
      n: () => this.nextFinding(1),
      p: () => this.nextFinding(-1),
      ".": () => this.chooseNext(1),
      ",": () => this.chooseNext(-1),
      Enter: () => {
        const here = this.chosen;
        const pin = here && this.pins.find((one) => Math.ceil(one.at) - 1 === here.turn);
        if (pin) this.open(pin.finding);
      },
    };
  }

  private legend(): void {
    const paint = colours();
    const used = new Set(this.ranks.flatMap((rank) => rank.patterns.flat().map((mark) => KINDS[mark[0]])));
    const entries = KINDS.filter((kind) => used.has(kind) && kind !== "end").map((kind) => el("li", {}, picture(SIGNS[kind].path, paint[SIGNS[kind].colour], SIGNS[kind].hollow ?? false), SIGNS[kind].says));
    const leaks = leaksOf(this.data).size > 0;
    if (this.ranks.some((rank) => rank.misspent.some((sums) => sums[sums.length - 1]))) {
      entries.push(el("li", {}, picture(SIGNS.spend.path, paint.again, false), leaks ? "a step that spends what is meant for another optimizer" : "a step that spends something again"));
    }
    byId("timeline-legend")?.replaceChildren(...entries);
  }
}
