// Histograms written and read by hdr-histogram-js, in the words of hist_tool.c:
//
//   node hdr_tool.js encode DIGITS HIGHEST   lines "VALUE COUNT" on stdin -> the histogram as text
//   node hdr_tool.js decode                  the text on stdin -> what is in it, a line for each thing
"use strict";

const fs = require("fs");
const hdr = require("hdr-histogram-js");

const PERCENTS = [0, 1, 25, 50, 75, 90, 99, 99.9, 99.99, 100];

function encode(digits, highest, lines) {
  const histogram = hdr.build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: highest,
    numberOfSignificantValueDigits: digits,
    bitBucketSize: 64,
  });
  for (const line of lines) {
    const [value, count] = line.split(" ").map(Number);
    histogram.recordValueWithCount(value, count);
  }
  return hdr.encodeIntoCompressedBase64(histogram);
}

function decode(text) {
  const histogram = hdr.decodeFromCompressedBase64(text, 64);
  const lines = [
    `digits ${histogram.numberOfSignificantValueDigits}`,
    `highest ${histogram.highestTrackableValue}`,
    `count ${histogram.totalCount}`,
    `min ${histogram.totalCount === 0 ? 0 : histogram.minNonZeroValue}`,
    `max ${histogram.maxValue}`,
    `mean ${histogram.mean.toFixed(6)}`,
  ];
  for (const percent of PERCENTS)
    lines.push(`p${percent} ${histogram.getValueAtPercentile(percent)}`);
  for (let i = 0; i < histogram.countsArrayLength; i++) {
    const count = histogram.getCountAtIndex(i);
    if (count !== 0) lines.push(`at ${histogram.valueFromIndex(i)} ${count}`);
  }
  return lines.join("\n");
}

const input = fs.readFileSync(0, "ascii").trim();
const [command, ...rest] = process.argv.slice(2);
if (command === "encode" && rest.length === 2)
  console.log(encode(Number(rest[0]), Number(rest[1]), input === "" ? [] : input.split("\n")));
else if (command === "decode" && rest.length === 0) console.log(decode(input));
else {
  console.error("usage: hdr_tool.js encode DIGITS HIGHEST | decode");
  process.exitCode = 2;
}
