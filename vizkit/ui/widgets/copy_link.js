// Copies the address; where the browser refuses (a page without https), shows it, selected, to be copied by hand.
const SAID_MS = 2500;

export default function ({ parentElement }) {
  const [button, said, box] = ["button", "span", "input"].map((name) => parentElement.querySelector(name));
  button.onclick = async () => {
    const address = window.location.href;
    try {
      await navigator.clipboard.writeText(address);
      said.textContent = "Copied";
      box.hidden = true;
      clearTimeout(button.timer);
      button.timer = setTimeout(() => (said.textContent = ""), SAID_MS);
    } catch {
      said.textContent = "Copy it here:";
      box.hidden = false;
      box.value = address;
      box.select();
    }
  };
}
