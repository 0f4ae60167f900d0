// Cookies that were planted or changed give nobody a session, and harm none that is there.
"use strict";
const assert = require("node:assert/strict");
const { comeIn, see, sessionCookie } = require("../user.js");

module.exports = async ({ page, context, url }) => {
    await comeIn(page, url, "Ada");
    const right = await sessionCookie(context);
    const last = right.value.at(-1);
    const wrong = [
        "A".repeat(32), "", right.value.slice(0, -1), `${right.value}A`, right.value.slice(0, -1) + (last === "A" ? "B" : "A"),
        right.value.toUpperCase(), "../../etc/passwd", "%00", "x".repeat(3000),
    ];
    for (const value of wrong.filter((one) => one !== right.value)) {
        await context.addCookies([{ ...right, value }]);
        await page.goto(`${url}/counter`);
        assert.equal(page.url(), `${url}/login`, `with the cookie '${value}'`);
    }
    await page.goto(url);
    await see(page, "#visits", "Visit 1");
    assert.ok(!wrong.includes((await sessionCookie(context)).value));

    await context.addCookies([right]);
    await page.goto(`${url}/counter`);
    await see(page, "#count", "Ada counts 2");
};
