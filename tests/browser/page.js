// page.js BROWSER URL: loads a page and prints, as JSON, how it came.
"use strict";
const { chromium } = require("playwright-core");

async function load(executablePath, url) {
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    try {
        const page = await browser.newPage({ ignoreHTTPSErrors: true });
        const response = await page.goto(url);
        const protocol = await page.evaluate(
            () => performance.getEntriesByType("navigation")[0].nextHopProtocol);
        return { status: response.status(), protocol, title: await page.title() };
    } finally {
        await browser.close();
    }
}

load(...process.argv.slice(2)).then(
    (seen) => console.log(JSON.stringify(seen)),
    (error) => {
        console.error(error);
        process.exitCode = 1;
    });
