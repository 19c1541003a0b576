// After short, news.
// Which entry of a table of relative positions is added to the score of a pair. Left a window: the framed query, and what each
// key gains. Right the table by offset, of which the query reads the outlined part; pointing at a key, or an arrow key, marks its
// entry. Beside them the small tables of all heads, of which a click makes one the large one.

const BIASES = new WeakMap()
const QUERY = '#fff', KEY = '#f59e0b', GAP = 40, TOP = 22, STACKED_PX = 480, MOST_PX = 380

export default function ({ data, parentElement, setStateValue }) {
  const canvas = parentElement.querySelector('canvas[role]'), nav = parentElement.querySelector('nav'), said = parentElement.querySelector('output'), legend = parentElement.querySelector('p')
  const state = BIASES.get(parentElement) || {}
  BIASES.set(parentElement, state)
  const [rows, columns] = data.window, across = 2 * columns - 1, entries = (2 * rows - 1) * across, last = entries - 1
  const colours = bytes(data.ramp), tones = bytes(data.tones), values = floats(data.values)
  if (isNews(state, 'pair', [data.pair, data.window])) state.key = data.pair[1]
  if (isNews(state, 'head', [data.head, data.heads])) state.head = data.head
  const [query] = data.pair
  const cell = place => [Math.floor(place / columns), place % columns]
  const entryOf = key => {
    const [y, x] = cell(query), [row, column] = cell(key)
    return (y - row + rows - 1) * across + x - column + columns - 1
  }
  const colour = (entry, head = state.head) => {
    const at = 3 * tones[head * entries + entry]
    return `rgb(${colours.slice(at, at + 3).join(' ')})`
  }
  const named = place => `row ${cell(place)[0] + 1}, column ${cell(place)[1] + 1}`
  const layout = () => {
    const width = canvas.clientWidth, stacked = width < STACKED_PX, room = stacked ? width : Math.min(MOST_PX, (width - GAP) / 2)
    const tall = room * rows / columns
    return { room, tall, left: { x: 0, y: TOP }, right: stacked ? { x: 0, y: TOP + tall + GAP } : { x: room + GAP, y: TOP }, height: (stacked ? 2 * tall + GAP : tall) + TOP + 2 }
  }
  const draw = () => {
    const width = canvas.clientWidth
    if (!canvas.isConnected || !width) return
    const { room, tall, left, right, height } = layout(), ratio = window.devicePixelRatio || 1, pen = canvas.getContext('2d')
    canvas.style.height = height + 'px'
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) })
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    const ink = getComputedStyle(said).color
    const paint = (from, down, over, entry) => {
      const w = room / over, h = tall / down
      for (let place = 0; place < down * over; place++) {
        pen.fillStyle = colour(entry(place))
        pen.fillRect(from.x + place % over * w, from.y + Math.floor(place / over) * h, w - .5, h - .5)
      }
      return (y, x, tallest = 1, widest = 1) => [from.x + x * w, from.y + y * h, widest * w, tallest * h]
    }
    const frame = (box, tint) => {
      for (const [stroke, thick] of [['rgb(0 0 0 / .75)', 5], [tint, 2.5]]) { pen.strokeStyle = stroke; pen.lineWidth = thick; pen.strokeRect(...box) }
    }
    pen.fillStyle = ink; pen.font = '600 13px ' + getComputedStyle(said).fontFamily; pen.textBaseline = 'top'
    const title = `Table of head ${state.head + 1}, ${2 * rows - 1} × ${across} offsets`
    pen.fillText('What each key gains or loses', left.x, left.y - TOP, room); pen.fillText(title, right.x, right.y - TOP, room)
    const inWindow = paint(left, rows, columns, entryOf)
    // Turned by half: an entry stands where its key lies from the query, which is in the middle, so the outlined part is the window.
    const inTable = paint(right, 2 * rows - 1, across, place => last - place)
    const [y, x] = cell(query), { key } = state, entry = entryOf(key)
    frame(inTable(rows - 1 - y, columns - 1 - x, rows, columns), QUERY)
    frame(inWindow(y, x), QUERY)
    frame(inWindow(...cell(key)), KEY)
    frame(inTable(Math.floor((last - entry) / across), (last - entry) % across), KEY)
    const value = values[state.head * entries + entry], [down, right_] = [y - cell(key)[0], x - cell(key)[1]]
    const apart = [down && `${Math.abs(down)} ${Math.abs(down) > 1 ? 'rows' : 'row'} ${down > 0 ? 'below' : 'above'}`,
      right_ && `${Math.abs(right_)} ${Math.abs(right_) > 1 ? 'columns' : 'column'} ${right_ > 0 ? 'right of' : 'left of'}`].filter(Boolean).join(' and ')
    said.textContent = `Query ${named(query)}, key ${named(key)}: the query lies ${apart ? `${apart} it` : 'on it'}, so entry ${entry + 1} of ${entries} is added to the score: ${value < 0 ? '' : '+'}${number(value, 2)}.`
    Object.assign(canvas.dataset, { query, key, entry, head: state.head + 1 })
    nav.querySelectorAll('button').forEach((button, head) => button.setAttribute('aria-pressed', head === state.head))
  }
  legend.firstElementChild.textContent = data.ends[0]
  legend.lastElementChild.textContent = data.ends[1]
  legend.querySelector('i').style.background = `linear-gradient(90deg, ${Array.from({ length: 9 }, (_, i) => `rgb(${colours.slice(96 * i - (i === 8 ? 3 : 0), 96 * i + (i === 8 ? 0 : 3)).join(' ')})`).join(', ')})`

  const placeAt = event => {
    const frame = canvas.getBoundingClientRect(), { room, tall, left } = layout()
    const column = Math.floor((event.clientX - frame.left - left.x) / room * columns), row = Math.floor((event.clientY - frame.top - left.y) / tall * rows)
    return row >= 0 && column >= 0 && row < rows && column < columns ? row * columns + column : undefined
  }
  canvas.onpointermove = event => {
    const place = placeAt(event)
    if (place !== undefined) { state.key = place; draw() }
  }
  canvas.onclick = event => {
    const id = data.ids[placeAt(event)], [down, wide] = data.grid, [x0, y0, x1, y1] = data.box
    if (data.alone || !(id >= 0)) return              // of padding nobody asks
    setStateValue('point', [x0 + (id % wide + .5) / wide * (x1 - x0), y0 + (Math.floor(id / wide) + .5) / down * (y1 - y0)])
  }
  canvas.onkeydown = event => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key]
    if (!step) return
    event.preventDefault()
    state.key = clamp(state.key + step, 0, rows * columns - 1)
    draw()
  }
  nav.hidden = data.heads < 2
  nav.replaceChildren(...Array.from({ length: data.heads }, (_, head) => {
    const button = document.createElement('button'), small = Object.assign(document.createElement('canvas'), { width: across, height: 2 * rows - 1 })
    const pen = small.getContext('2d')
    for (let place = 0; place < entries; place++) {
      pen.fillStyle = colour(last - place, head)
      pen.fillRect(place % across, Math.floor(place / across), 1, 1)
    }
    button.append(small, `head ${head + 1}`)
    button.onclick = () => { state.head = head; expectEcho(state, 'head', [head, data.heads]); setStateValue('head', head + 1); draw() }
    return button
  }))
  canvas.setAttribute('aria-label', data.label)
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => draw())
  state.observer.observe(canvas)
  draw()
  return () => state.observer?.disconnect()
}
