// <ledger-player>: steps through a play, line by line. It makes elements out of text, never out of
// HTML, and asks for nothing. Its play is JSON in a script inside of it, or what `play` is set to.

import { lanes } from "./cells.js";
import { Chart } from "./chart.js";
import { isFaulty, placeOf, roundOf } from "./play.js";
import { button, painted, part } from "./parts.js";

/** @typedef {import("./play.js").Play} Play */

const PAUSE = 900;
const ICONS = {
  first: "M3 3v10M13 3l-7 5 7 5z",
  back: "M11 3l-6 5 6 5z",
  play: "M4 2.5l9 5.5-9 5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  on: "M5 3l6 5-6 5z",
  backRound: "M8 3L3 8l5 5zM13 3L8 8l5 5z",
  onRound: "M3 3l5 5-5 5zM8 3l5 5-5 5z",
  fault: "M8 2l6.5 12h-13zM8 6.5v4M8 12v.6",
};
const LEGEND = [
  ["lp-block lp-fresh", "deposited, not spent"],
  ["lp-block lp-spent", "spent, and still there"],
  ["lp-block lp-fresh lp-left", "left over from the epoch before"],
];

export class LedgerPlayer extends HTMLElement {
  /** @type {Play | null} */
  #play = null;
  #at = 0;
  /** @type {number | undefined} */
  #timer;
  /** @type {Chart | null} */
  #chart = null;
  /** @type {Map<number, HTMLElement>} */
  #lines = new Map();

