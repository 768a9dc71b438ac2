// Builds ../bundle from src/: one script, one style sheet, and the licences of what is in them.
// `--check` fails where what is committed is not what the sources give; `--tests` builds the tests into .tests/.
import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "bundle");

async function bundled() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: { page: "src/main.tsx" },
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "ascii",
    legalComments: "none",
    metafile: true,
    write: false,
    outdir: "out",
  });
  const files = new Map(result.outputFiles.map((file) => [file.path.split("/").pop(), file.text.trimEnd() + "\n"]));
  files.set("LICENCES.txt", licences(Object.keys(result.metafile.inputs)));
  // What ends a script or style element would end it here, too.
  for (const [name, text] of files) {
    if (name !== "LICENCES.txt" && /<\/(script|style)|<!--/i.test(text)) throw new Error(`${name} holds a closing tag`);
  }
  return files;
}

function licences(inputs) {
  const packages = new Set(inputs.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
  const parts = [...packages].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : "";
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return `page.js contains these libraries.\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

if (process.argv.includes("--tests")) {
  const names = readdirSync(join(here, "tests")).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: here,
    entryPoints: names.map((name) => `tests/${name}`),
    bundle: true,
    platform: "node",
    format: "esm",
    outdir: ".tests",
    outExtension: { ".js": ".mjs" },
  });
} else {
  const files = await bundled();
  if (process.argv.includes("--check")) {
    const old = [...files].filter(([name, text]) => {
      const path = join(target, name);
      return !existsSync(path) || readFileSync(path, "utf8") !== text;
    });
    if (old.length) {
      console.error(`out of date: ${old.map(([name]) => name).join(", ")}; run \`npm run build\` in ${here}`);
      process.exit(1);
    }
  } else {
    mkdirSync(target, { recursive: true });
    for (const [name, text] of files) writeFileSync(join(target, name), text);
  }
}
