"use strict";
// Before the page is drawn: the colours that were chosen here earlier.
const chosenTheme = localStorage.getItem("theme");
if (chosenTheme === "dark" || chosenTheme === "light") document.documentElement.dataset.theme = chosenTheme;
