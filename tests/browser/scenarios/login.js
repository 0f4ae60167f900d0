// Someone comes, is turned away, logs in, counts, and logs out; others try what is left behind.
"use strict";
const assert = require("node:assert/strict");
const { follow, logInAs, see, sessionCookie } = require("../user.js");

// A name that is worth nothing: whoever comes with it is nobody, and gets another one.
async function isWorthless(newVisitor, url, cookie) {
    const context = await newVisitor();
    await context.addCookies([cookie]);
    const page = await context.newPage();
    await page.goto(`${url}/counter`);
    assert.equal(page.url(), `${url}/login`);
    await page.goto(url);
    await see(page, "#visits", "Visit 1");
    await see(page, "#user", "nobody");
    assert.notEqual((await sessionCookie(context)).value, cookie.value);
}

function checkAttributes(cookie, url) {
    const { value, ...attributes } = cookie;
    assert.match(value, /^[A-Za-z0-9]{32}$/);
    assert.deepEqual(attributes, {
        name: "sid", domain: new URL(url).hostname, path: "/", expires: -1, httpOnly: true,
        secure: url.startsWith("https:"), sameSite: "Lax",
    });
}

module.exports = async ({ page, context, newVisitor, url }) => {
    await page.goto(`${url}/counter`);
    assert.equal(page.url(), `${url}/login`, "who has not logged in is sent to where he can");
    assert.deepEqual(await context.cookies(), [], "nobody needed a session so far");

    await page.goto(url);
    await see(page, "#visits", "Visit 1");
    await page.reload();
    await see(page, "#visits", "Visit 2");
    await see(page, "#user", "nobody");
    const before = await sessionCookie(context);
    checkAttributes(before, url);
    assert.equal(await page.evaluate(() => document.cookie), "", "scripts cannot read it");

    await follow(page, "Counter");
    for (const [name, password] of [["Ada", "wrong"], ["Ada", ""], ["", ""], ["Eve", "builder"]]) {
        const [refused] = await Promise.all(
            [page.waitForResponse(`${url}/login`), logInAs(page, name, password)]);
        assert.equal(refused.status(), 403);
        await see(page, "#complaint", "There is no such name, or it has another password.");
    }
    assert.equal((await sessionCookie(context)).value, before.value);

    await logInAs(page, "Ada");
    await see(page, "#count", "Ada counts 1");
    assert.equal(page.url(), `${url}/counter`);
    const after = await sessionCookie(context);
    checkAttributes(after, url);
    assert.notEqual(after.value, before.value, "the session has another name now");
    await isWorthless(newVisitor, url, before);

    await follow(page, "Again");
    await see(page, "#count", "Ada counts 2");
    await page.reload();
    await see(page, "#count", "Ada counts 3");
    await follow(page, "Home");
    await see(page, "#visits", "Visit 3");
    await see(page, "#user", "Ada");

    await follow(page, "Counter");
    await page.getByRole("button", { name: "Log out" }).click();
    await see(page, "#visits", "Visit 1");
    await see(page, "#user", "nobody");
    await isWorthless(newVisitor, url, after);
    await page.goBack();
    await follow(page, "Counter");
    await see(page, "h1", "Log in");
};
