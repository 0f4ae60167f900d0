// Two users talk; one of them reloads and leaves while the server holds its question.
"use strict";
const assert = require("node:assert/strict");
const { comeIn, follow, see } = require("../user.js");

async function say(page, text) {
    await page.getByLabel("Say").fill(text);
    await page.getByRole("button", { name: "Send" }).click();
}

async function enter(page, url, name) {
    await comeIn(page, url, name);
    await follow(page, "Chat");
}

// The server answers a question that it has held for a while.
function heldInVain(page) {
    return page.waitForResponse((response) => response.url().includes("/chat/next") &&
                                              response.status() === 204);
}

// Asked and not answered: the server holds it.
function held(page) {
    return page.waitForRequest((request) => request.url().includes("/chat/next"));
}

module.exports = async ({ page: ada, newVisitor, url }) => {
    const bob = await (await newVisitor()).newPage();
    await Promise.all([enter(ada, url, "Ada"), enter(bob, url, "Bob")]);
    const lines = [];
    const everybodySees = (...pages) =>
        Promise.all(pages.map((page) => see(page, "#lines", lines.join("\n"))));

    for (const round of ["one", "two", "three"]) {
        await say(ada, `${round}?`);
        lines.push(`Ada: ${round}?`);
        await everybodySees(bob, ada);
        await say(bob, `<b>${round}</b> & "Grüße"`);
        lines.push(`Bob: <b>${round}</b> & "Grüße"`);
        await everybodySees(ada, bob);
    }
    assert.equal(await ada.locator("#lines b").count(), 0);

    await heldInVain(bob);
    await heldInVain(bob);
    await say(ada, "still there?");
    lines.push("Ada: still there?");
    await everybodySees(bob, ada);

    await held(bob);
    await bob.reload();
    await everybodySees(bob);
    await held(bob);
    await Promise.all([bob.close(), say(ada, "gone?")]);
    lines.push("Ada: gone?");
    await everybodySees(ada);
    await say(ada, "so it is");
    lines.push("Ada: so it is");
    const again = await (await newVisitor()).newPage();
    await enter(again, url, "Bob");
    await everybodySees(again, ada);
};
