// Asks for one line after the other, for as long as the page is there; says what is typed.
"use strict";
const lines = document.getElementById("lines");
const form = document.getElementById("say");

async function listen() {
    for (let number = 0; ;) {
        const answer = await fetch(`${form.dataset.next}?number=${number}`);
        if (answer.status === 200) {
            const line = document.createElement("li");
            line.textContent = await answer.text();
            lines.append(line);
            number++;
        } else if (answer.status !== 204) {
            throw new Error(`${answer.status} ${await answer.text()}`);
        }
    }
}

form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form));
    form.reset();
    await fetch(form.action, { method: "POST", body });
});

listen();
