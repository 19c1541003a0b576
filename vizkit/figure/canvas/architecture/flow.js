// After short, scales.
// A network from the image to its answer: every block with its map over the image, all on one scale, or the image cut into its
// tokens. A click opens a block; one on the image moves the cursor of the page. What is pointed at is told beside it.

const STORE = new WeakMap()
const GAP = 18, LEAST = 118, BESIDE = 90, SEEN = 3     // in CSS pixels: of a map, also beside other networks, and of a cell
const HINT = 'Point at a block for its numbers; click it to open it.'

const element = (name, text, className) => {
  const made = document.createElement(name)
  if (text) made.textContent = text
  if (className) made.className = className
  return made
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector('section'), list = root.querySelector('ol'), note = root.querySelector('output')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  const table = bytes(data.colours), [x0, y0, x1, y1] = data.box, image = new Image()
  const tell = (box, cell) => {                        // beside what is pointed at
    note.hidden = !box
    if (!box) return
    note.textContent = cell ? `${cell}\n${box.facts}` : box.facts
    const item = list.children[data.boxes.indexOf(box) + 1], right = item.offsetLeft + item.clientWidth / 2 > list.clientWidth / 2
    note.style.top = `${item.offsetTop + item.clientHeight + 4}px`
    note.style.left = right ? 'auto' : `${item.offsetLeft}px`
    note.style.right = right ? `${list.clientWidth - item.offsetLeft - item.clientWidth}px` : 'auto'
  }
  const drawing = []                                   // what paints each canvas again, at its size
  const under = (pen, wide, high) => {                 // what the model sees of the image
    pen.fillStyle = '#0b0d19'; pen.fillRect(0, 0, wide, high)
    if (!image.complete || !image.naturalWidth) return
    const w = wide / (x1 - x0), h = high / (y1 - y0)
    pen.imageSmoothingEnabled = data.image_size[1] > 128
    pen.drawImage(image, -x0 * w, -y0 * h, w, h)
  }
  const lattice = (pen, [rows, columns], of, wide, high, thick = 1.5) => {   // a line wherever neighbours are of two windows
    pen.beginPath()
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
      const x = c * wide / columns, y = r * high / rows, own = of[r * columns + c]
      if (c && own !== of[r * columns + c - 1]) { pen.moveTo(x, y); pen.lineTo(x, y + high / rows) }
      if (r && own !== of[(r - 1) * columns + c]) { pen.moveTo(x, y); pen.lineTo(x + wide / columns, y) }
    }
    for (const [colour, line] of [['#000', 2 * thick], ['#fff', thick]]) { pen.strokeStyle = colour; pen.lineWidth = line; pen.stroke() }
  }
  const marked = (pen, [rows, columns], wide, high) => {   // the cell under the cursor
    const [x, y] = [(data.point[0] - x0) / (x1 - x0), (data.point[1] - y0) / (y1 - y0)]
    if (x < 0 || y < 0 || x >= 1 || y >= 1) return
    const box = [Math.floor(x * columns) * wide / columns, Math.floor(y * rows) * high / rows, wide / columns, high / rows]
    for (const [colour, line] of [['#000', 3], ['#fff', 1.5]]) { pen.strokeStyle = colour; pen.lineWidth = line; pen.strokeRect(...box) }
  }
  const canvasOf = (label, paint) => {
    const canvas = element('canvas')
    canvas.setAttribute('role', 'img'); canvas.setAttribute('aria-label', label)
    drawing.push(() => {
      const ratio = window.devicePixelRatio || 1, { clientWidth: wide, clientHeight: high } = canvas
      if (!wide) return
      canvas.width = Math.round(wide * ratio); canvas.height = Math.round(high * ratio)
      const pen = canvas.getContext('2d')
      pen.scale(ratio, ratio)
      paint(pen, wide, high)
    })
    return canvas
  }
  const mapOf = ({ title, rows, columns, values, scale, windows }) => {
    const cells = values && painted(scale, floats(values), [rows, columns], table, data.floor, data.ceiling)
    const of = windows && new Int32Array(bytes(windows).buffer)
    return canvasOf(`${values ? 'Map of' : 'The image cut into'} ${title}`, (pen, wide, high) => {
      under(pen, wide, high)
      if (cells) {
        dim(pen, [0, 0, wide, high])
        pen.imageSmoothingEnabled = false              // one flat rectangle for each token
        pen.drawImage(cells, 0, 0, wide, high)
      } else if (wide / columns >= SEEN) lattice(pen, [rows, columns], Int32Array.from({ length: rows * columns }, (_, i) => i), wide, high, 0.5)
      if (of) lattice(pen, [rows, columns], of, wide, high)
      marked(pen, [rows, columns], wide, high)
    })
  }
  const cellOf = ({ rows, columns, values, scale }, canvas, event) => {   // in words
    const frame = canvas.getBoundingClientRect()
    const row = Math.floor((event.clientY - frame.top) / frame.height * rows), column = Math.floor((event.clientX - frame.left) / frame.width * columns)
    if (!values || row < 0 || column < 0 || row >= rows || column >= columns) return ''
    return `row ${row + 1}, column ${column + 1}: ${wordsOf(scale, floats(values)[row * columns + column])}`
  }
  const boxOf = (box, at) => {
    const button = element('button'), bar = element('span', '', 'bar')
    for (const share of [box.products, box.share - box.products]) bar.append(Object.assign(element('i'), { style: `width: ${100 * share}%` }))
    const map = box.rows ? mapOf(box) : element('span', box.words, 'shape')
    button.append(element('b', box.title), map, bar, element('small', box.words))
    button.setAttribute('aria-label', box.facts)
    button.setAttribute('aria-pressed', String(at === data.chosen))
    button.disabled = data.alone
    button.onpointermove = event => tell(box, cellOf(box, map, event))
    button.onfocus = () => tell(box)
    button.onpointerleave = button.onblur = () => tell()
    button.onclick = () => setTriggerValue('block', [data.model, at + 1])
    return button
  }
  const first = element('div'), picture = canvasOf('What the model sees of the image', (pen, wide, high) => {
    under(pen, wide, high)
    const grid = data.boxes.find(box => box.rows)
    if (grid) marked(pen, [grid.rows, grid.columns], wide, high)
  })
  picture.className = 'image'
  picture.onclick = event => {
    if (data.alone) return
    const frame = picture.getBoundingClientRect(), at = (from, size, low, high) => Math.round(clamp(low + (from / size) * (high - low), 0, 0.9999) * 10000) / 10000
    setStateValue('point', [at(event.clientX - frame.left, frame.width, x0, x1), at(event.clientY - frame.top, frame.height, y0, y1)])
  }
  first.append(element('b', 'image'), picture)
  const last = element('div'), answers = element('p', '', 'answers')
  data.answers.forEach(({ name, value, right }) => {
    const line = element('span', `${name} `, right === null ? '' : right ? 'right' : '')
    line.append(element('small', value + (right ? ' ✓' : '')))
    answers.append(line)
  })
  if (data.answers[0].right === false) answers.firstChild.className = 'wrong'
  last.append(element('b', 'answer'), answers)
  list.replaceChildren(...[first, ...data.boxes.map(boxOf), last].map(inside => { const item = element('li'); item.append(inside); return item }))
  root.setAttribute('aria-label', data.label)
  // ---- what colours and bars mean ------------------------------------------------------------------------------------------
  const legend = root.querySelector('.legend'), costs = element('p', data.costs)
  costs.append(element('i', '', 'weights'), element('span', 'with weights'), element('i', '', 'products'), element('span', 'QKᵀ and weights · V'))
  legend.replaceChildren(costs, element('p', `${data.summary}. ${data.alone ? '' : HINT}`))
  if (data.bar) {
    const [words, scale] = data.bar, bar = element('p', '', 'bar')
    bar.append(element('span'), element('i'), element('span'), element('span', words))
    showBar(bar.children, scale, table)
    legend.prepend(bar)
  }
  tell()
  state.draw = () => {
    const wide = list.clientWidth, count = list.children.length
    if (!wide) return
    const most = Math.max(3, Math.floor((wide + GAP) / ((data.beside ? BESIDE : LEAST) + GAP)))
    const each = data.beside ? most : Math.max(3, Math.ceil(count / Math.ceil(count / most)))
    const size = Math.floor(Math.min(190, (wide + GAP) / each - GAP)), shape = ((y1 - y0) * data.image_size[0]) / ((x1 - x0) * data.image_size[1])
    for (const [name, px] of [['--gap', GAP], ['--size', size], ['--high', size * shape]]) list.style.setProperty(name, px + 'px')
    drawing.forEach(paint => paint())
  }
  image.onload = () => state.draw()
  image.src = data.image
  if (!state.resize) {
    state.resize = new ResizeObserver(() => { if (list.clientWidth !== state.width) { state.width = list.clientWidth; state.draw() } })
    state.resize.observe(root)
  }
  state.draw()
}
