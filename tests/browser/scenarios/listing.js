// Browses a folder: what is in it is seen, in order, and whatever it is called can be clicked.
"use strict";
const assert = require("node:assert/strict");
const { follow, see } = require("../user.js");

// The table without its heading and its times: [name, size] each.
async function rows(page) {
    const table = await page.locator("table tr:has(td)").evaluateAll(
        (lines) => lines.map((line) => [...line.cells].map((cell) => cell.innerText)));
    for (const [name, , time] of table)
        assert.match(time, /^20\d\d-\d\d-\d\d \d\d:\d\d$/, name);
    return table.map(([name, size]) => [name, size]);
}

// Clicks through a folder and all below it: what each says, by path.
async function browse(page, path, seen) {
    await see(page, "h1", `/${path}`);
    const here = page.url();
    assert.equal(await page.title(), `/${path}`.replace(/(.)\/$/, "$1"));
    seen[path] = await rows(page);
    for (const [name] of seen[path]) {
        await follow(page, name);
        if (name.endsWith("/")) {
            await browse(page, path + name, seen);
            await follow(page, path === "" ? "/" : `${path.split("/").at(-2)}/`);
        } else {
            await page.waitForURL((now) => now.href !== here); // ... is loaded: a text is shown as it comes
            seen[path + name] = await page.locator("body").innerText();
            await page.goBack();
        }
        await see(page, "h1", `/${path}`);
        assert.equal(decodeURI(page.url()), decodeURI(here));
    }
    assert.equal(await page.locator("b").count(), 0);
    return seen;
}

module.exports = async ({ page, url, refused }) => {
    await page.goto(url);
    await follow(page, "Files");
    const seen = await browse(page, "", {});
    for (const [name, status] of Object.entries(refused))
        assert.equal((await page.goto(`${url}/files/${name}`)).status(), status, name);
    await page.goto(`${url}/files/sub`);
    assert.equal(page.url(), `${url}/files/sub/`, "the slash that is missing");
    return seen;
};
