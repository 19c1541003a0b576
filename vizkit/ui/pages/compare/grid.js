// Images down, models across: what each model saw and its most probable classes. Without models, a strip of thumbnails.
// A click on an image tells Python its name.

const percent = value => (value >= 0.1 ? Math.round(100 * value) : value >= 0.01 ? (100 * value).toFixed(1)
  : value >= 1e-5 ? Number((100 * value).toPrecision(2)) : '< 0.001') + ' %'
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
  root.style.setProperty('--models', data.models.length)
  root.className = !data.models.length ? 'strip' : data.models.length > 3 ? 'grid tight' : 'grid'

  const picture = (row, box) => {
    const frame = element('span', '', 'frame'), image = element('img')
    image.src = row.image
    image.alt = box ? '' : row.name
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
    list.append(...cell.bars.map((bar, index) => {
      const item = element('li'), name = element('span', bar.name), share = element('b', typeof bar.share === 'number' ? percent(bar.share) : bar.share)
      item.style.setProperty('--share', (typeof bar.share === 'number' ? 100 * bar.share : 0) + '%')
      if (bar.colour) item.style.setProperty('--colour', bar.colour)
      if (index === 0 && cell.mark) {
        const mark = element('em', cell.mark)
        mark.title = cell.why
        item.append(mark)
      }
      item.append(name)
      if (bar.right) {
        const tick = element('u', '✓')
        tick.title = 'what the sample shows'
        item.append(tick)
      }
      name.title = bar.name
      item.append(share)
      return item
    }))
    return list
  }

  const parts = []
  if (data.models.length) {
    const head = element('header')
    head.append(element('span', ''), ...data.models.map(name => element('b', name)))
    parts.push(head)
  }
  for (const row of data.rows) {
    if (!data.models.length) { parts.push(button(row)); continue }
    const line = element('article')
    const words = element('div', '', 'words')
    words.append(...row.lines.map(line => element('p', line)))
    line.append(button(row), words, ...row.cells.map((cell, index) => {
      const made = element('div', '', 'cell')
      made.dataset.model = data.models[index]
      if (cell.refused) made.append(element('p', cell.refused))
      else made.append(picture(row, cell.box), bars(cell))
      return made
    }))
    parts.push(line)
  }
  root.replaceChildren(...parts)
}
