// After short, scales.
// The maps of one query in all layers and heads: a column for each layer, a row for each head, both with their numbers, and
// under each map its largest weight; where there is no room for that, a row for each layer. A click tells Python the layer
// and the head, counted from 1.

const STORE = new WeakMap()
const SIDE = 46, TOP = 22, NOTE = 15, LEGIBLE = 38, LEAST = 28, GAP = 3, MOST = 180   // in CSS pixels

export default function ({ data, parentElement, setTriggerValue }) {
  const canvas = parentElement.querySelector('canvas'), said = parentElement.querySelector('output')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  if (state.text !== data.maps) { state.text = data.maps; state.maps = bytes(data.maps) }
  const colours = bytes(data.colours)
  const layers = data.layers, down = Math.max(1, ...layers.map(layer => layer.heads))
  showBar(parentElement.querySelector('p').children, data.scale, colours)
  parentElement.querySelector('p').dataset.quantity = data.quantity
  let hover = null

  const draw = () => {
    if (!canvas.clientWidth) return
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, style = getComputedStyle(canvas)
    const turned = state.turned = (width - SIDE) / layers.length < LEAST && down < layers.length
    const [across, below] = turned ? [down, layers.length] : [layers.length, down]
    const tile = Math.min((width - SIDE) / across, MOST), note = tile >= LEGIBLE ? NOTE : 0
    const tall = Math.max(...layers.map(layer => layer.rows ? layer.rows / layer.columns : 0)) || 1
    const high = (tile - GAP) * Math.min(1.6, tall), step = high + note + GAP
    canvas.style.height = TOP + below * step + 'px'
    canvas.width = Math.round(width * ratio); canvas.height = Math.round((TOP + below * step) * ratio)
    const pen = canvas.getContext('2d')
    pen.scale(ratio, ratio)
    pen.imageSmoothingEnabled = false
    pen.textBaseline = 'middle'; pen.textAlign = 'center'
    pen.fillStyle = style.getPropertyValue('--st-text-color') || '#888'
    const write = (text, x, y, px = 12) => { pen.font = `${px}px ${style.getPropertyValue('--st-font') || 'sans-serif'}`; pen.fillText(text, x, y) }
    const [columns, rows] = turned ? ['head', 'layer'] : ['layer', 'head']
    write(columns, SIDE / 2, TOP / 2)
    for (let at = 0; at < across; at++) write(at + 1, SIDE + at * tile + tile / 2, TOP / 2)
    for (let at = 0; at < below; at++) write(at ? at + 1 : `${rows} 1`, SIDE / 2, TOP + at * step + high / 2)
    state.boxes = []
    layers.forEach((layer, l) => {
      const corner = h => turned ? [SIDE + h * tile, TOP + l * step] : [SIDE + l * tile, TOP + h * step]
      for (let h = layer.rows ? layer.heads : 0; h < (layer.rows ? down : 1); h++) write('–', corner(h)[0] + tile / 2, corner(h)[1] + high / 2)
      for (let h = 0; h < (layer.rows ? layer.heads : 0); h++) {
        const box = [...corner(h), tile - GAP, high], [left] = box
        const map = new OffscreenCanvas(layer.columns, layer.rows), inside = map.getContext('2d')
        const picture = inside.createImageData(layer.columns, layer.rows), count = layer.rows * layer.columns
        for (let i = 0; i < count; i++) {
          const level = state.maps[layer.start + h * count + i]
          picture.data.set([colours[3 * level], colours[3 * level + 1], colours[3 * level + 2], 255], 4 * i)
        }
        inside.putImageData(picture, 0, 0)
        pen.drawImage(map, ...box)
        if (note) write(percent(layer.tops[h]), left + (tile - GAP) / 2, box[1] + high + note / 2, 10.5)
        state.boxes.push({ l, h, box })
        const chosen = data.layer === l && (data.head === h || data.head === null)
        const pointed = hover && hover.l === l && hover.h === h
        if (chosen || pointed) {
          pen.lineWidth = 2.5
          pen.strokeStyle = pointed ? '#fff' : '#f43f5e'
          pen.strokeRect(box[0] + 1.25, box[1] + 1.25, box[2] - 2.5, box[3] - 2.5)
        }
      }
    })
  }
  const at = event => {
    const frame = canvas.getBoundingClientRect(), x = event.clientX - frame.left, y = event.clientY - frame.top
    return (state.boxes || []).find(({ box }) => x >= box[0] && x < box[0] + box[2] && y >= box[1] && y < box[1] + box[3]) || null
  }
  const tell = spot => {
    said.textContent = spot ? `layer ${spot.l + 1}, head ${spot.h + 1}: largest weight ${percent(layers[spot.l].tops[spot.h])}` : data.hint && !data.alone ? `${data.hint} Click a map to see it large.` : data.hint
  }
  const pick = spot => { tell(spot); setTriggerValue('pick', [spot.l + 1, spot.h + 1, 'attention']) }

  canvas.onpointermove = event => {
    const spot = at(event)
    if ((spot && `${spot.l}.${spot.h}`) === (hover && `${hover.l}.${hover.h}`)) return
    hover = spot; draw(); tell(spot)
  }
  canvas.onpointerleave = () => { hover = null; draw(); tell(null) }
  canvas.onclick = event => { const spot = at(event); if (spot && !data.alone) pick(spot) }
  canvas.onkeydown = event => {
    const seen = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key]
    if (!seen || data.alone) return
    event.preventDefault()
    const step = state.turned ? [...seen].reverse() : seen
    const l = Math.min(layers.length - 1, Math.max(0, data.layer + step[0]))
    const h = Math.min(layers[l].heads - 1, Math.max(0, (data.head ?? 0) + step[1]))
    if (layers[l].rows) pick({ l, h })
  }
  canvas.setAttribute('aria-label', data.label)
  tell(null)
  if (!state.resize) {
    state.resize = new ResizeObserver(() => { if (canvas.clientWidth !== state.width) { state.width = canvas.clientWidth; state.draw() } })
    state.resize.observe(canvas)
  }
  state.draw = draw
  draw()
}
