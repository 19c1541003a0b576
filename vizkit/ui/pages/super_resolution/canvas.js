// Two pictures under one cursor: the enlarged one with a bar that is dragged, and the reference with the relevance of all its
// places for the one that was clicked. Nothing is asked of Python but to keep the place.

const STORE = new WeakMap()
const INK = '#f59e0b', GAP = 28, TOP = 24, CELL = 4, MOST = 5

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('.enlarge'), canvas = root.querySelector('canvas'), says = root.querySelector('.says'), patches = root.querySelector('.patches')
  const state = STORE.get(parentElement) || { bar: 0.5 }
  STORE.set(parentElement, state)
  const [rows, columns] = data.grid, [keyRows, keyColumns] = data.key_grid
  const colours = bytes(data.colours), relevance = new Uint16Array(bytes(data.relevance).buffer)
  if (!state.at || state.grid !== String(data.grid)) Object.assign(state, { at: data.at, grid: String(data.grid) })
  const images = state.images = {}
  for (const name of ['beside', 'own', 'reference']) {
    images[name] = new Image()
    images[name].onload = () => draw()
    images[name].src = data[name]
  }
  const row = () => {
    const start = (state.at[0] * columns + state.at[1]) * keyRows * keyColumns
    return Float32Array.from(relevance.subarray(start, start + keyRows * keyColumns), value => value / 65535 * 2 - 1)
  }
  const painted = (values, height, width, opacity) => {
    const map = document.createElement('canvas')
    map.width = width; map.height = height
    const pixels = new ImageData(width, height)
    values.forEach((value, i) => {
      const c = 3 * Math.round(255 * clamp(value, 0, 1))
      pixels.data.set([colours[c], colours[c + 1], colours[c + 2], 255 * opacity(value)], 4 * i)
    })
    map.getContext('2d').putImageData(pixels, 0, 0)
    return map
  }
  const layout = wide => {
    const stacked = wide < 520, room = stacked ? wide : (wide - GAP) / 2
    const most = stacked ? wide : Math.min(room, 560)
    const left = { x: 0, y: TOP, w: most * Math.min(1, columns / rows), h: most * Math.min(1, rows / columns) }
    const right = { x: stacked ? 0 : left.w + GAP, y: stacked ? left.y + left.h + GAP + TOP : TOP, w: most * Math.min(1, keyColumns / keyRows), h: most * Math.min(1, keyRows / keyColumns) }
    return { left, right, height: Math.max(left.y + left.h, right.y + right.h) + 2 }
  }
  const best = () => {
    const values = row(), taken = data.place[state.at[0] * columns + state.at[1]]
    const order = [...values.keys()].sort((a, b) => (b === taken) - (a === taken) || values[b] - values[a]), chosen = []
    for (const place of order) {  // overlapping patches count once
      const y = Math.floor(place / keyColumns), x = place % keyColumns
      if (chosen.every(other => Math.abs(other.y - y) > 1 || Math.abs(other.x - x) > 1)) chosen.push({ y, x, value: values[place] })
      if (chosen.length === MOST) break
    }
    return { values, chosen }
  }

  const draw = () => {
    const wide = canvas.clientWidth
    if (!canvas.isConnected || !wide || Object.values(images).some(image => !image.naturalWidth)) return
    const { left, right, height } = layout(wide), ratio = window.devicePixelRatio || 1, pen = canvas.getContext('2d')
    canvas.style.height = height + 'px'
    canvas.width = Math.round(wide * ratio); canvas.height = Math.round(height * ratio)
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.imageSmoothingEnabled = false
    const style = getComputedStyle(root), text = style.color, bar = left.x + state.bar * left.w
    pen.font = '600 14px ' + style.fontFamily; pen.fillStyle = text; pen.textBaseline = 'middle'
    pen.fillText(data.titles[0], left.x, TOP / 2 - 1, left.w / 2 - 6)
    pen.textAlign = 'right'; pen.fillText(data.titles[1], left.x + left.w, TOP / 2 - 1, left.w / 2 - 6); pen.textAlign = 'left'
    pen.fillText('Reference', right.x, right.y - TOP / 2 - 1)
    pen.drawImage(images.own, left.x, left.y, left.w, left.h)
    if (data.over) {
      const [h, w] = data.over_size
      pen.drawImage(painted(Array.from(bytes(data.over), value => value / 255), h, w, () => 0.82), left.x, left.y, left.w, left.h)
    }
    pen.save(); pen.beginPath(); pen.rect(left.x, left.y, state.bar * left.w, left.h); pen.clip()
    pen.drawImage(images.beside, left.x, left.y, left.w, left.h); pen.restore()
    pen.drawImage(images.reference, right.x, right.y, right.w, right.h)
    const { values, chosen } = best(), [y, x] = state.at, a = left.w / columns, b = left.h / rows, c = right.w / keyColumns, d = right.h / keyRows
    let low = 1, high = -1
    for (const value of values) { low = Math.min(low, value); high = Math.max(high, value) }
    const bottom = Math.max(low, high - 0.6), shares = values.map(value => (value - bottom) / (high - bottom || 1))
    pen.drawImage(painted(shares, keyRows, keyColumns, value => 0.75 * clamp(value, 0, 1)), right.x, right.y, right.w, right.h)
    pen.fillStyle = '#fff'; pen.fillRect(bar - 1.5, left.y, 3, left.h)
    pen.beginPath(); pen.arc(bar, left.y + left.h - 22, 11, 0, 7); pen.fill()
    pen.fillStyle = '#222'; pen.textAlign = 'center'; pen.font = '700 12px ' + style.fontFamily; pen.fillText('◂▸', bar, left.y + left.h - 21.5); pen.textAlign = 'left'
    const from = { x: left.x + x * a, y: left.y + y * b }, to = { x: right.x + chosen[0].x * c, y: right.y + chosen[0].y * d }
    const outline = (place, wide, tall, colour, thick) => { pen.strokeStyle = colour; pen.lineWidth = thick; pen.strokeRect(place.x - wide, place.y - tall, 3 * wide, 3 * tall) }
    for (const [place, wide, tall] of [[from, a, b], [to, c, d]]) { outline(place, wide, tall, 'rgb(0 0 0 / .65)', 5); outline(place, wide, tall, INK, 2.5) }
    const line = (colour, thick) => { pen.strokeStyle = colour; pen.lineWidth = thick; pen.beginPath(); pen.moveTo(from.x + a / 2, from.y + b / 2); pen.lineTo(to.x + c / 2, to.y + d / 2); pen.stroke() }
    line('rgb(0 0 0 / .55)', 5); line(INK, 2.5)
    Object.assign(root.dataset, { at: state.at.join(','), taken: `${chosen[0].y},${chosen[0].x}`, bar: state.bar.toFixed(3), shapes: `${rows} × ${columns}, ${keyRows} × ${keyColumns}` })
    says.textContent = `Row ${y + 1}, column ${x + 1} takes its texture from row ${chosen[0].y + 1}, column ${chosen[0].x + 1} of the reference: relevance ${number(chosen[0].value, 2)}, at most ${percent(data.gate[y * columns + x])} of it let through.`
    candidates(chosen)
  }
  const candidates = chosen => {
    const cut = (image, { y, x }, title, kind) => {
      const box = document.createElement('div'), piece = document.createElement('canvas'), label = document.createElement('span')
      box.className = 'patch ' + kind; piece.width = piece.height = 3 * CELL
      piece.getContext('2d').drawImage(image, (x - 1) * CELL, (y - 1) * CELL, 3 * CELL, 3 * CELL, 0, 0, 3 * CELL, 3 * CELL)
      label.textContent = title
      box.append(piece, label)
      return box
    }
    const [y, x] = state.at
    patches.replaceChildren(cut(images.beside, { y, x }, data.titles[0], ''), cut(images.own, { y, x }, 'result', 'own'),
      ...chosen.map((place, i) => cut(images.reference, place, number(place.value, 2), i ? '' : 'best')))
  }

  const where = event => {
    const frame = canvas.getBoundingClientRect(), { left } = layout(canvas.clientWidth)
    return { x: (event.clientX - frame.left - left.x) / left.w, y: (event.clientY - frame.top - left.y) / left.h, near: 16 / left.w }
  }
  const choose = (y, x) => {
    state.at = [clamp(y, 0, rows - 1), clamp(x, 0, columns - 1)]
    draw(); setStateValue('at', state.at)
  }
  canvas.onpointerdown = event => {
    const at = where(event)
    if (at.x < -at.near || at.x > 1 + at.near || at.y < 0 || at.y > 1) return
    state.drag = Math.abs(at.x - state.bar) < at.near
    if (state.drag) canvas.setPointerCapture(event.pointerId)
    else if (at.x >= 0 && at.x < 1) choose(Math.floor(at.y * rows), Math.floor(at.x * columns))
  }
  canvas.onpointermove = event => {
    const at = where(event)
    if (state.drag) { state.bar = clamp(at.x, 0, 1); draw() }
    canvas.style.cursor = at.y >= 0 && at.y <= 1 && Math.abs(at.x - state.bar) < at.near ? 'ew-resize' : 'crosshair'
  }
  canvas.onpointerup = canvas.onpointercancel = () => { state.drag = false }
  canvas.onkeydown = event => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key]
    if (step) { event.preventDefault(); choose(state.at[0] + step[0], state.at[1] + step[1]) }
  }
  canvas.setAttribute('aria-label', data.label)
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => draw())
  state.observer.observe(canvas)
  draw()
  return () => state.observer?.disconnect()
}
