// Loads a page, and tells how it came.
"use strict";

module.exports = async ({ page, url }) => {
    const response = await page.goto(url);
    const protocol = await page.evaluate(
        () => performance.getEntriesByType("navigation")[0].nextHopProtocol);
    const color = await page.locator("h1").evaluate((heading) => getComputedStyle(heading).color);
    return { status: response.status(), protocol, title: await page.title(), color };
};
