// Elements made of text: nothing that comes from a program is ever parsed as HTML.

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {string} [name] @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function part(tag, name, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children);
  return made;
}

/** A small picture, drawn in a box of 16 by 16. @param {string} path @param {string} [name] */
export function sign(path, name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", name ?? "lp-sign");
  const drawn = document.createElementNS(space, "path");
  drawn.setAttribute("d", path);
  svg.append(drawn);
  return svg;
}

/** @param {string} path @param {string} title @param {() => void} go @param {string} [words] */
export function button(path, title, go, words) {
  const made = part("button", "lp-button", sign(path));
  if (words) made.append(words);
  made.type = "button";
  made.title = title;
  made.setAttribute("aria-label", title);
  made.addEventListener("click", go);
  return made;
}

const WORD = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|None|not|or|pass|raise|return|True|False|try|while|with|yield)\b|\b(\d[\w.]*)/g;
const CLASSES = ["lp-comment", "lp-string", "lp-keyword", "lp-literal"];

/** A line of Python, coloured. (A string over several lines stays plain.) @param {string} line */
export function painted(line) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let from = 0;
  for (const found of line.matchAll(WORD)) {
    parts.push(line.slice(from, found.index));
    const name = CLASSES[found.slice(1).findIndex((group) => group !== undefined)];
    parts.push(part("span", name, found[0]));
    from = found.index + found[0].length;
  }
  return [...parts, line.slice(from)];
}
