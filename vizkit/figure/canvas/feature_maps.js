// After short, scales, news.
// The maps of a layer's strongest channels. Pointing at a unit shows which pixels it can see; a click chooses it.

const STORE = new WeakMap()
const three = value => value.toPrecision(3).replace('-', '−')

export default function ({ data, parentElement, setStateValue }) {
  const find = name => parentElement.querySelector(name)
  const photo = find('.photo'), grid = find('.grid'), said = find('.said'), root = find('.maps')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  state.values = new Uint16Array(bytes(data.values).buffer)
  const others = isNews(state, 'maps', [data.channels, data.strengths, data.values, data.low, data.step, data.scales, data.grid])
  if (others) state.hover = null
  if (isNews(state, 'unit', [data.channels[data.unit[0]], ...data.unit.slice(1)]) || others) state.unit = data.unit
  const [rows, columns] = data.grid, count = rows * columns, table = bytes(data.scales[0].signed ? data.signed : data.colours)
  const value = (k, y, x) => data.low + state.values[k * count + y * columns + x] * data.step
  const now = () => state.hover ?? state.unit              // [which of the maps, row, column]

  const drawPhoto = () => {
    if (!photo.clientWidth || !state.image?.complete) return
    const ratio = window.devicePixelRatio || 1, [tall, wide] = data.image_size, w = photo.clientWidth, h = w * tall / wide
    photo.width = Math.round(w * ratio); photo.height = Math.round(h * ratio); photo.style.height = h + 'px'
    const pen = photo.getContext('2d'), [, y, x] = now(), box = data.box
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.imageSmoothingEnabled = wide > 128
    pen.drawImage(state.image, 0, 0, w, h)
    if (!data.rows) return
    const [left, top] = [box[0] * w, box[1] * h], [scale, down] = [(box[2] - box[0]) * w / data.input[1], (box[3] - box[1]) * h / data.input[0]]
    const from = [data.columns[0] + x * data.columns[2], data.rows[0] + y * data.rows[2]], size = [data.columns[1], data.rows[1]]
    const frame = [left + from[0] * scale, top + from[1] * down, size[0] * scale, size[1] * down]
    pen.fillStyle = 'rgb(8 10 24 / .45)'; pen.beginPath(); pen.rect(0, 0, w, h); pen.rect(...frame); pen.fill('evenodd')
    for (const [ink, line] of [['#0b0d19', 5], ['#f59e0b', 2.5]]) { pen.strokeStyle = ink; pen.lineWidth = line; pen.strokeRect(...frame) }
  }
  const drawMap = (canvas, k) => {
    canvas.width = columns; canvas.height = rows
    const numbers = Array.from(state.values.subarray(k * count, (k + 1) * count), step => data.low + step * data.step)
    canvas.getContext('2d').drawImage(painted(data.scales[k], numbers, data.grid, table), 0, 0)
  }
  const mark = () => {
    const [k, y, x] = now()
    ;[...grid.children].forEach((tile, i) => tile.setAttribute('aria-current', i === k))
    const size = data.rows ? `it can see ${data.rows[1]} × ${data.columns[1]} pixels` : 'it can see the whole image'
    said.textContent = `channel ${data.channels[k] + 1}, row ${y + 1}, column ${x + 1}: ${three(value(k, y, x))}; ${size}` + (data.whole ? ', and a mean of all' : '')
    Object.assign(root.dataset, { unit: `${data.channels[k]},${y},${x}`, value: value(k, y, x) })
  }
  const draw = () => { mark(); drawPhoto() }
  const choose = unit => { state.unit = unit; state.hover = null; expectEcho(state, 'unit', [data.channels[unit[0]], ...unit.slice(1)]); draw(); setStateValue('channel', data.channels[unit[0]] + 1); setStateValue('unit', [unit[1], unit[2]]) }
  const at = (event, k) => {
    const frame = event.target.getBoundingClientRect()
    return [k, clamp(Math.floor((event.clientY - frame.top) / frame.height * rows), 0, rows - 1), clamp(Math.floor((event.clientX - frame.left) / frame.width * columns), 0, columns - 1)]
  }
  if (others) {
    grid.replaceChildren(...data.channels.map((channel, k) => {
      const tile = document.createElement('div'), canvas = document.createElement('canvas'), name = document.createElement('span')
      canvas.tabIndex = 0; canvas.setAttribute('role', 'application')
      canvas.setAttribute('aria-label', `Channel ${channel + 1}, strength ${three(data.strengths[k])}. Click a unit, or use the arrow keys.`)
      canvas.onpointermove = event => { if (event.pointerType !== 'touch') { state.hover = at(event, k); state.draw() } }
      canvas.onpointerleave = () => { state.hover = null; state.draw() }
      canvas.onclick = event => state.choose(at(event, k))
      canvas.onkeydown = event => {
        const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key]
        if (!by) return
        event.preventDefault()
        const [, y, x] = state.unit[0] === k ? state.unit : [k, 0, 0]
        state.choose([k, clamp(y + by[0], 0, rows - 1), clamp(x + by[1], 0, columns - 1)])
      }
      name.textContent = `channel ${channel + 1}`
      tile.append(canvas, name); drawMap(canvas, k)
      return tile
    }))
  }
  Object.assign(state, { draw, choose })
  photo.setAttribute('role', 'img'); photo.setAttribute('aria-label', data.label)
  mark()
  if (!state.resize) { state.resize = new ResizeObserver(() => state.draw()); state.resize.observe(photo) }
  if (state.source !== data.image) {
    state.source = data.image; state.image = new Image(); state.image.onload = () => state.draw(); state.image.src = data.image
  } else drawPhoto()
}
