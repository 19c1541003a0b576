// One picture in several panels, each with its boxes, or with a map laid over it. A click chooses a box or a place; Python
// is asked for what follows from it.

const STORE = new WeakMap()
const INK = '#f59e0b', UNDER = 'rgb(0 0 0 / .65)'

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('.panels'), row = root.querySelector('.row'), says = root.querySelector('.says')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  const [height, width] = data.size, colours = bytes(data.colours)
  while (row.children.length > data.panels.length) row.lastChild.remove()
  while (row.children.length < data.panels.length) {
    const section = document.createElement('section')
    section.append(document.createElement('p'), document.createElement('canvas'))
    row.append(section)
  }
  row.style.setProperty('--count', data.panels.length)
  says.textContent = data.says
  const image = state.image = new Image()
  image.onload = () => draw()
  image.src = data.image

  const heat = ({ values, grid }) => {
    const map = document.createElement('canvas'), pixels = new ImageData(grid[1], grid[0])
    map.width = grid[1]; map.height = grid[0]
    bytes(values).forEach((value, i) => pixels.data.set([...colours.subarray(3 * value, 3 * value + 3), 255 * (data.floor + (data.ceiling - data.floor) * value / 255)], 4 * i))
    map.getContext('2d').putImageData(pixels, 0, 0)
    return map
  }
  const lines = (pen, shape, colour, thick, dash) => {
    pen.setLineDash(dash)
    for (const [ink, wide] of [[UNDER, thick + 2], [colour, thick]]) { pen.strokeStyle = ink; pen.lineWidth = wide; pen.beginPath(); shape(); pen.stroke() }
    pen.setLineDash([])
  }
  const tag = (pen, text, x, y, colour, w, taken) => {
    pen.font = '600 12px ' + getComputedStyle(root).fontFamily
    const wide = Math.min(pen.measureText(text).width + 8, w), left = clamp(x, 0, w - wide)
    let top = Math.max(0, y - 17)
    const hit = () => taken.some(other => left < other.left + other.wide && other.left < left + wide && Math.abs(top - other.top) < 17)
    for (let tries = 0; tries < 6 && hit(); tries++) top += 18
    taken.push({ left, wide, top })
    pen.fillStyle = colour; pen.fillRect(left, top, wide, 17)
    pen.fillStyle = '#fff'; pen.textBaseline = 'middle'; pen.fillText(text, left + 4, top + 9, wide - 8)
  }
  const paint = (canvas, panel) => {
    const w = canvas.clientWidth, h = w * height / width, ratio = window.devicePixelRatio || 1, pen = canvas.getContext('2d')
    canvas.style.height = h + 'px'
    canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio)
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.drawImage(image, 0, 0, w, h)
    if (panel.heat) { pen.imageSmoothingEnabled = false; pen.drawImage(heat(panel.heat), 0, 0, w, h) }
    for (const path of panel.paths) lines(pen, () => path.points.forEach(([x, y], i) => i ? pen.lineTo(x * w, y * h) : pen.moveTo(x * w, y * h)), path.colour, 1.5, [])
    const taken = []
    for (const box of panel.boxes) {
      const [x0, y0, x1, y1] = box.box, own = box.id !== null && box.id === data.chosen
      lines(pen, () => pen.rect(x0 * w, y0 * h, (x1 - x0) * w, (y1 - y0) * h), own ? INK : box.colour, own ? 3 : 1.75, box.dashed ? [5, 4] : [])
    }
    for (const box of panel.boxes) if (box.text) tag(pen, box.text, box.box[0] * w, box.box[1] * h, box.colour, w, taken)
    if (panel.at) {
      const [x, y] = panel.at
      lines(pen, () => pen.arc(x * w, y * h, 7, 0, 7), INK, 2.5, [])
    }
  }
  const draw = () => {
    if (!root.isConnected || !image.naturalWidth) return
    data.panels.forEach((panel, i) => { if (row.children[i].lastChild.clientWidth) paint(row.children[i].lastChild, panel) })
  }
  const choose = id => { root.dataset.chosen = id; setStateValue('box', id) }
  const point = (x, y) => { root.dataset.at = [x, y]; setStateValue('point', [clamp(x, 0, 0.9999), clamp(y, 0, 0.9999)]) }
  const boxAt = (panel, x, y) => panel.boxes.filter(({ id, box }) => id !== null && box[0] <= x && x <= box[2] && box[1] <= y && y <= box[3])
    .sort((a, b) => (a.box[2] - a.box[0]) * (a.box[3] - a.box[1]) - (b.box[2] - b.box[0]) * (b.box[3] - b.box[1]))[0]
  const step = key => ({ ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] })[key]
  data.panels.forEach((panel, i) => {
    const [title, canvas] = row.children[i].children
    title.textContent = panel.title
    canvas.setAttribute('role', 'img'); canvas.setAttribute('aria-label', panel.label); canvas.tabIndex = 0
    canvas.onclick = event => {
      const frame = canvas.getBoundingClientRect(), x = (event.clientX - frame.left) / frame.width, y = (event.clientY - frame.top) / frame.height
      if (data.pick === 'point') point(x, y)
      else { const box = boxAt(panel, x, y) || boxAt(data.panels[0], x, y); if (box) choose(box.id) }
    }
    canvas.onkeydown = event => {
      const by = step(event.key)
      if (!by) return
      event.preventDefault()
      if (data.pick === 'point') return point(panel.at[0] + by[0] / data.grid[1], panel.at[1] + by[1] / data.grid[0])
      const ids = data.panels[0].boxes.map(box => box.id).filter(id => id !== null)
      if (ids.length) choose(ids[(ids.indexOf(data.chosen) + by[0] + by[1] + ids.length) % ids.length])
    }
  })
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => draw())
  state.observer.observe(root)
  draw()
  return () => state.observer?.disconnect()
}
