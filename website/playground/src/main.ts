// The playground: checks what is in the editor, a moment after each change, and plays it.

import type { Diagnostic } from "@codemirror/lint";
import "../../../web/src/player/element.js";
import type { LedgerPlayer } from "../../../web/src/player/element.js";
import type { Play, Step } from "../../../web/src/player/play.js";
import { part } from "../../../web/src/player/parts.js";
import { Checking } from "./checking";
import { Editor } from "./editor";
import { type Example, examples, picker } from "./examples";
import { list } from "./findings";
import { page } from "./page";
import type { Answer, Checked, Edit, Finding, Fixes } from "./protocol";
import { copied, packed, unpacked } from "./sharing";
import { verdict } from "./verdict";

const PAUSE = 300; // ms without a key, until the text is checked
const LONG = 6000; // ms of checking, until one can stop it

class Playground {
  private readonly parts;
  private readonly editor: Editor;
  private readonly checking: Checking;
  private readonly player: LedgerPlayer;
  private fixes: Fixes = {};
  private checked: Checked | null = null;
  private checkedText = "";
  private plays: Play[] = [];
  private isReady = false;
  private timer = 0;
  private long = 0;

  constructor(
    root: HTMLElement,
    private readonly all: Example[],
  ) {
    const here = new URL(".", import.meta.url);
    this.parts = page(root, picker(all));
    this.rules = root.dataset.rules ?? "";
    this.player = this.parts.player;
    this.editor = new Editor(this.parts.editor, () => this.changed());
    this.checking = new Checking(new URL("worker.js", here), (answer, text) => this.hear(answer, text));
    const { picker: pick, copy, link, stop, which } = this.parts;
    pick.addEventListener("change", () => this.choose(pick.value));
    copy.addEventListener("click", () => void this.copy(this.editor.text, "The code is copied."));
    link.addEventListener("click", () => void this.share());
    stop.addEventListener("click", () => this.stop());
    which.addEventListener("change", () => this.playOne(Number(which.value)));
    this.player.addEventListener("ledger-step", (event) => {
      const step = (event as CustomEvent<Step>).detail;
      const isStale = this.editor.text !== this.checkedText;
      this.editor.play(isStale || !this.player.matches(":focus-within") ? null : step.line, step.faults.length > 0);
    });
    window.addEventListener("hashchange", () => void this.open());
  }

  private readonly rules: string;

  /** What the address asks for: shared code, an example, or else the first example. */
  async open(): Promise<void> {
    const [kind, value = ""] = location.hash.slice(1).split(/=(.*)/s);
    if (kind === "code") {
      try {
        this.editor.text = await unpacked(value);
        this.parts.picker.value = "";
        return;
      } catch {
        this.note("This link is damaged: a part of it is missing. Here is an example instead.");
      }
    }
    const named = this.all.find((example) => kind === "try" && example.name === decodeURIComponent(value));
    this.choose((named ?? this.all[0])?.name ?? "");
  }

  private choose(name: string): void {
    const example = this.all.find((one) => one.name === name);
    if (!example) return;
    this.parts.picker.value = name;
    this.player.play = null;
    this.editor.text = example.text;
  }

  private changed(): void {
    window.clearTimeout(this.timer);
    this.parts.root.dataset.state = "waiting";
    this.timer = window.setTimeout(() => this.check(), this.checked ? PAUSE : 0);
  }

  private check(): void {
    window.clearTimeout(this.long);
    this.long = window.setTimeout(() => (this.parts.stop.hidden = !this.isReady), LONG);
    this.checking.ask(this.editor.text);
  }

  private stop(): void {
    this.settled();
    this.isReady = false;
    this.note("Stopped. It is checked again when you change it.");
    this.checking.restart();
  }

  private settled(): void {
    window.clearTimeout(this.long);
    this.parts.stop.hidden = true;
    this.parts.root.dataset.state = "settled";
  }

