// Images down, models across: the likeliest classes of each model, and whether the first is right. A click on an image
// tells Python its name.

const element = (tag, text = '', name = '') => {
  const made = document.createElement(tag)
  made.textContent = text
  if (name) made.className = name
  return made
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('section')
  const text = JSON.stringify(data)
  if (root.dataset.text === text) return               // nothing new: keep the reader's place and focus
  root.dataset.text = text
  root.setAttribute('aria-label', data.label)
  root.style.setProperty('--models', data.models.length)
  root.className = data.models.length > 3 ? 'tight' : ''

  const picture = (row, box) => {
    const frame = element('span', '', 'frame'), image = element('img')
    image.src = row.image
    image.alt = box ? 'what this model sees' : row.name
    image.classList.toggle('exact', Math.max(...row.size) <= 64)
    frame.style.setProperty('--ratio', row.size[0] / row.size[1])
    frame.append(image)
    if (box) {
      const seen = element('i')
      seen.style.cssText = `left:${100 * box[0]}%;top:${100 * box[1]}%;right:${100 * (1 - box[2])}%;bottom:${100 * (1 - box[3])}%`
      frame.append(seen)
    }
    return frame
  }
  const button = row => {
    const made = element('button')
    made.type = 'button'
    made.title = 'Show this image on all pages'
    made.setAttribute('aria-pressed', String(row.name === data.focus))
    made.append(picture(row), element('b', row.name))
    made.onclick = () => setTriggerValue('pick', row.name)
    return made
  }
  const bars = cell => {
    const list = element('ol')
    list.append(...cell.bars.map(([name, share, colour, value], index) => {
      const item = element('li'), words = element('span', name)
      item.style.setProperty('--share', 100 * share + '%')
      item.style.setProperty('--colour', colour)
      words.title = name
      item.append(words)
      if (index === 0 && cell.right !== null) {
        const mark = element('u', cell.right ? '✓' : '✗', cell.right ? 'right' : 'wrong')
        mark.title = cell.right ? 'right: this is what the image shows' : 'wrong: the image shows something else'
        item.append(mark)
      }
      item.append(element('b', value))
      return item
    }))
    return list
  }

  const head = element('header')
  head.append(element('span'), ...data.models.map(name => element('b', name)))
  root.replaceChildren(head, ...data.rows.map(row => {
    const line = element('article'), words = element('div', '', 'words')
    words.append(...row.lines.map(said => element('p', said)))
    line.append(button(row), words, ...row.cells.map((cell, index) => {
      const made = element('div', '', 'cell')
      made.dataset.model = data.models[index]
      made.append(...(cell.refused ? [element('p', cell.refused)] : [...(cell.box ? [picture(row, cell.box)] : []), bars(cell)]))
      return made
    }))
    return line
  }))
}
