// The same site without cookies: the session goes along with every link, form and redirect.
"use strict";
const assert = require("node:assert/strict");
const { follow, logInAs, see } = require("../user.js");

const SESSION = /;sid=([A-Za-z0-9]{32})$/;
const sessionOf = (page) => page.url().match(SESSION)?.[1];

module.exports = async ({ page, context, newVisitor, url, files }) => {
    const site = `${url}/linked`;
    await page.goto(site);
    await see(page, "#visits", "Visit 1");
    await follow(page, "Home");
    await see(page, "#visits", "Visit 2");
    const before = sessionOf(page);
    assert.ok(before, page.url());

    await follow(page, "Counter");
    assert.equal(page.url(), `${site}/login;sid=${before}`);
    await logInAs(page, "Ada");
    await see(page, "#count", "Ada counts 1");
    const after = sessionOf(page);
    assert.ok(after && after !== before, page.url());
    await follow(page, "Again");
    await see(page, "#count", "Ada counts 2");

    const other = await (await newVisitor()).newPage();
    for (const id of [before, "A".repeat(32)]) {
        await other.goto(`${site}/counter;sid=${id}`);
        await see(other, "h1", "Log in");
    }

    await follow(page, "Files");
    await follow(page, "sub/");
    assert.equal(page.url(), `${site}/files/sub/;sid=${after}`, "a listing keeps it");
    await follow(page, "/");
    assert.equal(sessionOf(page), after);

    await page.goto(`${site}/upload;sid=${after}`);
    await page.getByLabel("Files").setInputFiles(files);
    await page.getByRole("button", { name: "Send" }).click();
    await see(page, "h1", "Uploaded");
    const [download] = await Promise.all(
        [page.waitForEvent("download"), page.locator("td a").first().click()]);
    assert.equal(await download.failure(), null);

    await follow(page, "Chat");
    await page.getByLabel("Say").fill("without cookies");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("li", { hasText: "Ada: without cookies" }).last().waitFor();

    await follow(page, "Counter");
    await see(page, "#count", "Ada counts 3");
    await page.getByRole("button", { name: "Log out" }).click();
    await see(page, "#user", "nobody");
    await other.goto(`${site}/counter;sid=${after}`);
    await see(other, "h1", "Log in");
    assert.deepEqual(await context.cookies(), []);
};
