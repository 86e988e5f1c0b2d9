// compare.cjs EXPORT: each badge of the export against badge-maker's own drawing of the same words.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { makeBadge } = require("badge-maker");

function measures(svg) {
  const all = (name, keep) =>
    [...svg.matchAll(new RegExp(`<${name} ([^>]*)>`, "g"))]
      .map((found) => Object.fromEntries([...found[1].matchAll(/([\w:-]+)="([^"]*)"/g)].map((pair) => [pair[1], pair[2]])))
      .filter(keep);
  const svgs = all("svg", () => true);
  return {
    width: Number(svgs[0].width),
    height: Number(svgs[0].height),
    texts: all("text", (text) => !text["fill-opacity"]).map((text) => [Number(text.x), Number(text.y), Number(text.textLength)]),
    rects: all("rect", (rect) => !rect.rx && !rect.fill.startsWith("url")).map((rect) => [Number(rect.x || 0), Number(rect.width), rect.fill]),
  };
}

const folder = path.join(process.argv[2], "badges");
let compared = 0;
let wrong = 0;
for (const org of fs.readdirSync(folder)) {
  for (const file of fs.readdirSync(path.join(folder, org)).filter((name) => name.endsWith(".json"))) {
    const words = JSON.parse(fs.readFileSync(path.join(folder, org, file), "utf8"));
    const ours = measures(fs.readFileSync(path.join(folder, org, file.replace(/json$/, "svg")), "utf8"));
    const theirs = measures(makeBadge({ label: words.label, message: words.message, color: words.color, style: "flat" }));
    compared += 1;
    if (JSON.stringify(ours) !== JSON.stringify(theirs)) {
      wrong += 1;
      console.log(`${org}/${file}: ours ${JSON.stringify(ours)}, theirs ${JSON.stringify(theirs)}`);
    }
  }
}
if (compared === 0 || wrong > 0) {
  console.log(`failed: ${wrong} of ${compared} badges differ from badge-maker's`);
  process.exit(1);
}
console.log(`passed: ${compared} badges measure as badge-maker's do`);
