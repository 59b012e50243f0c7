// Dark and light: the page's custom properties are the one place where colours stand.

export type Colours = Record<
  "paper" | "panel" | "ink" | "soft" | "faint" | "rule" | "accent" | "spent" | "again" | "cleared" | "left" | "skipped" | "fault" | "error" | "warning" | "info" | "band",
  string
>;

const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let printing = false;
let painted: Colours | null = null;

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

/** Asked of an element, because a property of its own is not resolved to the theme's colour. */
export function colours(): Colours {
  return (painted ??= new Proxy({} as Colours, {
    get: (known: Record<string, string>, name) => {
      const key = String(name);
      probe.style.color = `var(--${key})`;
      return (known[key] ??= getComputedStyle(probe).color);
    },
  }) as Colours);
}

export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

export function isDark(): boolean {
  return !printing && (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
}

/** Paper is white, whatever the screen is. */
export function forPrint(on: boolean): void {
  printing = on;
  root.classList.toggle("printing", on);
  painted = null;
  listeners.forEach((listener) => listener());
}

export function startTheme(button: HTMLButtonElement | null): void {
  const changed = () => {
    painted = null;
    button?.setAttribute("aria-pressed", String(isDark()));
    listeners.forEach((listener) => listener());
  };
  try {
    const kept = localStorage.getItem("gradledger-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch {
    // A file without storage follows the system.
  }
  dark.addEventListener("change", changed);
  button?.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("gradledger-theme", root.dataset.theme);
    } catch {
      // It is then forgotten when the page is closed.
    }
    changed();
  });
  button?.setAttribute("aria-pressed", String(isDark()));
}
