// Pictures with the answer of a model in words below, those of others as marks, and two buttons for each that open it in Explore or in Relevance.
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
    const verdict = ({ right }) => right === null ? '' : right ? 'right' : 'wrong'  // none where the model does not know the label
    const line = each => {
      const { model, answer, sure, right } = each, said = verdict(each), own = make('span', '', said)
      own.title = `${model}: ${answer}, ${sure} %${said && ', ' + said}`
      if (said) {
        const mark = make('span', right ? '✓' : '✗', 'mark')
        mark.setAttribute('role', 'img')
        mark.setAttribute('aria-label', `${model}: ${answer}, ${said}`)
        own.append(mark)
      }
      return own
    }
    const [first, ...others] = tile.answers, names = tile.answers.map(({ model }) => model)
    const short = name => {                              // so many letters as tell it from the others
      const alike = length => names.some(each => each !== name && each.startsWith(name.slice(0, length)))
      let length = 1
      while (length < name.length && alike(length)) length++
      return name.slice(0, length)
    }
    if (first) {
      const words = make('p', '', verdict(first))
      words.append(line(first), make('span', first.answer, 'answer'), make('span', `${first.sure} %`, 'sure'))
      caption.append(words)
    }
    if (others.length) caption.append(make('p'))
    for (const each of others) {
      const own = line(each)
      own.prepend(make('small', short(each.model)))
      caption.lastChild.append(own)
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
