// Elements made of text: nothing that comes from a script is ever parsed as HTML.

type Child = Node | string | null;

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T | null {
  return document.getElementById(id) as T | null;
}

const SVG = "http://www.w3.org/2000/svg";

/** A small picture of a path that is drawn in a box of 16 by 16. */
export function picture(path: string, colour: string, hollow: boolean): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const drawn = document.createElementNS(SVG, "path");
  drawn.setAttribute("d", path);
  drawn.setAttribute("fill", hollow ? "none" : colour);
  drawn.setAttribute("stroke", colour);
  drawn.setAttribute("stroke-width", hollow ? "1.6" : "0.6");
  svg.append(drawn);
  return svg;
}

export function counted(n: number, thing: string): string {
  const plural = n === 1 ? "" : /(s|ch)$/.test(thing) ? "es" : "s";
  return `${n.toLocaleString("en-US")} ${thing}${plural}`;
}

export const calm = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;
