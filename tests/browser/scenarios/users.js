// Two users, and one of them twice: each session counts for itself.
"use strict";
const { comeIn, see } = require("../user.js");

module.exports = async ({ newVisitor, url }) => {
    const names = ["Ada", "Bob", "Ada"];
    const pages = await Promise.all(names.map(async () => (await newVisitor()).newPage()));
    await Promise.all(pages.map((page, i) => comeIn(page, url, names[i])));
    await Promise.all(pages.map(async (page, i) => {
        for (let count = 2; count <= 3 + i; count++) {
            await page.reload();
            await see(page, "#count", `${names[i]} counts ${count}`);
        }
    }));
    const tab = await pages[1].context().newPage();
    await tab.goto(`${url}/counter`);
    await see(tab, "#count", "Bob counts 5");
};
