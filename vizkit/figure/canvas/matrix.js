// After short, scales.
// A matrix of weights with named axes: a row for each query, a column for each key, the row of the map framed. A click on a
// row makes its token the query; on the axes stand the rows of the image that the tokens come from.

const STORE = new WeakMap()
const LEFT = 44, BELOW = 34, LEGIBLE = 13              // in CSS pixels
const HINT = 'Point at a weight to read it; a click on its row makes that token the query.'

export default function ({ data, parentElement, setStateValue }) {
  const canvas = parentElement.querySelector('canvas'), said = parentElement.querySelector('output')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  const { queries, keys, query_special, key_special, query_grid, key_grid } = data
  const ids = text => new Int32Array(bytes(text).buffer)
  if (state.text !== data.weights) Object.assign(state, { text: data.weights, weights: new Uint16Array(bytes(data.weights).buffer) })
  Object.assign(state, { asks: ids(data.query_ids), keys: ids(data.key_ids) })
  const colours = bytes(data.colours)
  const cell = (id, special, grid) => grid && id >= special.length ? [Math.floor((id - special.length) / grid[1]), (id - special.length) % grid[1]] : null
  const name = (id, special, grid) => {
    const at = cell(id, special, grid)
    return id < 0 ? 'padding' : id < special.length ? `[${special[id]}]` : at ? `row ${at[0] + 1}, column ${at[1] + 1}` : `token ${id + 1}`
  }
  const value = level => wordsOf(data.scale, level * data.step)
  let hover = null                                     // [query, key], by their places
  const picture = () => painted(data.scale, Float32Array.from(state.weights, level => level * data.step), [queries, keys], colours)
  const side = () => canvas.clientWidth - LEFT
  const draw = () => {
    if (!canvas.clientWidth) return
    const ratio = window.devicePixelRatio || 1, wide = side(), tall = wide * queries / keys, style = getComputedStyle(canvas)
    canvas.style.height = tall + BELOW + 'px'
    canvas.width = Math.round(canvas.clientWidth * ratio); canvas.height = Math.round((tall + BELOW) * ratio)
    const pen = canvas.getContext('2d'), ink = style.getPropertyValue('--st-text-color') || '#888'
    pen.scale(ratio, ratio)
    pen.imageSmoothingEnabled = keys > wide * ratio    // else one flat square for each weight
    pen.drawImage(state.picture ||= picture(), LEFT, 0, wide, tall)
    pen.fillStyle = ink; pen.textAlign = 'center'; pen.textBaseline = 'middle'
    const write = (text, x, y) => { pen.font = `11px ${style.getPropertyValue('--st-font') || 'sans-serif'}`; pen.fillText(text, x, y) }
    const ticks = (ids, special, grid, step, put) => {  // the rows of the image, where each has room for its number
      for (let from = 0, to; from < ids.length; from = to) {
        const row = cell(ids[from], special, grid)?.[0]
        for (to = from + 1; to < ids.length && cell(ids[to], special, grid)?.[0] === row;) to++
        if (row !== undefined && (to - from) * step >= LEGIBLE) put(row + 1, from * step, to * step)
      }
    }
    pen.strokeStyle = ink; pen.globalAlpha = 0.75; pen.lineWidth = 0.5
    const rule = (...ends) => { pen.beginPath(); pen.moveTo(ends[0], ends[1]); pen.lineTo(ends[2], ends[3]); pen.stroke() }
    ticks(state.asks, query_special, query_grid, tall / queries, (row, from, to) => { write(row, LEFT - 14, (from + to) / 2); rule(LEFT - 6, to, LEFT, to) })
    ticks(state.keys, key_special, key_grid, wide / keys, (row, from, to) => { write(row, LEFT + (from + to) / 2, tall + 10); rule(LEFT + to, tall, LEFT + to, tall + 6) })
    write(`key, by the image’s row`, LEFT + wide / 2, tall + 26)
    pen.save(); pen.translate(7, tall / 2); pen.rotate(-Math.PI / 2); write(`query, by the image’s row`, 0, 0); pen.restore()
    pen.globalAlpha = 1
    const at = state.asks.indexOf(data.marked), high = tall / queries, y = at * high
    const frame = (colour, line, grow) => { pen.strokeStyle = colour; pen.lineWidth = line; pen.strokeRect(LEFT, y - grow, wide, high + 2 * grow) }
    frame('#000', 3, 1); frame('#fff', 1.2, 1)
    pen.fillStyle = '#f43f5e'; pen.beginPath(); pen.moveTo(LEFT - 9, y + high / 2 - 6); pen.lineTo(LEFT - 1, y + high / 2); pen.lineTo(LEFT - 9, y + high / 2 + 6); pen.fill()
    if (!hover) return
    const [i, j] = hover
    pen.strokeStyle = 'rgb(255 255 255 / .75)'; pen.lineWidth = 1
    rule(LEFT, (i + 0.5) * high, LEFT + wide, (i + 0.5) * high); rule(LEFT + (j + 0.5) * wide / keys, 0, LEFT + (j + 0.5) * wide / keys, tall)
  }
  const at = event => {
    const frame = canvas.getBoundingClientRect(), i = Math.floor((event.clientY - frame.top) / (side() / keys)), j = Math.floor((event.clientX - frame.left - LEFT) / (side() / keys))
    return i >= 0 && i < queries && j >= 0 && j < keys ? [i, j] : null
  }
  const tell = spot => {
    said.textContent = spot ? `${name(state.asks[spot[0]], query_special, query_grid)} → ${name(state.keys[spot[1]], key_special, key_grid)}: ${value(state.weights[spot[0] * keys + spot[1]])}`
      : data.alone ? HINT.split(';')[0] + '.' : HINT
  }
  const ask = id => {                                  // a token with a place is the cursor of the page
    if (data.alone || id < 0) return
    const where = cell(id, query_special, query_grid), [left, up, right, down] = data.box
    if (!where) return query_special[id] && setStateValue('query', query_special[id])
    const share = [left + (where[1] + 0.5) / query_grid[1] * (right - left), up + (where[0] + 0.5) / query_grid[0] * (down - up)]
    setStateValue('point', share.map(each => Math.round(clamp(each, 0, 0.9999) * 10000) / 10000))
  }
  canvas.onpointermove = event => { hover = at(event); draw(); tell(hover) }
  canvas.onpointerleave = () => { hover = null; draw(); tell(null) }
  canvas.onclick = event => { const spot = at(event); if (spot) ask(state.asks[spot[0]]) }
  canvas.onkeydown = event => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key], next = state.asks.indexOf(data.marked) + step
    if (!step) return
    event.preventDefault()
    if (next >= 0 && next < queries) ask(state.asks[next])
  }
  canvas.setAttribute('aria-label', data.label)
  showBar(parentElement.querySelector('p').children, data.scale, colours)
  tell(null)
  Object.assign(state, { draw, picture: null })
  if (!state.resize) { state.resize = new ResizeObserver(() => { if (canvas.clientWidth !== state.width) { state.width = canvas.clientWidth; state.draw() } }); state.resize.observe(canvas) }
  draw()
}