  constructor() {
    super();
    this.addEventListener("keydown", (event) => this.#key(event));
  }

  connectedCallback() {
    if (this.#play) return;
    const script = this.querySelector("script");
    if (script?.textContent) this.play = JSON.parse(script.textContent);
    else if (document.readyState === "loading") {
      document.addEventListener("DOMContentLoaded", () => this.isConnected && this.connectedCallback(), { once: true });
    }
  }

  disconnectedCallback() {
    this.#stop();
  }

  get play() {
    return this.#play;
  }

  /** Shows another play from its beginning, or from its first fault with start="fault"; or the same place, where it goes on as before. @param {Play | null} play */
  set play(play) {
    const stays = this.#play && play && JSON.stringify(this.#play.steps) === JSON.stringify(play.steps);
    this.#play = play;
    this.#stop();
    this.replaceChildren();
    delete this.dataset.ready;
    if (!play || !play.steps.length) return;
    this.#make(play);
    const first = this.getAttribute("start") === "fault" ? Math.max(0, play.steps.findIndex(isFaulty)) : 0;
    this.#show(stays ? this.#at : first);
    this.dataset.ready = "";
  }

  /** Which step is shown, from 0. */
  get at() {
    return this.#at;
  }

  set at(at) {
    this.#stop();
    this.#show(at);
  }

  /** @param {Play} play */
  #make(play) {
    const { steps } = play;
    const bar = part("div", "lp-tools");
    /** @param {keyof typeof ICONS} icon @param {string} title @param {() => number} where @param {string} [words] */
    const add = (icon, title, where, words) => {
      const made = button(ICONS[icon], title, () => (this.at = where()), words);
      bar.append(made);
      return made;
    };
    add("first", "First line", () => 0);
    add("backRound", "Previous iteration", () => this.#round(-1));
    add("back", "Previous line", () => this.#at - 1);
    const run = button(ICONS.play, "Play", () => this.#toggle(), "Play");
    run.classList.add("lp-run");
    bar.append(run);
    add("on", "Next line", () => this.#at + 1);
    add("onRound", "Next iteration", () => this.#round(1));
    if (steps.some(isFaulty)) add("fault", "Next faulty step", () => this.#fault(), "fault").classList.add("lp-to-fault");
    bar.append(part("span", "lp-count"));
    this.#chart = new Chart(play, (at) => (this.at = at));
    const books = part("div", "lp-books", part("p", "lp-now"), part("p", "lp-fault"), part("div", "lp-lanes"));
    books.querySelector(".lp-now")?.setAttribute("aria-live", "polite");
    const legend = part("p", "lp-legend");
    const isLeft = steps.some((step) => step.cells.some((cell) => cell.holds.some((one) => one.left_over)));
    for (const [name, says] of isLeft ? LEGEND : LEGEND.slice(0, 2)) legend.append(part("span", "", part("i", name), says ?? ""));
    books.append(legend);
    this.append(bar, this.#chart.element, part("div", "lp-both", this.#code(play), books));
    if (play.note) this.append(part("p", "lp-note", play.note));
    if (!this.hasAttribute("tabindex")) this.tabIndex = 0;
  }

  /** @param {Play} play */
  #code(play) {
    const code = part("pre", "lp-code");
    const start = play.first ?? 1;
    const shown = play.steps.flatMap((step) => (step.line === null ? [] : [step.line]));
    const made = play.lanes.flatMap((lane) => (lane.line === null ? [] : [lane.line]));
    const first = Math.max(start, Math.min(...shown, ...made) - 1);
    const last = Math.min(start + play.code.length - 1, Math.max(...shown) + 1);
    this.#lines = new Map();
    for (let number = first; number <= last; number++) {
      const line = part("span", "lp-line", part("span", "lp-number", String(number)), ...painted(play.code[number - start] ?? ""), "\n");
      this.#lines.set(number, line);
      code.append(line);
    }
    return code;
  }

  /** The first step of the next round, or the last of the one before. @param {1 | -1} way */
  #round(way) {
    const steps = this.#play?.steps ?? [];
    const here = steps[this.#at];
    let to = this.#at;
    while (here && steps[to + way] && roundOf(/** @type {import("./play.js").Step} */ (steps[to])) === roundOf(here)) to += way;
    return to;
  }

  #fault() {
    const steps = this.#play?.steps ?? [];
    const next = steps.findIndex((step, number) => number > this.#at && isFaulty(step));
    return next < 0 ? steps.findIndex(isFaulty) : next;
  }

  #toggle() {
    if (this.#timer !== undefined) return this.#stop();
    const last = (this.#play?.steps.length ?? 1) - 1;
    this.#show(this.#at >= last ? 0 : this.#at + 1);
    this.#timer = window.setInterval(() => (this.#at >= last ? this.#stop() : this.#show(this.#at + 1)), PAUSE);
    this.#label(ICONS.pause, "Pause");
  }

  #stop() {
    window.clearInterval(this.#timer);
    this.#timer = undefined;
    this.#label(ICONS.play, "Play");
  }

  /** @param {string} icon @param {string} words */
  #label(icon, words) {
    const run = this.querySelector(".lp-run");
    if (!run || run.textContent === words) return;
    run.querySelector("path")?.setAttribute("d", icon);
    if (run.lastChild) run.lastChild.textContent = words;
    run.setAttribute("aria-label", words);
    run.setAttribute("title", words);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const onButton = event.target instanceof HTMLButtonElement;
    /** @type {Record<string, () => number>} */
    const ways = {
      ArrowRight: () => this.#at + 1,
      ArrowLeft: () => this.#at - 1,
      PageDown: () => this.#round(1),
      PageUp: () => this.#round(-1),
      Home: () => 0,
      End: () => Infinity,
      f: () => this.#fault(),
    };
    const way = ways[event.key];
    if (way) this.at = way();
    else if (event.key === " " && !onButton) this.#toggle();
    else return;
    event.preventDefault();
  }

  /** @param {number} wanted */
  #show(wanted) {
    const steps = this.#play?.steps ?? [];
    const before = this.#at;
    this.#at = Math.max(0, Math.min(steps.length - 1, wanted));
    const step = steps[this.#at];
    if (!this.#play || !step) return;
    for (const [number, line] of this.#lines) {
      line.classList.toggle("lp-here", number === step.line);
      line.classList.toggle("lp-bad", number === step.line && isFaulty(step));
    }
    const here = step.line === null ? undefined : this.#lines.get(step.line);
    const code = here?.parentElement;
    if (here && code) code.scrollTop = here.offsetTop - code.clientHeight / 2;
    const round = roundOf(step) || "before the loop";
    const said = `${placeOf(step)} ${step.says}`;
    this.#chart?.show(this.#at, `${round}: ${said}`);
    this.#put(".lp-count", `${this.#at + 1} of ${steps.length}`);
    this.#put(".lp-now", part("b", "", `${round}: `), said);
    const faults = step.faults.map((fault) => part("span", "", part("b", "", `${fault.rule} ${fault.name}: `), fault.detail));
    this.#put(".lp-fault", ...faults).hidden = !isFaulty(step);
    this.#put(".lp-lanes", ...lanes(this.#play, step, this.#at === before + 1 ? steps[before] : undefined));
    this.dispatchEvent(new CustomEvent("ledger-step", { bubbles: true, detail: step }));
  }

  /** @param {string} where @param {...(Node | string)} what */
  #put(where, ...what) {
    const found = /** @type {HTMLElement} */ (this.querySelector(where));
    found.replaceChildren(...what);
    return found;
  }
}

if (!customElements.get("ledger-player")) customElements.define("ledger-player", LedgerPlayer);
