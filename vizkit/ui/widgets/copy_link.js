// Copies the address; where the browser refuses (a page without https), shows it, selected, to be copied by hand.
const SAID_MS = 2500, READ_MS = 12000;

export default function ({ parentElement, data }) {
  const [button, said, box] = ["button", "span", "input"].map((name) => parentElement.querySelector(name));
  button.onclick = async () => {
    const address = window.location.href;
    try {
      await navigator.clipboard.writeText(address);
      said.textContent = data.left ? `Copied. ${data.left}` : "Copied";
      box.hidden = true;
      clearTimeout(button.timer);
      button.timer = setTimeout(() => (said.textContent = ""), data.left ? READ_MS : SAID_MS);
    } catch {
      said.textContent = `${data.left} Copy it here:`.trim();
      box.hidden = false;
      box.value = address;
      box.select();
    }
  };
}
