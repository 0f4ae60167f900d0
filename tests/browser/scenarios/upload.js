// Uploads a large file and a small one; looks meanwhile how far that is, as someone else goes on counting;
// and takes a file back.
"use strict";
const assert = require("node:assert/strict");
const { comeIn, follow, see } = require("../user.js");

const EYE_MS = 100; // nobody looks more often

// Every text that the page about the upload has until that is over.
async function watch(page, over) {
    const texts = new Set();
    while (!over.is) {
        await page.waitForTimeout(EYE_MS);
        texts.add(await page.locator("#arrived").innerText());
    }
    return [...texts];
}

async function count(page, over) {
    let counted = 1;
    while (!over.is) {
        await page.waitForTimeout(EYE_MS);
        await page.reload();
        await see(page, "#count", `Bob counts ${++counted}`);
    }
    return counted;
}

// How many octets there were each time; in between, and more and more.
function check(texts) {
    const counts = texts.filter((text) => /^[1-9]/.test(text)).map((text) => text.match(/\d+/g).map(Number));
    for (const [i, [octets, expected]] of counts.entries())
        assert.ok(octets <= expected && (i === 0 || octets > counts[i - 1][0]), texts.join("; "));
    return counts.filter(([octets, expected]) => octets < expected).length;
}

async function send(page, over) {
    try {
        await page.getByRole("button", { name: "Send" }).click();
        await see(page, "h1", "Uploaded");
    } finally {
        over.is = true;
    }
}

module.exports = async ({ page, context, newVisitor, url, files, note, keep }) => {
    const bob = await (await newVisitor()).newPage();
    const tab = await context.newPage();
    await Promise.all([comeIn(page, url, "Ada"), comeIn(bob, url, "Bob")]);
    await follow(page, "Upload");
    await tab.goto(`${url}/upload/progress`);
    await page.getByLabel("Note").fill(note);
    await page.getByLabel("Files").setInputFiles(files);

    const over = { is: false };
    const [texts, counted] = await Promise.all(
        [watch(tab, over), count(bob, over), send(page, over)]);

    const rows = await page.locator("tr").evaluateAll(
        (lines) => lines.map((line) => [...line.cells].map((cell) => cell.innerText)));
    const links = page.locator("td a");
    const [download] = await Promise.all([page.waitForEvent("download"), links.last().click()]);
    await download.saveAs(keep);
    return { rows, counted, looks: check(texts), suggested: download.suggestedFilename(),
             links: await links.evaluateAll((all) => all.map((link) => link.pathname)) };
};
