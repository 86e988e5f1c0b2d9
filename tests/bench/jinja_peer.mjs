// Times the npm package @huggingface/jinja. usage: node jinja_peer.mjs FOLDER_WITH_NODE_MODULES TEMPLATE VARIABLES.json
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, template, conversation] = process.argv.slice(2);
const { Template } = createRequire(`${folder}/`)("@huggingface/jinja");
const text = readFileSync(template, "utf8");
const variables = JSON.parse(readFileSync(conversation, "utf8"));

function best(run, milliseconds = 2000) {
  let fastest = Infinity;
  const stop = performance.now() + milliseconds;
  while (performance.now() < stop) {
    const begin = performance.now();
    run();
    fastest = Math.min(fastest, performance.now() - begin);
  }
  return fastest * 1000;
}

const parsed = new Template(text);
console.log("compile+render", best(() => new Template(text).render(variables)));
console.log("render", best(() => parsed.render(variables)));
