// The patches in order, and as the model is given them. A patch that is pointed at is framed in both pictures. In the right
// one two places are exchanged: one is dragged onto the other, or both are clicked. Python answers with the new order.

const SHUFFLES = new WeakMap()
const GAP = 10

export default function ({ data, parentElement, setStateValue }) {
  const canvas = parentElement.querySelector('canvas'), [left, right] = parentElement.querySelectorAll('span')
  const said = parentElement.querySelector('output'), undo = parentElement.querySelector('button')
  const first = !SHUFFLES.has(parentElement), card = SHUFFLES.get(parentElement) || { over: null, from: null, down: null }
  SHUFFLES.set(parentElement, card)
  const { rows, columns } = data, count = rows * columns
  if (card.given !== `${data.order}`) Object.assign(card, { given: `${data.order}`, order: [...data.order], swaps: data.swaps })
  if (card.url !== data.seen) {
    card.url = data.seen
    card.image = Object.assign(new Image(), { src: data.seen, onload: () => card.paint() })
  }
  const name = cell => `row ${Math.floor(cell / columns) + 1}, column ${cell % columns + 1}`
  const side = () => (canvas.clientWidth - GAP) / 2
  const box = (cell, start) => {
    const wide = side() / columns, tall = side() * data.ratio / rows
    return [start + cell % columns * wide, Math.floor(cell / columns) * tall, wide, tall]
  }

  // ---- drawing -------------------------------------------------------------------------------------------------------------
  const paint = card.paint = () => {
    const ratio = window.devicePixelRatio || 1, wide = canvas.clientWidth, image = card.image
    if (!wide || !image.complete || !image.naturalWidth) return
    const tall = side() * data.ratio, begins = side() + GAP
    canvas.style.height = tall + 'px'
    const [width, height] = [wide, tall].map(each => Math.round(each * ratio))
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
    const pen = canvas.getContext('2d'), mark = getComputedStyle(canvas).getPropertyValue('--st-primary-color') || '#4338ca'
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.clearRect(0, 0, wide, tall)
    pen.imageSmoothingEnabled = image.naturalWidth > 200
    const [sw, sh] = [image.naturalWidth / columns, image.naturalHeight / rows]
    const patch = (shown, ...place) => pen.drawImage(image, shown % columns * sw, Math.floor(shown / columns) * sh, sw, sh, ...place)
    const frame = (place, colour) => [['#0b0d19', 4], [colour, 2]].forEach(([stroke, line]) => {
      pen.strokeStyle = stroke; pen.lineWidth = line
      pen.strokeRect(...place)
    })
    pen.drawImage(image, 0, 0, side(), tall)
    card.order.forEach((shown, cell) => patch(shown, ...box(cell, begins)))
    if (card.over !== null) for (const place of [box(card.order[card.over], 0), box(card.over, begins)]) frame(place, '#fff')
    if (card.from !== null) frame(box(card.from, begins), mark)
    if (card.down !== null && card.at) {               // the patch under the hand
      const [, , w, h] = box(0, 0)
      patch(card.order[card.down], card.at[0] - w / 2, card.at[1] - h / 2, w, h)
      frame([card.at[0] - w / 2, card.at[1] - h / 2, w, h], mark)
    }
    left.textContent = 'in order'
    right.textContent = data.words
    undo.hidden = data.alone || !card.swaps
    said.textContent = card.over !== null ? `the patch of ${name(card.order[card.over])} stands at ${name(card.over)}`
      : data.alone ? '' : 'Drag a patch on the right onto another, or click both: they swap.'
    canvas.dataset.swaps = card.swaps
  }

  // ---- exchanging two places -----------------------------------------------------------------------------------------------
  const told = swaps => {
    card.swaps = swaps
    setStateValue('swaps', swaps)
  }
  const choose = cell => {                             // the first of two, or the second
    if (data.alone) return
    if (card.from === null) card.from = cell
    else {
      exchange(card.from, cell)
      card.from = null
    }
    paint()
  }
  const exchange = (one, other) => {
    const swaps = `${card.swaps} ${one + 1}-${other + 1}`.trim()
    if (one === other || swaps.length > data.longest) return
    const { order } = card
    ;[order[one], order[other]] = [order[other], order[one]]
    told(swaps)
  }
  undo.onclick = () => told('')

  // ---- the pointer and the keys --------------------------------------------------------------------------------------------
  const cellAt = ({ offsetX, offsetY }, begins) => {
    const column = Math.floor((offsetX - begins) / side() * columns), row = Math.floor(offsetY / (side() * data.ratio) * rows)
    return column >= 0 && column < columns && row >= 0 && row < rows ? row * columns + column : null
  }
  const inRight = event => cellAt(event, side() + GAP)
  const pointed = event => {                           // in the left picture: where that patch stands now
    const there = cellAt(event, 0)
    return there === null ? inRight(event) : card.order.indexOf(there)
  }
  canvas.onpointermove = event => {
    card.over = pointed(event)
    card.at = card.down === null || inRight(event) === card.down ? null : [event.offsetX, event.offsetY]
    canvas.style.cursor = inRight(event) === null || data.alone ? '' : 'grab'
    paint()
  }
  canvas.onpointerleave = canvas.onpointercancel = () => { Object.assign(card, { over: null, down: null, at: null }); paint() }
  canvas.onpointerdown = event => { if (!data.alone) card.down = inRight(event) }
  canvas.onpointerup = event => {
    const cell = inRight(event), { down } = card
    Object.assign(card, { down: null, at: null })
    if (down === null || cell === null) return paint()
    if (down === cell) return choose(cell)
    exchange(down, cell)
    card.from = null
    paint()
  }
  canvas.onkeydown = event => {
    const step = { ArrowUp: -columns, ArrowDown: columns, ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (!step && !['Enter', ' ', 'Escape'].includes(event.key)) return
    event.preventDefault()
    if (step) card.over = Math.min(count - 1, Math.max(0, (card.over ?? -step) + step))
    else if (event.key === 'Escape') card.from = null
    else if (card.over !== null) return choose(card.over)
    paint()
  }
  canvas.setAttribute('aria-label', `${data.label} Arrow keys point at a place, Enter chooses it.`)

  paint()
  if (first) new ResizeObserver(() => card.paint()).observe(canvas)
}
