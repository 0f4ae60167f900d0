// Closes the page in the middle of an upload.
"use strict";
const { comeIn, follow, see } = require("../user.js");

module.exports = async ({ page, context, url, files }) => {
    await comeIn(page, url, "Ada");
    await follow(page, "Upload");
    await page.getByLabel("Files").setInputFiles(files);
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.enable");
    await devtools.send("Network.emulateNetworkConditions", {
        offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 20e6,
    });
    await page.getByRole("button", { name: "Send" }).click({ noWaitAfter: true });
    const tab = await context.newPage();
    await tab.goto(`${url}/upload/progress`);
    await tab.waitForFunction(() => document.querySelector("progress").value > 1e6);
    const arrived = await tab.locator("progress").evaluate((bar) => [bar.value, bar.max]);
    await page.close();
    await follow(tab, "Counter");
    await see(tab, "#count", "Ada counts 2");
    return arrived;
};
