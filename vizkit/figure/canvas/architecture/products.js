// After short.
// A matrix of queries and keys. A cell that is pointed at tells its score, channel by channel: the products that sum to q · k, and
// both patches are framed on the image. At first the query under the cursor of the page and its strongest key.

const STORE = new WeakMap()
const HINT = 'Point at another cell: its query (row) and its key (column) are multiplied channel by channel.'
const QUERY = '#f43f5e', KEY = '#22d3ee'

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('section'), said = root.querySelector('output')
  const [cells, photo, bars] = root.querySelectorAll('canvas')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  const query = floats(data.query), key = floats(data.key), weights = floats(data.weights), bias = floats(data.bias)
  const { channels, queries, keys } = data, [x0, y0, x1, y1] = data.box, matrix = new Image(), image = new Image()
  const [px, py] = [(data.point[0] - x0) / (x1 - x0), (data.point[1] - y0) / (y1 - y0)]
  const asks = Math.max(0, queries.findIndex(([, box]) => box && box[0] <= px && px < box[2] && box[1] <= py && py < box[3]))
  const row = weights.subarray(asks * keys.length, (asks + 1) * keys.length)
  let at = [asks, row.indexOf(row.reduce((most, weight) => Math.max(most, weight), 0))]
  const pens = (canvas, paint) => {
    const ratio = window.devicePixelRatio || 1, { clientWidth: wide, clientHeight: high } = canvas
    if (!wide) return
    canvas.width = Math.round(wide * ratio); canvas.height = Math.round(high * ratio)
    const pen = canvas.getContext('2d')
    pen.scale(ratio, ratio)
    paint(pen, wide, high)
  }
  const frame = (pen, colour, [x, y, w, h]) => { for (const [ink, line] of [['#000', 4], [colour, 2]]) { pen.strokeStyle = ink; pen.lineWidth = line; pen.strokeRect(x, y, w, h) } }
  const products = () => Float32Array.from({ length: channels }, (_, c) => query[at[0] * channels + c] * key[at[1] * channels + c])
  const draw = () => {
    const [i, j] = at, values = products(), top = largest(values), sum = values.reduce((all, value) => all + value, 0)
    pens(cells, (pen, wide, high) => {
      pen.imageSmoothingEnabled = false
      if (matrix.complete && matrix.naturalWidth) pen.drawImage(matrix, 0, 0, wide, high)
      const [w, h] = [wide / keys.length, high / queries.length]
      frame(pen, QUERY, [0, i * h, wide, h]); frame(pen, KEY, [j * w, 0, w, high])
    })
    photo.style.aspectRatio = String(((x1 - x0) * data.image_size[1]) / ((y1 - y0) * data.image_size[0]))
    pens(photo, (pen, wide, high) => {
      const [w, h] = [wide / (x1 - x0), high / (y1 - y0)]
      pen.fillStyle = '#0b0d19'; pen.fillRect(0, 0, wide, high)
      if (image.complete && image.naturalWidth) pen.drawImage(image, -x0 * w, -y0 * h, w, h)
      for (const [colour, [, box]] of [[KEY, keys[j]], [QUERY, queries[i]]]) {
        if (box) frame(pen, colour, [box[0] * wide, box[1] * high, (box[2] - box[0]) * wide, (box[3] - box[1]) * high])
      }
    })
    pens(bars, (pen, wide, high) => {
      values.forEach((value, c) => {
        pen.fillStyle = value < 0 ? '#2563eb' : '#dc2626'
        const tall = value / top * (high / 2 - 2)
        pen.fillRect(c * wide / channels, high / 2 - Math.max(tall, 0), Math.max(1, wide / channels - 1), Math.abs(tall))
      })
    })
    const score = sum * data.scale, added = bias ? bias[i * keys.length + j] : 0
    said.textContent = `${queries[i][0]} (red) · ${keys[j][0]} (blue): the ${channels} products sum to ${number(sum, 2)}, times ${number(data.scale)} is ${number(score, 2)}` +
        (bias ? `, plus the bias ${number(added, 2)} it is ${number(score + added, 2)}` : '') + `; the softmax of the row makes it ${percent(weights[i * keys.length + j])}. ${HINT}`
  }
  const point = (i, j) => { at = [clamp(i, 0, queries.length - 1), clamp(j, 0, keys.length - 1)]; draw() }
  cells.onclick = event => {                           // its query is the cursor of the page
    cells.onpointermove(event)
    const box = queries[at[0]][1], middle = (low, high, from, to) => Math.round(clamp(from + (low + high) / 2 * (to - from), 0, 0.9999) * 10000) / 10000
    if (box && !data.alone) setStateValue('point', [middle(box[0], box[2], x0, x1), middle(box[1], box[3], y0, y1)])
  }
  cells.onpointermove = event => {
    const box = cells.getBoundingClientRect()
    point(Math.floor((event.clientY - box.top) / box.height * queries.length), Math.floor((event.clientX - box.left) / box.width * keys.length))
  }
  cells.onkeydown = event => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key]
    if (!step) return
    event.preventDefault()
    point(at[0] + step[0], at[1] + step[1])
  }
  cells.setAttribute('aria-label', data.label)
  photo.setAttribute('aria-label', 'The image with both patches')
  bars.setAttribute('aria-label', 'The products of every channel')
  matrix.onload = image.onload = () => state.draw()
  matrix.src = data.picture; image.src = data.image
  state.draw = draw
  if (!state.resize) { state.resize = new ResizeObserver(() => { if (root.clientWidth !== state.width) { state.width = root.clientWidth; state.draw() } }); state.resize.observe(root) }
  draw()
}
