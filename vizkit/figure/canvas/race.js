// After short.
// A race of maps: each takes the places of the picture away, or puts them back, in its own order, and the class's probability
// is followed. Large what the model sees at this step of the lane that is lit, beside it the curves with a mark there, below
// all lanes; to point at one lights it, a click keeps it, and a click on the curves goes to that step. Grey: a random order.

const RACES = new WeakMap()
const LEFT = 44, RIGHT = 14, TOP = 10, BOTTOM = 40                              // of the curves, in CSS pixels

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('section'), lanes = root.querySelector('.lanes')
  const chart = root.querySelector('.curves canvas'), title = root.querySelector('.curves > b')
  const large = { canvas: root.querySelector('.large canvas'), name: root.querySelector('.large b') }
  const state = RACES.get(parentElement) || { tiles: [], hover: null }
  RACES.set(parentElement, state)
  state.data = data
  const count = data.cells[0] * data.cells[1], steps = data.share.length, curves = floats(data.curves)
  const ranks = new Uint16Array(bytes(data.ranks).buffer)
  state.order = data.lanes.map((_, lane) => ranks.subarray(lane * count, (lane + 1) * count))
  state.curves = data.lanes.map((_, lane) => curves.subarray(lane * steps, (lane + 1) * steps))
  for (const name of ['whole', 'ground']) {
    if (state[name] && state[name].address === data[name]) continue
    const image = new Image()
    Object.assign(image, { src: data[name], address: data[name], onload: () => state.draw() })
    state[name] = image
  }

  // ---- the elements, kept from run to run ---------------------------------------------------------------------------
  while (state.tiles.length > data.lanes.length) state.tiles.pop().figure.remove()
  while (state.tiles.length < data.lanes.length) {
    const figure = document.createElement('figure')
    figure.innerHTML = '<b></b><canvas role="button" tabindex="0"></canvas><p><i><u></u></i><span></span></p>'
    lanes.append(figure)
    state.tiles.push({ figure, name: figure.querySelector('b'), canvas: figure.querySelector('canvas'), bar: figure.querySelector('u'), said: figure.querySelector('span') })
  }
  root.style.setProperty('--across', Math.ceil(data.lanes.length / Math.ceil(data.lanes.length / 9)))
  const text = value => Number.isNaN(value) ? '…' : state.data.probable ? percent(value) : number(value)
  const names = data.lanes.map(lane => lane.name), litOf = () => names.indexOf(names.includes(state.hover) ? state.hover : data.lit)
  data.lanes.forEach((lane, index) => {
    const tile = state.tiles[index], keep = () => setTriggerValue('lit', lane.name === state.data.lit ? '' : lane.name)
    tile.figure.style.setProperty('--lane', lane.colour)
    tile.figure.title = lane.more
    tile.name.textContent = lane.title
    tile.name.style.color = `color-mix(in srgb, ${lane.colour} 78%, var(--st-text-color))`
    tile.canvas.setAttribute('aria-pressed', String(lane.name === data.lit))
    tile.figure.onclick = keep
    tile.canvas.onkeydown = event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); keep() } }
    tile.figure.onpointerenter = event => { if (event.pointerType === 'mouse') { state.hover = lane.name; state.draw() } }
    tile.figure.onpointerleave = () => { state.hover = null; state.draw() }
  })

  // ---- what the model sees: every cell from the picture, or from what stands in its place ----------------------------
  const erase = (tile, order, gone) => {
    const { whole, ground } = state, canvas = tile.canvas, [rows, columns] = state.data.cells
    if (!whole.naturalWidth || !ground.naturalWidth) return
    const width = whole.naturalWidth, height = whole.naturalHeight
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height }
    canvas.style.imageRendering = width < 100 ? 'pixelated' : 'auto'
    const pen = canvas.getContext('2d')
    pen.drawImage(whole, 0, 0)
    order.forEach((rank, cell) => {
      if (rank < gone === state.data.back) return
      const row = Math.floor(cell / columns), column = cell % columns
      const [x0, x1] = [column, column + 1].map(at => Math.ceil(at * width / columns))
      const [y0, y1] = [row, row + 1].map(at => Math.ceil(at * height / rows))
      pen.drawImage(ground, x0, y0, x1 - x0, y1 - y0, x0, y0, x1 - x0, y1 - y0)
    })
  }

  // ---- the curves -----------------------------------------------------------------------------------------------------
  const plot = (lit, main) => {
    const ratio = window.devicePixelRatio || 1, width = chart.clientWidth, style = getComputedStyle(chart), { share, at } = state.data
    if (!width) return
    const HEIGHT = clamp(0.75 * width, 240, 400)
    chart.style.height = HEIGHT + 'px'
    chart.width = Math.round(width * ratio); chart.height = Math.round(HEIGHT * ratio)
    const pen = chart.getContext('2d'), ink = style.getPropertyValue('--st-text-color') || '#888'
    const x = part => LEFT + part * (width - LEFT - RIGHT), y = part => TOP + (1 - part) * (HEIGHT - TOP - BOTTOM)
    state.placeOf = px => clamp((px - LEFT) / (width - LEFT - RIGHT), 0, 1)
    pen.scale(ratio, ratio)
    pen.font = `12px ${style.getPropertyValue('--st-font') || 'sans-serif'}`
    pen.textBaseline = 'middle'
    const line = (points, colour, wide, dash = [], alpha = 1) => {
      pen.beginPath(); pen.setLineDash(dash); pen.lineWidth = wide; pen.strokeStyle = colour; pen.globalAlpha = alpha
      points.forEach(([px, py], i) => (i ? pen.lineTo(px, py) : pen.moveTo(px, py)))
      pen.stroke(); pen.globalAlpha = 1; pen.setLineDash([])
    }
    pen.fillStyle = ink
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      line([[LEFT, y(part)], [width - RIGHT, y(part)]], ink, 1, [], part ? 0.12 : 0.45)
      pen.textAlign = 'right'; pen.fillText(data.probable ? 100 * part + ' %' : part, LEFT - 6, y(part))
      pen.textAlign = part === 1 ? 'right' : part ? 'center' : 'left'
      pen.fillText(100 * part + ' %', part === 1 ? width - 2 : x(part), y(0) + 13)
    }
    pen.textAlign = 'center'
    pen.fillText(state.data.axis, x(0.5), HEIGHT - 8)
    line([[x(share[at]), y(1)], [x(share[at]), y(0)]], ink, 1.5, [], 0.6)
    const order = state.curves.map((_, lane) => lane).filter(lane => !Number.isNaN(state.curves[lane][0])).reverse()  // those that are in
    for (const lane of [...order.filter(each => each !== main), ...order.filter(each => each === main)]) {
      const { colour, random, dotted } = state.data.lanes[lane], thick = lane === main, points = [...state.curves[lane]].map((value, i) => [x(share[i]), y(value)])
      line(points, colour, thick ? 3.5 : random ? 2.5 : 1.6, random ? [7, 5] : dotted ? [2, 4] : [], thick || random ? 1 : lit >= 0 ? 0.25 : 0.6)
      const [px, py] = points[at]
      pen.globalAlpha = thick || random || lit < 0 ? 1 : 0.35
      pen.beginPath(); pen.arc(px, py, thick ? 6 : 4, 0, 7); pen.fillStyle = colour; pen.fill()
      pen.globalAlpha = 1; pen.fillStyle = ink
    }
  }

  state.draw = () => {
    const { share, at, cells, lanes: every } = state.data, gone = Math.round(share[at] * cells[0] * cells[1]), lit = litOf()
    every.forEach((lane, index) => {
      const tile = state.tiles[index], value = state.curves[index][at]
      erase(tile, state.order[index], gone)
      tile.canvas.setAttribute('aria-label', `${lane.title}: ${text(value)}. ${state.data.label}`)
      tile.bar.style.width = 100 * (value || 0) + '%'
      tile.said.textContent = text(value)
      tile.figure.toggleAttribute('data-lit', index === lit)
    })
    const main = Math.max(lit, 0)                                         // without a choice the best
    erase(large, state.order[main], gone)
    large.name.textContent = `${every[main].title}: ${text(state.curves[main][at])}`
    large.name.style.color = state.tiles[main].name.style.color
    large.canvas.setAttribute('aria-label', `${large.name.textContent}. ${state.data.label}`)
    plot(lit, main)
  }
  title.textContent = data.title
  chart.setAttribute('aria-label', `${data.title}. ${data.label}`)
  const go = event => {
    const wanted = 100 * state.placeOf(event.offsetX), values = state.data.values
    const value = values.reduce((best, each) => (Math.abs(each - wanted) < Math.abs(best - wanted) ? each : best))
    if (value !== state.asked) { state.asked = value; setTriggerValue('removed', value) }
  }
  chart.onpointerdown = event => { state.asked = null; if (event.pointerType === 'mouse') chart.setPointerCapture(event.pointerId); go(event) }
  chart.onpointermove = event => { if (event.buttons && event.pointerType === 'mouse') go(event) }
  if (!state.resize) {
    state.resize = new ResizeObserver(() => state.draw())
    state.resize.observe(root)
  }
  state.draw()
}
