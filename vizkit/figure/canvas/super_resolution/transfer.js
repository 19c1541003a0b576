// After short, scales, news.
// Images under one cursor: the input as the network gets it, the enlarged one, or a part of it pixel by pixel, with a bar that is dragged, the true one, both
// nearer where `zoom` says so, and the reference with the relevance of all its places for the one that was clicked. Where the relevance for every place is here, Python is asked but to keep the
// place; else it chooses. Places are those of the whole input. figure/saved/transfer.py draws the same on paper.

const STORE = new WeakMap()
const INK = '#f59e0b', GAP = 28, TOP = 24, BELOW = 22, CELL = 4, MOST = 4, OVER = 0.82, NEAR = 0.75, LARGEST = 440

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('.enlarge'), canvas = root.querySelector('canvas'), says = root.querySelector('.says'), patches = root.querySelector('.patches')
  const state = STORE.get(parentElement) || { bar: null }
  STORE.set(parentElement, state)
  state.pull = null                                      // what is moved by hand until Python has enlarged by it
  const [gridRows, gridColumns] = data.grid, [allRows, allColumns] = data.size, [keyRows, keyColumns] = data.key_grid
  const [rows, columns] = data.grid.map(side => Math.ceil(side / data.zoom))             // that are drawn
  const isPart = rows < allRows || columns < allColumns, pullable = 'moved' in data && !data.alone
  const colours = bytes(data.colours), relevance = new Uint16Array(bytes(data.relevance).buffer)
  const every = data.place.length > 1
  if (isNews(state, 'at', [data.at, data.size]) || !every) state.at = data.at
  const images = state.images = {}
  for (const name of ['small', 'beside', 'own', 'without', 'reference', 'truth']) {
    if (!data[name]) continue
    images[name] = new Image()
    images[name].onload = () => draw()
    images[name].src = data[name]
  }
  const inGrid = () => [state.at[0] - data.first[0], state.at[1] - data.first[1]]
  const corner = () => inGrid().map((at, axis) => clamp(at - ([rows, columns][axis] >> 1), 0, data.grid[axis] - [rows, columns][axis]))  // of what is drawn
  const here = () => { const [top, left] = corner(), [y, x] = inGrid(); return [y - top, x - left] }
  const place = () => inGrid()[0] * gridColumns + inGrid()[1], asked = () => every ? place() : 0
  const row = () => {
    const start = asked() * keyRows * keyColumns
    return Float32Array.from(relevance.subarray(start, start + keyRows * keyColumns), value => value / 65535 * 2 - 1)
  }
  const upTo = (low, top) => ({ kind: 'linear', low, top })
  const layout = wide => {                               // small and below it the whole, true, enlarged, reference; on a phone the true one below
    const stacked = wide < 560, most = CELL * Math.max(rows, columns), large = most > LARGEST
    const count = large ? 1 : 1 + !!images.truth + !!images.reference
    const room = stacked ? wide : large ? Math.min(most, wide * .75 - GAP) : Math.min(LARGEST, (wide - count * GAP) / (count + .5))
    const half = images.truth && images.reference ? (wide - GAP) / 2 : Math.min(wide, 260)
    const fitted = (x, y, side, r, c) => ({ x, y, side, w: side * Math.min(1, c / r), h: side * Math.min(1, r / c) })
    const side = stacked ? 96 : large ? Math.min(240, wide / 4) : room / 2, small = fitted(0, TOP, side, allRows, allColumns), start = stacked ? 0 : side + GAP
    const whole = data.zoom > 1 && (stacked ? { ...small, x: small.w + GAP } : { ...small, y: small.y + small.h + TOP })
    const own = fitted(stacked || !images.truth ? start : start + room + GAP, stacked ? small.y + small.h + TOP + 6 : TOP, room, rows, columns)
    const lower = own.y + own.h + TOP + (data.over ? BELOW : 6)
    const truth = images.truth && fitted(start, stacked ? lower : TOP, stacked ? half : room, rows, columns)
    const [x, y, widest] = stacked ? [truth ? half + GAP : 0, lower, half] : large ? [0, small.y + small.h + TOP + 6, side] : [own.x + room + GAP, TOP, room]
    const reference = images.reference && fitted(x, y, widest, keyRows, keyColumns)
    return { small, whole, own, truth, reference, height: Math.max(...[small, whole, own, truth, reference].filter(Boolean).map(({ y, h }) => y + h)) + BELOW }
  }
  const shareOfBar = () => state.bar ?? (here()[1] + .5) / columns  // through the chosen place
  const best = () => {
    const values = row(), taken = data.place[asked()]
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
    const { small, whole, own, truth, reference, height } = layout(wide), [top, left] = corner(), ratio = window.devicePixelRatio || 1, pen = canvas.getContext('2d')
    canvas.style.height = height + 'px'
    canvas.width = Math.round(wide * ratio); canvas.height = Math.round(height * ratio)
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.imageSmoothingEnabled = false
    const style = getComputedStyle(root), text = style.color, bar = own.x + shareOfBar() * own.w
    const write = (words, x, y, most, align = 'left', font = '600 14px ') => {
      pen.font = font + style.fontFamily; pen.fillStyle = text; pen.textBaseline = 'middle'; pen.textAlign = align
      pen.strokeStyle = style.getPropertyValue('--st-background-color'); pen.lineWidth = 4  // legible where the arrow crosses it
      pen.strokeText(words, x, y, most); pen.fillText(words, x, y, most); pen.textAlign = 'left'
    }
    const title = (words, place) => write(words, place.x, place.y - TOP / 2 - 1, place.side)
    const shown = (name, place) => pen.drawImage(images[name], place.x, place.y, place.w, place.h)
    const near = (image, { x, y, w, h }) => {
      const [a, b] = [image.width / gridColumns, image.height / gridRows]
      pen.drawImage(image, left * a, top * b, columns * a, rows * b, x, y, w, h)
    }
    const scale = (place, words, low, high) => {
      const y = place.y + place.h + BELOW / 2, small = '12px ', start = place.x + Math.min(place.side * .45, 6.3 * words.length + 34)
      write(`${words}  ${low}`, place.x, y, start - place.x - 6, 'left', small)
      pen.drawImage(painted(upTo(0, 63), [...Array(64).keys()], [1, 64], colours), start, y - 4, place.x + place.side - 34 - start, 8)
      write(high, place.x + place.side, y, 32, 'right', small)
    }
    write(data.titles[0], own.x, own.y - TOP / 2 - 1, own.w * .4)
    write(data.titles[1], own.x + own.w, own.y - TOP / 2 - 1, own.w * .6 - 8, 'right')
    write(`Input, ${allColumns} × ${allRows}`, small.x, small.y - TOP / 2 - 1, small.side)
    shown('small', small)
    if (whole) { title(isPart ? 'Result, part in white' : 'Result', whole); shown('own', whole) }
    near(images.own, own)
    if (data.over) {
      const [h, w] = data.over_size
      near(painted(upTo(0, 255), bytes(data.over), [h, w], colours, OVER, OVER), own)
      scale(own, data.over_words, '0', String(data.over_top))
    }
    pen.save(); pen.beginPath(); pen.rect(own.x, own.y, shareOfBar() * own.w, own.h); pen.clip()
    near(images.beside, own); pen.restore()
    if (truth) { title(isPart ? 'Part of the true image' : `True image, ${gridColumns * CELL} × ${gridRows * CELL}`, truth); near(images.truth, truth) }
    const box = (x, y, w, h, colour = INK) => { for (const [ink, thick] of [['rgb(0 0 0 / .65)', 5], [colour, 2.5]]) { pen.strokeStyle = ink; pen.lineWidth = thick; pen.strokeRect(x, y, w, h) } }
    const frame = (place, at, r, c) => {
      const w = 1.5 * place.w / c, h = 1.5 * place.h / r, x = place.x + (at[1] + .5) * place.w / c, y = place.y + (at[0] + .5) * place.h / r
      box(x - w, y - h, 2 * w, 2 * h)
      return { x, y, w, h }
    }
    pen.fillStyle = '#fff'; pen.fillRect(bar - 1.5, own.y, 3, own.h)
    pen.beginPath(); pen.arc(bar, own.y + own.h - 22, 11, 0, 7); pen.fill()
    pen.fillStyle = '#222'; pen.textAlign = 'center'; pen.font = '700 12px ' + style.fontFamily; pen.fillText('◂▸', bar, own.y + own.h - 21.5); pen.textAlign = 'left'
    for (const image of isPart ? [small, ...whole ? [whole] : []] : []) {
      box(image.x + (left + data.first[1]) / allColumns * small.w, image.y + (top + data.first[0]) / allRows * small.h, columns / allColumns * small.w, rows / allRows * small.h, '#fff')
    }
    if (truth) frame(truth, here(), rows, columns)
    const to = frame(own, here(), rows, columns)
    Object.assign(root.dataset, { at: state.at.join(','), taken: '', bar: shareOfBar().toFixed(3), shapes: `${rows} × ${columns}, ${keyRows} × ${keyColumns}`, left: own.x, width: own.w })
    says.textContent = ''
    if (!reference) return candidates([])
    const pulled = (state.pull?.px ?? 0) * reference.w / (keyColumns * CELL)
    pen.save(); pen.beginPath(); pen.rect(reference.x, reference.y, reference.w, reference.h); pen.clip()
    for (const turn of [-1, 0, 1]) shown('reference', { ...reference, x: reference.x + pulled + turn * reference.w })
    pen.restore()
    const { values, chosen } = best()
    pen.drawImage(painted(upTo(0, 1), values, data.key_grid, colours, 0, NEAR), reference.x, reference.y, reference.w, reference.h)
    scale(reference, 'relevance', '0', '1')
    arrow(pen, frame(reference, [chosen[0].y, chosen[0].x], keyRows, keyColumns), to)
    title(pullable ? 'Reference, to be dragged' : 'Reference', reference)
    root.dataset.taken = `${chosen[0].y},${chosen[0].x}`
    const words = { relevance: number(chosen[0].value, 2), gate: percent(data.gate[asked()]) }
    for (const [name, each] of Object.entries(data.errors)) words[name] = percent(each[place()])
    says.textContent = data.says.replace(/\{(\w+)\}/g, (_, name) => words[name])
    candidates(chosen)
  }
  const arrow = (pen, from, to) => {                     // from the edge of the one frame to the edge of the other
    const dx = to.x - from.x, dy = to.y - from.y, along = Math.hypot(dx, dy) || 1, left = ({ w, h }) => Math.min(w / Math.abs(dx), h / Math.abs(dy), 1)
    const a = left(from), b = 1 - left(to), tip = [from.x + b * dx, from.y + b * dy], ux = 11 * dx / along, uy = 11 * dy / along
    if (b <= a) return
    for (const [ink, thick] of [['rgb(0 0 0 / .55)', 5], [INK, 2.5]]) {
      pen.strokeStyle = ink; pen.lineWidth = thick; pen.beginPath(); pen.moveTo(from.x + a * dx, from.y + a * dy); pen.lineTo(...tip)
      for (const side of [-.5, .5]) { pen.moveTo(tip[0] - ux + side * uy, tip[1] - uy - side * ux); pen.lineTo(...tip) }
      pen.stroke()
    }
  }
  const candidates = chosen => {
    const cut = (image, { y, x }, title, kind) => {
      const box = document.createElement('div'), piece = document.createElement('canvas'), label = document.createElement('span')
      box.className = 'patch ' + kind; piece.width = piece.height = 3 * CELL
      const [x0, y0] = [[x, image.naturalWidth], [y, image.naturalHeight]].map(([at, side]) => clamp((at - 1) * CELL, 0, Math.max(0, side - 3 * CELL)))
      piece.getContext('2d').drawImage(image, x0, y0, 3 * CELL, 3 * CELL, 0, 0, 3 * CELL, 3 * CELL)
      label.textContent = title
      box.append(piece, label)
      return box
    }
    const [y, x] = inGrid()
    const own = [[images.beside, data.titles[0]], [images.own, 'result'], ...images.without ? [[images.without, 'no reference']] : [], ...images.truth ? [[images.truth, 'true']] : []]
    const name = chosen.length ? [Object.assign(document.createElement('span'), { className: 'like', textContent: 'Most like it in the reference, by relevance:' })] : []
    patches.replaceChildren(...own.map(([image, title], i) => cut(image, { y, x }, title, chosen.length && i === own.length - 1 ? 'own' : '')), ...name,
      ...chosen.map((place, i) => cut(images.reference, place, number(place.value, 2), i ? '' : 'best')))
  }

  const where = (event, image = 'own') => {
    const frame = canvas.getBoundingClientRect(), { [image]: { x, y, w, h } } = layout(canvas.clientWidth)
    return { x: (event.clientX - frame.left - x) / w, y: (event.clientY - frame.top - y) / h, near: 16 / w }
  }
  const inside = ({ x, y }) => x >= 0 && x < 1 && y >= 0 && y < 1
  const choose = (y, x) => {
    if (data.alone && !every) return                       // nobody could answer
    const at = [clamp(y, 0, allRows - 1), clamp(x, 0, allColumns - 1)]
    if (every) { state.at = at; expectEcho(state, 'at', [at, data.size]); draw() }
    setStateValue('at', at)
  }
  const chooseIn = (at, [r, c], y = 0, x = 0) => choose(y + Math.floor(at.y * r), x + Math.floor(at.x * c))
  const move = px => { const wide = keyColumns * CELL; setStateValue('moved', ((data.moved + px) % wide + wide) % wide) }
  const onReference = event => pullable && inside(where(event, 'reference'))
  canvas.onpointerdown = event => {
    const at = where(event)
    if (onReference(event)) {
      state.pull = { from: event.clientX, px: 0 }
      return canvas.setPointerCapture(event.pointerId)
    }
    for (const image of ['small', ...data.zoom > 1 ? ['whole'] : []]) {
      const there = where(event, image)
      if (inside(there)) return chooseIn(there, data.size)
    }
    const [top, left] = corner().map((start, axis) => start + data.first[axis])
    if (images.truth && inside(where(event, 'truth'))) return chooseIn(where(event, 'truth'), [rows, columns], top, left)
    if (at.x < -at.near || at.x > 1 + at.near || at.y < 0 || at.y > 1) return
    state.drag = Math.abs(at.x - shareOfBar()) < at.near
    if (state.drag) canvas.setPointerCapture(event.pointerId)
    else if (at.x >= 0 && at.x < 1) chooseIn(at, [rows, columns], top, left)
  }
  canvas.onpointermove = event => {
    const at = where(event)
    if (state.drag) { state.bar = clamp(at.x, 0, 1); draw() }
    if (state.pull && event.buttons) { state.pull.px = Math.round((event.clientX - state.pull.from) / layout(canvas.clientWidth).reference.w * keyColumns * CELL); draw() }
    canvas.style.cursor = onReference(event) ? 'grab' : at.y >= 0 && at.y <= 1 && Math.abs(at.x - shareOfBar()) < at.near ? 'ew-resize' : 'crosshair'
  }
  canvas.onpointerup = () => { state.drag = false; if (state.pull?.px) move(state.pull.px) }
  canvas.onpointercancel = () => { state.drag = false; state.pull = null; draw() }
  canvas.onkeydown = event => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key], turn = { PageDown: .05, PageUp: -.05 }[event.key]
    if (!step && !turn) return
    event.preventDefault()
    if (turn) { state.bar = clamp(shareOfBar() + turn, 0, 1); draw() }
    else if (event.shiftKey) { if (pullable) move(CELL * (step[0] || step[1])) }
    else choose(state.at[0] + step[0] * (every ? 1 : rows >> 1), state.at[1] + step[1] * (every ? 1 : columns >> 1))
  }
  canvas.setAttribute('aria-label', `${data.titles.join(' beside ')}. ${data.label}`)
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => draw())
  state.observer.observe(canvas)
  draw()
  return () => state.observer?.disconnect()
}
