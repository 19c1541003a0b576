// A button for every picture. Samples share one long picture, of which each shows its part.
export default function ({ data, parentElement, setStateValue }) {
  const group = parentElement.querySelector('[role=group]')
  group.replaceChildren(...data.tiles.map(({ name, picture, place }) => {
    const button = document.createElement('button')
    button.type = 'button'
    button.title = name
    button.setAttribute('aria-label', name)
    button.setAttribute('aria-pressed', String(name === data.chosen))
    button.style.backgroundImage = `url("${picture || data.samples}")`
    if (!picture) {
      button.style.backgroundSize = `${100 * data.count}% 100%`
      button.style.backgroundPosition = `${100 * place / (data.count - 1)}% 0`
    }
    button.onclick = () => setStateValue('name', name)
    return button
  }))
}
