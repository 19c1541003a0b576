// After short, scales, news.
// The picture as the model sees it, with its patches: a reader chooses one, or paints several, before the answer is shown;
// then the map lies over it, with the reader's patches (dashed) and the model's (solid). `mode`: look, point or draw.

const GUESSES = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const [canvas, said, clear, commit] = ['canvas', 'output', '.clear', '.commit'].map(tag => parentElement.querySelector(tag))
  const card = GUESSES.get(parentElement) || {}, [rows, columns] = data.grid, asks = data.mode !== 'look'
  GUESSES.set(parentElement, card)
  if (isNews(card, 'question', [data.epoch, data.image])) {   // another question, or the same anew
    Object.assign(card, { chosen: new Set(), at: [rows >> 1, columns >> 1], hovered: null, keys: false })
  }
  if (card.url !== data.image) {
    card.url = data.image
    card.image = Object.assign(new Image(), { src: data.image, onload: () => card.paint() })
  }
  const values = bytes(data.values), colours = bytes(data.colours), name = ([row, column]) => `row ${row + 1}, column ${column + 1} of ${rows} × ${columns}`
  const number = ([row, column]) => row * columns + column
  canvas.dataset.mode = data.mode
  canvas.style.setProperty('--ratio', data.size[1] / data.size[0])

  card.paint = () => {
    if (!canvas.clientWidth || !card.image.complete || !card.image.naturalWidth) return
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = width * data.size[0] / data.size[1]
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) })
    const pen = canvas.getContext('2d'), [w, h] = [width / columns, height / rows]
    const edge = at => Math.round(at * ratio) / ratio    // no seams between patches
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.imageSmoothingEnabled = data.size[1] > 128
    pen.drawImage(card.image, 0, 0, width, height)
    if (values.length) dim(pen, [0, 0, width, height])
    values.forEach((value, cell) => {                  // nothing before the guess
      pen.globalAlpha = data.opacity[0] + (data.opacity[1] - data.opacity[0]) * value / 255
      pen.fillStyle = `rgb(${colours.slice(3 * value, 3 * value + 3).join(' ')})`
      const [x, y] = [edge(cell % columns * w), edge(Math.floor(cell / columns) * h)]
      pen.fillRect(x, y, edge((cell % columns + 1) * w) - x, edge((Math.floor(cell / columns) + 1) * h) - y)
    })
    pen.globalAlpha = 1
    if (!values.length && Math.min(w, h) > 6) {        // the patches
      pen.strokeStyle = 'rgb(255 255 255 / .35)'
      pen.lineWidth = 1
      for (let i = 1; i < columns; i++) pen.strokeRect(i * w, -1, 0, height + 2)
      for (let i = 1; i < rows; i++) pen.strokeRect(-1, i * h, width + 2, 0)
    }
    const frame = ([row, column], colour, dash = [], inner = 0) => {
      for (const [line, shade] of [[5, '#0b0d19'], [2.5, colour]]) {
        pen.setLineDash(line === 5 ? [] : dash)
        Object.assign(pen, { strokeStyle: shade, lineWidth: line })
        pen.strokeRect(column * w + 1.5 + inner, row * h + 1.5 + inner, w - 3 - 2 * inner, h - 3 - 2 * inner)
      }
      pen.setLineDash([])
    }
    for (const cell of card.chosen) {
      pen.fillStyle = 'rgb(99 102 241 / .45)'
      pen.fillRect(cell % columns * w, Math.floor(cell / columns) * h, w, h)
      frame([Math.floor(cell / columns), cell % columns], '#fff')
    }
    data.marked.forEach(cell => frame(cell, '#22d3ee'))
    data.best.forEach(cell => frame(cell, '#fff'))
    data.guessed.forEach(cell => frame(cell, '#fbbf24', [5, 4], data.best.some(best => number(best) === number(cell)) ? 4 : 0))
    const cursor = card.hovered || (card.keys && document.activeElement && canvas.matches(':focus') ? card.at : null)
    if (asks && cursor) frame(cursor, '#c7d2fe')
  }
  const tell = cell => {
    const now = [cell && name(cell), data.mode === 'draw' && card.chosen.size && `${card.chosen.size} painted`].filter(Boolean)
    const words = asks ? (now.length ? now : [data.hint]) : [data.words]
    said.textContent = [...words, ...(data.marked.length ? ['Blue: the marked patch.'] : [])].join(' · ')
  }
  const show = cell => {
    clear.hidden = data.mode !== 'draw'
    commit.hidden = !asks
    commit.disabled = clear.disabled = !card.chosen.size
    tell(cell)
    card.paint()
  }
  const choose = (cell, on = true) => {
    if (data.mode === 'point') card.chosen = new Set([number(cell)])
    else card.chosen[on ? 'add' : 'delete'](number(cell))
    card.at = cell
    show(cell)
  }
  const cellOf = event => {
    const box = canvas.getBoundingClientRect()
    const part = (at, from, size, count) => Math.min(count - 1, Math.max(0, Math.floor((at - from) / size * count)))
    return [part(event.clientY, box.top, box.height, rows), part(event.clientX, box.left, box.width, columns)]
  }
  canvas.onpointerdown = event => {
    if (!asks) return
    const cell = cellOf(event)
    card.keys = false
    card.brush = data.mode === 'draw' ? !card.chosen.has(number(cell)) : null
    choose(cell, card.brush)
  }
  canvas.onpointermove = event => {
    if (!asks) return
    card.hovered = cellOf(event)
    if (card.brush !== null && card.brush !== undefined && event.buttons) return choose(card.hovered, card.brush)
    tell(card.hovered)
    card.paint()
  }
  canvas.onpointerup = canvas.onpointercancel = () => { card.brush = null }
  canvas.onpointerleave = () => { card.hovered = null; show() }
  canvas.onfocus = canvas.onblur = () => card.paint()
  canvas.onkeydown = event => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key]
    if (!asks || !(step || event.key === 'Enter' || event.key === ' ')) return
    event.preventDefault()
    card.keys = true
    if (!step) return choose(card.at, !card.chosen.has(number(card.at)))
    card.at = [Math.min(rows - 1, Math.max(0, card.at[0] + step[0])), Math.min(columns - 1, Math.max(0, card.at[1] + step[1]))]
    show(card.at)
  }
  clear.onclick = () => { card.chosen = new Set(); show() }
  const share = (at, count) => Math.round(1e4 * (at + 0.5) / count) / 1e4
  commit.onclick = () => setTriggerValue('guess', [...card.chosen].map(cell => [share(cell % columns, columns), share(Math.floor(cell / columns), rows)]))
  canvas.setAttribute('aria-label', data.label)
  canvas.tabIndex = asks ? 0 : -1
  canvas.setAttribute('role', asks ? 'application' : 'img')
  if (!card.resize) (card.resize = new ResizeObserver(() => card.paint())).observe(canvas)
  show()
}
