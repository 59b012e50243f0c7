// The programs to pick, as website/playground/examples.py gathers them.

export interface Example {
  name: string;
  group: string;
  title: string;
  text: string;
}

export async function examples(address: URL): Promise<Example[]> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`examples.json: ${response.status}`);
  return (await response.json()) as Example[];
}

export function picker(all: Example[]): HTMLSelectElement {
  const made = document.createElement("select");
  made.className = "pg-pick";
  made.setAttribute("aria-label", "Examples");
  const own = new Option("Your own code", "");
  own.hidden = true;
  made.append(own);
  for (const group of new Set(all.map((example) => example.group))) {
    const options = document.createElement("optgroup");
    options.label = group;
    options.append(...all.filter((example) => example.group === group).map((example) => new Option(example.title, example.name)));
    made.append(options);
  }
  return made;
}
