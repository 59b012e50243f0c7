// Bundles src/ and copies Pyodide: `node build.mjs FOLDER` fills a folder that the site serves.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";

const into = resolve(process.argv[2]);
const here = new URL(".", import.meta.url);
const PYODIDE = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];

const made = await build({
  absWorkingDir: here.pathname,
  entryPoints: { playground: "src/main.ts", worker: "src/worker.ts", style: "src/style.css" },
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none", // the notices are in THIRD_PARTY.txt
  outdir: into,
  metafile: true,
  logLevel: "warning",
  plugins: [
    {
      // Left as it is: it finds its other files next to itself.
      name: "pyodide",
      setup: (setup) => setup.onResolve({ filter: /^pyodide$/ }, () => ({ path: "./pyodide/pyodide.mjs", external: true })),
    },
  ],
});

await mkdir(resolve(into, "pyodide"), { recursive: true });
for (const file of PYODIDE) await copyFile(new URL(`node_modules/pyodide/${file}`, here), resolve(into, "pyodide", file));

const used = new Set(
  Object.keys(made.metafile.inputs)
    .map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1])
    .filter(Boolean),
);
const about = async (name) => JSON.parse(await readFile(new URL(`node_modules/${name}/package.json`, here), "utf8"));
const notices = [];
for (const name of [...used].sort()) {
  const { version, license } = await about(name);
  notices.push(`${name} ${version} (${license})\n\n${(await readFile(new URL(`node_modules/${name}/LICENSE`, here), "utf8")).trim()}\n`);
}
const { version } = await about("pyodide");
const pyodide = `Pyodide ${version} (MPL-2.0), in the folder pyodide, unchanged

Copyright (C) 2018-2025, Pyodide contributors and Mozilla. This Source Code Form is subject to the
terms of the Mozilla Public License, v. 2.0: https://mozilla.org/MPL/2.0/. Its source is at
https://github.com/pyodide/pyodide/tree/${version}. It contains CPython and its standard library, Copyright
(c) 2001 Python Software Foundation, under the PSF License Agreement: https://docs.python.org/3/license.html
`;
const line = "=".repeat(80);
await writeFile(resolve(into, "THIRD_PARTY.txt"), `In the playground of gradledger's website:\n\n${[pyodide, ...notices].join(`\n${line}\n\n`)}`);
