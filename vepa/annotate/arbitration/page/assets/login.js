// The token stands behind the # of the link: no server ever sees it there, and it leaves the bar.
const token = document.getElementById("token");
if (location.hash.length > 1) {
  token.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}
const name = document.getElementById("name");
if (name && !name.value) name.value = localStorage.getItem("vepa-name") || "";
(name || token).focus();
document.getElementById("login").addEventListener("submit", () => {
  if (name) localStorage.setItem("vepa-name", name.value);
});
