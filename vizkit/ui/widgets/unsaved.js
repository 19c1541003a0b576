// Asks before the tab is closed or loaded anew, as long as this stands on the page: the browser says it in its own words.
export default function ({ parentElement }) {
  parentElement.ask ??= (event) => event.preventDefault();
  addEventListener("beforeunload", parentElement.ask);
  return () => removeEventListener("beforeunload", parentElement.ask);
}
