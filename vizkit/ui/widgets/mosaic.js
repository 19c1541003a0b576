// All layers × heads of one model as small maps of the same query. A click selects a layer and a head.

const STORE = new WeakMap()
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0))

export default function ({ data, parentElement, setStateValue }) {
  const canvas = parentElement.querySelector('canvas'), said = parentElement.querySelector('output')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  if (state.text !== data.maps) { state.text = data.maps; state.maps = bytes(data.maps) }
  const colours = state.colours || (state.colours = bytes(data.colours))
  const layers = data.layers, across = Math.max(1, ...layers.map(layer => layer.heads))
  let hover = null

  const draw = () => {
    if (!canvas.clientWidth) return
    const ratio = window.devicePixelRatio || 1, width = Math.round(canvas.clientWidth * ratio)
    const label = 30 * ratio, gap = Math.max(1, ratio), style = getComputedStyle(canvas)
    const tile = Math.min((width - label) / across, 84 * ratio)
    const tall = layers.map(layer => layer.rows ? tile * Math.min(1.6, layer.rows / layer.columns) : 20 * ratio)
    const height = Math.round(tall.reduce((sum, t) => sum + t, 0))
    canvas.height = height; canvas.width = width
    canvas.style.height = height / ratio + 'px'
    const pen = canvas.getContext('2d')
    pen.imageSmoothingEnabled = false
    pen.font = `${11 * ratio}px ${style.getPropertyValue('--st-font') || 'sans-serif'}`
    pen.textBaseline = 'middle'
    state.boxes = []
    let top = 0
    layers.forEach((layer, l) => {
      pen.fillStyle = style.getPropertyValue('--st-text-color') || '#888'
      pen.fillText(l + 1, 4 * ratio, top + tall[l] / 2)
      if (!layer.rows) pen.fillText('no places in the image', label, top + tall[l] / 2)
      for (let h = 0; h < (layer.rows ? layer.heads : 0); h++) {
        const box = [label + h * tile, top, tile - gap, tall[l] - gap]
        const map = new OffscreenCanvas(layer.columns, layer.rows), inside = map.getContext('2d')
        const picture = inside.createImageData(layer.columns, layer.rows), count = layer.rows * layer.columns
        for (let i = 0; i < count; i++) {
          const level = state.maps[layer.start + h * count + i]
          picture.data.set([colours[3 * level], colours[3 * level + 1], colours[3 * level + 2], 255], 4 * i)
        }
        inside.putImageData(picture, 0, 0)
        pen.drawImage(map, ...box)
        state.boxes.push({ l, h, box })
        const chosen = data.layer === l && (data.head === h || data.head === null)
        const pointed = hover && hover.l === l && hover.h === h
        if (chosen || pointed) {
          pen.lineWidth = 2.5 * ratio
          pen.strokeStyle = pointed ? '#fff' : '#f43f5e'
          pen.strokeRect(box[0] + ratio, box[1] + ratio, box[2] - 2 * ratio, box[3] - 2 * ratio)
        }
      }
      top += tall[l]
    })
  }
  const at = event => {
    const frame = canvas.getBoundingClientRect(), ratio = canvas.width / frame.width
    const x = (event.clientX - frame.left) * ratio, y = (event.clientY - frame.top) * ratio
    return (state.boxes || []).find(({ box }) => x >= box[0] && x < box[0] + box[2] && y >= box[1] && y < box[1] + box[3]) || null
  }
  const tell = spot => { said.textContent = spot ? `layer ${spot.l + 1}, head ${spot.h + 1} · ${layers[spot.l].name}` : data.hint }
  const pick = spot => { tell(spot); setStateValue('pick', [spot.l, spot.h]) }

  canvas.onpointermove = event => {
    const spot = at(event)
    if ((spot && `${spot.l}.${spot.h}`) === (hover && `${hover.l}.${hover.h}`)) return
    hover = spot; draw(); tell(spot)
  }
  canvas.onpointerleave = () => { hover = null; draw(); tell(null) }
  canvas.onclick = event => { const spot = at(event); if (spot) pick(spot) }
  canvas.onkeydown = event => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key]
    if (!step) return
    event.preventDefault()
    const l = Math.min(layers.length - 1, Math.max(0, data.layer + step[0]))
    const h = Math.min(layers[l].heads - 1, Math.max(0, (data.head ?? 0) + step[1]))
    pick({ l, h })
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
