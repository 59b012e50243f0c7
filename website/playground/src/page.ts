// What the page of the playground is made of.

import type { LedgerPlayer } from "../../../web/src/player/element.js";
import { part } from "../../../web/src/player/parts.js";

export interface Parts {
  root: HTMLElement;
  picker: HTMLSelectElement;
  copy: HTMLButtonElement;
  link: HTMLButtonElement;
  stop: HTMLButtonElement;
  told: HTMLElement;
  editor: HTMLElement;
  verdict: HTMLElement;
  findings: HTMLElement;
  stage: HTMLElement;
  which: HTMLSelectElement;
  player: LedgerPlayer;
}

export function page(root: HTMLElement, picker: HTMLSelectElement): Parts {
  const button = (words: string): HTMLButtonElement => {
    const made = part("button", "pg-button", words);
    made.type = "button";
    return made;
  };
  const copy = button("Copy code");
  const link = button("Copy link");
  link.title = "A link that opens the playground with this code. The code is in the link, and is not sent anywhere.";
  const stop = button("Stop");
  stop.hidden = true;
  const told = part("span", "pg-told");
  told.setAttribute("role", "status");
  const verdict = part("p", "pg-verdict pg-verdict-plain", "Loading …");
  verdict.setAttribute("aria-live", "polite");
  const editor = part("div", "pg-editor");
  const findings = part("div", "pg-findings");
  const which = part("select", "pg-pick");
  which.setAttribute("aria-label", "Which training loop");
  which.hidden = true;
  const player = document.createElement("ledger-player") as LedgerPlayer;
  player.setAttribute("role", "group");
  player.setAttribute("aria-label", "Ledger player");
  const keys = part("p", "pg-keys", "Keys: ", part("kbd", "", "←"), " ", part("kbd", "", "→"), " line, ", part("kbd", "", "Page ↓"), " iteration, ", part("kbd", "", "F"), " next fault, ", part("kbd", "", "Space"), " play.");
  const stage = part("section", "pg-stage", part("h2", "", "What the ledger holds"), which, player, keys);
  stage.hidden = true;
  const tools = part("div", "pg-tools", picker, copy, link, told);
  const result = part("div", "pg-result", part("div", "pg-head", verdict, stop), findings);
  root.replaceChildren(tools, part("div", "pg-both", editor, result), stage);
  return { root, picker, copy, link, stop, told, editor, verdict, findings, stage, which, player };
}
