// After short, news.
// Patches in another order. Left what the model gets: a patch is dragged onto another, or both are clicked, and they change
// places. Right the picture in order, where the patch under the pointer comes from.

const ORDERS = new WeakMap()
const PICKED = '#f59e0b', GAP = 18, STACKED_PX = 400, MOST_PX = 560, SMALL = .32

export default function ({ data, parentElement, setStateValue }) {
  const canvas = parentElement.querySelector('canvas'), said = parentElement.querySelector('output')
  const undo = parentElement.querySelector('button'), { rows, columns } = data
  const state = ORDERS.get(parentElement) || {}
  ORDERS.set(parentElement, state)
  if (isNews(state, 'swaps', data.swaps)) state.swaps = data.swaps
  if (isNews(state, 'place', [data.at, rows, columns])) Object.assign(state, { at: data.at, hovered: undefined, picked: undefined })
  if (state.url !== data.seen) {
    state.url = data.seen
    state.image = Object.assign(new Image(), { src: data.seen, onload: () => draw() })
  }
  const order = () => {
    const now = [...data.order]
    for (const pair of state.swaps.split(' ').filter(Boolean)) {
      const [a, b] = pair.split('-').map(place => place - 1)  // counted from 1
      if (a < now.length && b < now.length) [now[a], now[b]] = [now[b], now[a]]
    }
    return now
  }
  const tell = swaps => {
    Object.assign(state, { swaps, picked: undefined })
    expectEcho(state, 'swaps', swaps)
    setStateValue('swaps', swaps)
    draw()
  }
  const exchange = (a, b) => tell(`${state.swaps} ${a + 1}-${b + 1}`.trim())
  const layout = () => {
    const width = canvas.clientWidth, stacked = width < STACKED_PX
    const big = Math.min(MOST_PX, stacked ? width : (width - GAP) / (1 + SMALL)), small = stacked ? .6 * width : SMALL * big
    const tall = side => side * rows / columns
    return { big: { x: 0, y: 0, w: big, h: tall(big) },
      small: stacked ? { x: 0, y: tall(big) + GAP, w: small, h: tall(small) } : { x: big + GAP, y: 0, w: small, h: tall(small) },
      height: stacked ? tall(big) + GAP + tall(small) : tall(big) }
  }
  const boxOf = (frame, cell) => {
    const w = frame.w / columns, h = frame.h / rows
    return [frame.x + cell % columns * w, frame.y + Math.floor(cell / columns) * h, w, h]
  }
  const named = cell => `row ${Math.floor(cell / columns) + 1}, column ${cell % columns + 1}`

  const draw = () => {
    const { image } = state, width = canvas.clientWidth
    if (!canvas.isConnected || !image.naturalWidth || !width) return
    const { big, small, height } = layout(), ratio = window.devicePixelRatio || 1, pen = canvas.getContext('2d'), now = order()
    canvas.style.height = height + 'px'
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) })
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.imageSmoothingEnabled = image.naturalWidth >= 100
    const piece = (cell, box) => {
      const w = image.naturalWidth / columns, h = image.naturalHeight / rows
      pen.drawImage(image, cell % columns * w, Math.floor(cell / columns) * h, w, h, ...box)
    }
    now.forEach((source, place) => piece(source, boxOf(big, place)))
    pen.drawImage(image, small.x, small.y, small.w, small.h)
    pen.strokeStyle = 'rgb(255 255 255 / .35)'; pen.lineWidth = 1
    now.forEach((_, place) => pen.strokeRect(...boxOf(big, place)))
    const frame = (box, colour) => {
      for (const [ink, thick] of [['rgb(0 0 0 / .7)', 5], [colour, 2.5]]) { pen.strokeStyle = ink; pen.lineWidth = thick; pen.strokeRect(...box) }
    }
    const at = state.hovered ?? state.at
    frame(boxOf(big, at), '#fff')
    frame(boxOf(small, now[at]), '#fff')
    if (state.picked !== undefined) frame(boxOf(big, state.picked), PICKED)
    if (state.drag && state.moved) piece(now[state.picked], [state.x - big.w / columns / 2, state.y - big.h / rows / 2, big.w / columns, big.h / rows])
    said.textContent = now[at] === at ? `The patch at ${named(at)} is in its place.` : `At ${named(at)} stands the patch of ${named(now[at])}.`
    if (!data.alone) said.textContent += state.picked === undefined ? ' Drag a patch onto another to exchange them.' : ' Now the other one.'
    undo.hidden = data.alone || !state.swaps
    Object.assign(canvas.dataset, { swaps: state.swaps, order: now.join(',') })
  }

  const cellAt = event => {
    const frame = canvas.getBoundingClientRect(), { big } = layout()
    Object.assign(state, { x: event.clientX - frame.left, y: event.clientY - frame.top })
    const column = Math.floor(state.x / big.w * columns), row = Math.floor(state.y / big.h * rows)
    return column >= 0 && row >= 0 && column < columns && row < rows ? row * columns + column : undefined
  }
  const choose = cell => {
    if (data.alone || cell === undefined) return
    if (state.picked === undefined || state.picked === cell) { state.picked = state.picked === cell ? undefined : cell; draw() }
    else exchange(state.picked, cell)
  }
  canvas.onpointerdown = event => {
    const cell = cellAt(event)
    if (data.alone || cell === undefined) return
    Object.assign(state, { start: cell, before: state.picked, drag: true, moved: false })
    canvas.setPointerCapture(event.pointerId)
  }
  canvas.onpointermove = event => {
    const cell = cellAt(event)
    if (state.drag && cell !== state.start && !state.moved) Object.assign(state, { moved: true, picked: state.start })
    if (cell !== undefined) state.hovered = cell
    draw()
  }
  canvas.onpointerup = event => {
    const cell = cellAt(event), { moved } = state
    state.drag = state.moved = false
    if (!moved) return choose(cell)
    if (cell !== undefined && cell !== state.start) exchange(state.start, cell)
    else { state.picked = undefined; draw() }
  }
  canvas.onpointercancel = () => { state.drag = state.moved = false; state.picked = undefined; draw() }
  canvas.onpointerleave = () => { state.hovered = undefined; draw() }
  canvas.onkeydown = event => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key]
    if (step) state.at = clamp(state.at + step, 0, rows * columns - 1)
    else if (event.key === 'Enter' || event.key === ' ') choose(state.at)
    else if (event.key === 'Escape') state.picked = undefined
    else return
    event.preventDefault()
    state.hovered = undefined
    draw()
  }
  undo.onclick = () => tell(state.swaps.split(' ').slice(0, -1).join(' '))
  canvas.setAttribute('aria-label', data.label)
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => draw())
  state.observer.observe(canvas)
  draw()
  return () => state.observer?.disconnect()
}