  private hear(answer: Answer, text: string): void {
    if (answer.kind === "loading") return this.note(`${answer.what} …`);
    if (answer.kind === "ready") {
      this.isReady = true;
      this.parts.root.dataset.ready = "";
      return;
    }
    if (answer.kind === "failed") {
      this.settled();
      const isLoading = answer.id === -1;
      this.note(isLoading ? `The checker could not be loaded: ${answer.why}.` : `The checker broke down on this text: ${answer.why}. It starts again with the next change.`);
      if (!isLoading) this.checking.restart();
      return;
    }
    if (answer.kind === "checked") return this.show(answer.checked, answer.milliseconds, text);
    if (text !== this.checkedText) return;
    if (answer.kind === "fixes") {
      this.fixes = answer.fixes;
      this.draw();
    } else {
      this.playAll(answer.plays);
    }
  }

  private show(checked: Checked, milliseconds: number, text: string): void {
    this.settled();
    const said = verdict(checked, milliseconds, this.checked !== null);
    this.parts.verdict.replaceChildren(said.says);
    this.parts.verdict.className = `pg-verdict pg-verdict-${said.tone}`;
    if (checked.not_checked.length) {
      this.parts.root.classList.add("pg-stale"); // the last good result stays
      return;
    }
    this.parts.root.classList.remove("pg-stale");
    this.checked = checked;
    if (text !== this.checkedText) this.fixes = {};
    this.checkedText = text;
    this.draw();
  }

  private draw(): void {
    const { checked } = this;
    if (!checked) return;
    const deeds = { rules: this.rules, goTo: (line: number) => this.editor.goTo(line), fix: (finding: Finding) => this.fix(finding) };
    this.parts.findings.replaceChildren(...list(checked, this.fixes, deeds));
    if (this.editor.text === this.checkedText) this.editor.show(checked.findings.flatMap((finding) => this.diagnostic(finding)));
  }

  private diagnostic(finding: Finding): Diagnostic[] {
    if (!finding.span) return [];
    const [from, to] = finding.span;
    const actions = finding.key in this.fixes ? [{ name: "Apply the fix", apply: () => this.fix(finding) }] : [];
    return [{ from, to, severity: finding.severity, source: `${finding.rule} ${finding.name}`, message: `${finding.message}: ${finding.detail}`, actions }];
  }

  private fix(finding: Finding): void {
    const edits: Edit[] | undefined = this.fixes[finding.key];
    if (edits && this.editor.text === this.checkedText) this.editor.apply(edits);
    else this.note("The text has changed since: wait for the next check.");
  }

  private playAll(plays: Play[]): void {
    const before = this.player.play?.what;
    this.plays = plays;
    const { which, stage } = this.parts;
    stage.hidden = !plays.length;
    which.replaceChildren(...plays.map((play, number) => new Option(play.what, String(number))));
    which.hidden = plays.length < 2;
    const faulty = plays.findIndex((play) => play.steps.some((step) => step.faults.length));
    const same = plays.findIndex((play) => play.what === before);
    this.playOne(same >= 0 ? same : Math.max(0, faulty));
  }

  private playOne(number: number): void {
    this.parts.which.value = String(number);
    this.player.play = this.plays[number] ?? null;
  }

  private async share(): Promise<void> {
    const address = new URL(location.href);
    address.hash = await packed(this.editor.text);
    history.replaceState(null, "", address);
    const size = address.href.length;
    await this.copy(address.href, size > 8000 ? `The link is copied. It has ${Math.round(size / 1000)} kB, and some programs cut long links.` : "The link is copied. The code is in the link itself: nothing was sent.");
  }

  private async copy(text: string, said: string): Promise<void> {
    const { told } = this.parts;
    if (await copied(text)) {
      told.textContent = said;
      return;
    }
    const field = part("input", "pg-field");
    field.value = text;
    field.readOnly = true;
    field.setAttribute("aria-label", "To copy");
    told.replaceChildren("Copy it from here: ", field);
    field.select();
  }

  private note(text: string): void {
    this.parts.verdict.replaceChildren(text);
    this.parts.verdict.className = "pg-verdict pg-verdict-plain";
  }
}

const root = document.getElementById("pg");
if (root && !root.dataset.started) {
  root.dataset.started = "";
  examples(new URL("examples.json", import.meta.url)).then(
    (all) => void new Playground(root, all).open(),
    (error: unknown) => root.replaceChildren(`The playground could not be loaded: ${String(error)}.`),
  );
}
