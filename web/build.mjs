// Bundles src/ into the Python package: a script and a style, each for one tag of the page.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";

const bundle = new URL("../src/gradledger/report/page/bundle/", import.meta.url);

const made = await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: { page: "src/main.ts", style: "src/style.css" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none", // the notices stand in THIRD_PARTY.txt, and once at the top of the script
  define: { __DEV__: "false", "process.env.NODE_ENV": '"production"' },
  outdir: "out",
  write: false,
  metafile: true,
  logLevel: "warning",
});

const used = new Set(
  Object.keys(made.metafile.inputs)
    .map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1])
    .filter(Boolean),
);
const notices = [];
for (const name of [...used].sort()) {
  const folder = new URL(`node_modules/${name}/`, import.meta.url);
  const about = JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
  const texts = await Promise.all(["LICENSE", "LICENSE.txt", "NOTICE"].map((file) => readFile(new URL(file, folder), "utf8").catch(() => "")));
  notices.push(`${about.name} ${about.version} (${about.license})\n\n${texts.filter(Boolean).join("\n").trim()}\n`);
}
const names = notices.map((notice) => notice.split("\n", 1)[0]).join(", ");
const line = "=".repeat(80);
await writeFile(new URL("THIRD_PARTY.txt", bundle), `In the script of gradledger's HTML report:\n\n${notices.join(`\n${line}\n`)}`);

for (const file of made.outputFiles) {
  const name = file.path.split(/[\\/]/).pop();
  const text = name.endsWith(".js") ? `/*! Contains ${names}. Copyright the Apache Software Foundation, Baidu Inc. and Microsoft. */\n${file.text}` : file.text;
  await writeFile(new URL(name, bundle), text);
}
