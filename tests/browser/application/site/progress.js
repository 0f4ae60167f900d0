// Keeps a page about an upload up to date, while there is one.
"use strict";
const bar = document.querySelector("progress");
const arrived = document.getElementById("arrived");

setInterval(async () => {
    const answer = await fetch(arrived.dataset.source);
    const [octets, expected] = (await answer.text()).split(" ");
    bar.max = Number(expected) || 1;
    bar.value = Number(octets);
    arrived.textContent = `${octets} of ${expected} octets`;
}, 50);
