// What a user of the application does and sees, in any scenario.
"use strict";

const PASSWORDS = { Ada: "lovelace & co. = 1+1", Bob: "builder" };

// Waits until an element says exactly this.
async function see(page, selector, text) {
    try {
        await page.waitForFunction(
            ([where, what]) => document.querySelector(where)?.innerText === what, [selector, text]);
    } catch (error) {
        const there = await page.locator("body").innerText();
        throw new Error(`no ${selector} with '${text}' at ${page.url()}:\n${there}`, { cause: error });
    }
}

async function logInAs(page, name, password = PASSWORDS[name]) {
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Log in" }).click();
}

async function comeIn(page, url, name) {
    await page.goto(`${url}/login`);
    await logInAs(page, name);
    await see(page, "#count", `${name} counts 1`);
}

async function follow(page, name) {
    await page.getByRole("link", { name, exact: true }).click();
}

async function sessionCookie(context) {
    return (await context.cookies()).find((cookie) => cookie.name === "sid");
}

module.exports = { comeIn, follow, logInAs, see, sessionCookie };
