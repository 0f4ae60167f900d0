// driver.js BROWSER: plays scenarios in one browser, until its input ends.
//
// A line of input is {"scenario": NAME, …}: scenarios/NAME.js is given that, the browser, and a page of a
// visitor who was never there before. The line of output is what it returns, {"value": …}, or
// {"failure": TEXT}. Everything a scenario opens is closed behind it.
"use strict";
const readline = require("node:readline");
const { chromium } = require("playwright-core");

const WAIT_MS = 60000;

// Someone at a browser of his own: without cookies, and with whatever certificates.
async function visitor(browser, opened) {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    context.setDefaultTimeout(WAIT_MS);
    opened.push(context);
    return context;
}

async function play(browser, request) {
    const opened = [];
    const newVisitor = () => visitor(browser, opened);
    try {
        const context = await newVisitor();
        const page = await context.newPage();
        const scenario = require(`./scenarios/${request.scenario}.js`);
        return { value: await scenario({ ...request, context, page, newVisitor }) ?? null };
    } catch (error) {
        return { failure: error.stack };
    } finally {
        await Promise.all(opened.map((context) => context.close()));
    }
}

async function main(executablePath) {
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    try {
        for await (const line of readline.createInterface({ input: process.stdin }))
            console.log(JSON.stringify(await play(browser, JSON.parse(line))));
    } finally {
        await browser.close();
    }
}

main(process.argv[2]).catch((error) => {
    console.error(error);
    process.exitCode = 1;
});
