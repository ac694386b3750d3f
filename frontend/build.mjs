// Bundles the console's scripts into the folder named on the command line; run by scripts/build_console.py.
import { readFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const folder = process.argv[2] ?? "../src/thresher/console/static/built";
const bundled = ["htmx.org", "@dagrejs/dagre", "@dagrejs/graphlib"];

rmSync(folder, { recursive: true, force: true });
await build({
  entryPoints: ["src/console.js", "src/schema-graph.js"],
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "none", // the licences are written whole, below
  logOverride: { "direct-eval": "silent" }, // htmx's, which its configuration switches off
});
mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, "LICENSES.txt"),
  bundled.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf-8").trim()}\n`).join("\n\n"),
);
