// Pictures with the answers of all models below, and two buttons for each that open it in Explore or in Relevance.
export default function ({ data, parentElement, setTriggerValue }) {
  const make = (tag, text = '', name = '') => Object.assign(document.createElement(tag), { textContent: text, className: name })
  const root = parentElement.querySelector('section')
  root.setAttribute('aria-label', data.label)
  root.replaceChildren(...data.tiles.map((tile, index) => {
    const figure = make('figure'), image = make('img'), caption = make('figcaption')
    image.src = tile.picture
    image.style.aspectRatio = tile.wide ?? 1             // a picture with its map beside it
    image.onload = () => { image.style.imageRendering = image.naturalWidth < 60 ? 'pixelated' : '' } // handwritten digits
    image.alt = `Image of ${tile.label}`
    image.title = tile.place
    caption.append(make('b', tile.label))
    for (const { model, answer, sure, right } of tile.answers) {
      const verdict = right === null ? '' : right ? 'right' : 'wrong'  // none where the model does not know the label
      const line = make('p', '', verdict)
      line.title = `${model}: ${answer}, ${sure} %${verdict && ', ' + verdict}`
      if (verdict) {
        const mark = make('span', right ? '✓' : '✗', 'mark')
        mark.setAttribute('role', 'img')
        mark.setAttribute('aria-label', verdict)
        line.append(mark)
      }
      line.append(make('span', tile.answers.length > 1 ? `${model}: ${answer}` : answer, 'answer'), make('span', `${sure} %`, 'sure'))
      caption.append(line)
    }
    const actions = make('div', '', 'actions')
    for (const page of data.pages ?? []) {
      const button = make('button', page)
      button.type = 'button'
      button.setAttribute('aria-label', `Open in ${page}: ${tile.place}`)
      button.onclick = () => setTriggerValue('open', [index, page])
      actions.append(button)
    }
    figure.append(image, caption, actions)
    return figure
  }))
}
