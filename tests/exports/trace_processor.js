// Runs Perfetto's trace processor in Node, and carries bytes: requests from standard input, each reply, behind its length, to standard output.
// The script of Perfetto's UI is made for a worker of a browser, so it gets what one has, and its WebAssembly from the folder it lies in.
"use strict";
const { readFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const vm = require("node:vm");

const script = process.argv[2];

class FileRequest {
  open(_method, name) {
    this.path = join(dirname(script), name);
  }
  send() {
    this.response = readFileSync(this.path);
  }
}

const log = console.error; // standard output has the replies
const worker = vm.createContext({
  WorkerGlobalScope: Object,
  XMLHttpRequest: FileRequest,
  console: { log, warn: log, error: log },
  location: { href: "http://localhost/" },
  TextDecoder,
  URL,
  crypto,
  performance,
  setInterval,
  setTimeout,
  clearInterval,
});
worker.self = worker;
vm.runInContext(readFileSync(script, "utf8"), worker, { filename: script });
const Bytes = vm.runInContext("Uint8Array", worker);

const port = {
  postMessage(reply) {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(reply.length);
    process.stdout.write(Buffer.concat([length, reply]));
  },
};
worker.onmessage({ data: port });
process.stdin.on("data", (requests) => port.onmessage({ data: new Bytes(requests) }));
