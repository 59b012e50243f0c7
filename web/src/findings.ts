// Findings: a filter by severity, a search in all of their text, and ways to and from them.

import { byId, calm, counted } from "./dom";

export function startFindings(showOnTimeline: (finding: number) => void): void {
  const cards = [...document.querySelectorAll<HTMLElement>(".finding")];
  const chips = [...document.querySelectorAll<HTMLButtonElement>(".chip")];
  const search = byId<HTMLInputElement>("search");
  const texts = cards.map((card) => (card.textContent ?? "").toLowerCase().replace(/\s+/g, " "));

  const filter = () => {
    const off = new Set(chips.filter((chip) => chip.getAttribute("aria-pressed") === "false").map((chip) => chip.dataset.severity));
    const words = (search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    cards.forEach((card, index) => {
      card.hidden = off.has(card.dataset.severity) || !words.every((word) => texts[index].includes(word));
      shown += card.hidden ? 0 : 1;
    });
    const told = byId("findings-shown");
    if (told) told.textContent = shown === cards.length ? "" : `${shown} of ${counted(cards.length, "finding")} shown`;
  };
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") === "false"));
      filter();
    });
  }
  search?.addEventListener("input", filter);
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-finding]")) {
    button.addEventListener("click", () => showOnTimeline(Number(button.dataset.finding)));
  }
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href^="#finding-"]')) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      openFinding(Number(link.hash.slice("#finding-".length)) - 1);
    });
  }
}

/** Shows a finding, even where the filter hid it. */
export function openFinding(finding: number): void {
  const card = byId(`finding-${finding + 1}`);
  if (!card) return;
  card.hidden = false;
  history.replaceState(null, "", `#${card.id}`);
  card.scrollIntoView({ behavior: calm() ? "auto" : "smooth", block: "start" });
  card.focus({ preventScroll: true });
}

/** A link to a rule's text opens it. */
export function startRules(): void {
  const open = () => {
    const target = location.hash.startsWith("#rule-") ? byId(location.hash.slice(1)) : null;
    const details = target?.closest("details");
    if (details) details.open = true;
    target?.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", open);
  open();
}
