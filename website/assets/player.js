// The ledger player: steps through the program of events that the checker made of a training loop.
// It makes elements out of text, never out of HTML, and asks for nothing.
(() => {
  const element = (tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const round = (step) => step.rounds.map((r) => `${r.unit} ${r.number}`).join(", ") || "before the loop";

  const deposit = (held) => {
    const state = held.spent === null ? "fresh" : "spent";
    const chip = element("span", `lp-deposit lp-${state}${held.left_over ? " lp-left" : ""}`);
    chip.append(element("b", "", `${held.count > 1 ? `${held.count} × ` : ""}line ${held.line}`));
    const told = [held.weight, held.scaled ? "scaled" : "", held.clipped ? "clipped" : "", held.local ? "this rank only" : ""];
    told.push(held.left_over ? "left over" : "", held.spent === null ? "" : `spent in line ${held.spent}`);
    chip.append(element("small", "", told.filter(Boolean).join(" · ")));
    return chip;
  };

  const cellRow = (cell, step) => {
    const row = element("div", "lp-cell");
    if (cell.names.some((name) => step.touches.includes(name))) row.classList.add("lp-touched");
    row.append(element("span", "lp-name", cell.names.join(", ")));
    const holds = element("span", "lp-holds");
    if (cell.holds.length) holds.append(...cell.holds.map(deposit));
    else holds.append(element("span", "lp-empty", cell.zeros ? "zeros" : "None"));
    row.append(holds);
    return row;
  };

  const start = (root) => {
    const play = JSON.parse(root.querySelector("script").textContent);
    const { steps } = play;
    let at = 0;
    const bar = element("div", "lp-bar");
    const button = (label, title, go) => {
      const made = element("button", "lp-button", label);
      made.type = "button";
      made.title = title;
      made.setAttribute("aria-label", title);
      made.addEventListener("click", () => show(go()));
      bar.append(made);
      return made;
    };
    const iteration = (way) => {
      let to = at;
      while (to + way >= 0 && to + way < steps.length && round(steps[to]) === round(steps[at])) to += way;
      return to;
    };
    const faulty = steps.findIndex((step) => step.faults.length);
    button("|◀", "First line", () => 0);
    button("−1 iteration", "Previous iteration", () => iteration(-1));
    button("◀", "Previous line", () => at - 1);
    button("▶", "Next line", () => at + 1);
    button("+1 iteration", "Next iteration", () => iteration(1));
    if (faulty >= 0) button("⚠ fault", "Next faulty step", () => {
      const next = steps.findIndex((step, i) => i > at && step.faults.length);
      return next < 0 ? faulty : next;
    }).classList.add("lp-to-fault");
    const slider = element("input", "lp-slider");
    slider.type = "range";
    slider.min = "0";
    slider.max = String(steps.length - 1);
    slider.setAttribute("aria-label", "Step");
    slider.addEventListener("input", () => show(Number(slider.value)));
    const ticks = element("div", "lp-ticks");
    for (const step of steps) ticks.append(element("i", `lp-tick lp-k-${step.kind}${step.faults.length ? " lp-faulty" : ""}`));
    const code = element("pre", "lp-code");
    const first = Math.max(0, Math.min(...steps.map((step) => step.line), ...play.lanes.map((lane) => lane.line)) - 1);
    const last = Math.min(play.code.length, Math.max(...steps.map((step) => step.line)) + 1);
    const lines = new Map();
    for (let number = first + 1; number <= last; number++) {
      const line = element("span", "lp-line");
      line.append(element("span", "lp-number", String(number)), document.createTextNode(`${play.code[number - 1]}\n`));
      lines.set(number, line);
      code.append(line);
    }
    const now = element("p", "lp-now");
    now.setAttribute("aria-live", "polite");
    const fault = element("p", "lp-fault");
    const lanes = element("div", "lp-lanes");
    const books = element("div", "lp-books");
    books.append(now, fault, lanes);
    const both = element("div", "lp-both");
    both.append(code, books);
    root.append(bar, slider, ticks, both);

    const show = (wanted) => {
      at = Math.max(0, Math.min(steps.length - 1, wanted));
      const step = steps[at];
      slider.value = String(at);
      for (const [number, line] of lines) {
        line.classList.toggle("lp-here", number === step.line);
        line.classList.toggle("lp-bad", number === step.line && step.faults.length > 0);
      }
      const here = lines.get(step.line);
      if (here) code.scrollTop = here.offsetTop - code.offsetTop - code.clientHeight / 2;
      [...ticks.children].forEach((tick, i) => tick.classList.toggle("lp-now-tick", i === at));
      now.replaceChildren(element("b", "", `${round(step)}: `), document.createTextNode(`line ${step.line} ${step.says}`));
      fault.replaceChildren(...step.faults.map((f) => element("span", "", `${f.rule} ${f.name}: ${f.detail}`)));
      fault.hidden = step.faults.length === 0;
      const named = [...play.lanes.map((lane) => lane.name), ""];
      lanes.replaceChildren(
        ...named.flatMap((name) => {
          const cells = step.cells.filter((cell) => cell.lane === name);
          if (!cells.length) return [];
          const lane = element("section", "lp-lane");
          lane.append(element("h4", "", name || "no optimizer"), ...cells.map((cell) => cellRow(cell, step)));
          return [lane];
        }),
      );
    };
    root.tabIndex = 0;
    root.addEventListener("keydown", (event) => {
      const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (way && event.target !== slider) {
        show(at + way);
        event.preventDefault();
      }
    });
    show(0);
    root.dataset.ready = "";
  };
  const all = () => document.querySelectorAll(".ledger-player:not([data-ready])").forEach(start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all);
  else all();
})();
