// After short, scales, news.
// Several images beside one another, their patches in colours. The patch under the pointer lights up with those that are most
// alike to it in all images; where they are pairs, lines lead to them. A click keeps it. figure/features/alike_patches.py draws
// the same on paper.

const STORE = new WeakMap()
const CHOSEN = '#f59e0b', RING = '#38e0ff', UNDER = 'rgb(0 0 0 / .75)'
const GAP = 12, TITLE = 22, NARROW = 560, STEPS = 10000

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('section'), canvas = root.querySelector('canvas'), says = root.querySelector('output')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  if (isNews(state, 'chosen', data.chosen)) state.chosen = data.chosen
  state.over = null
  const tints = bytes(data.tints), ids = new Int32Array(bytes(data.ids).buffer), cosines = new Int16Array(bytes(data.cosines).buffer)
  const starts = data.grids.reduce((all, [rows, columns]) => [...all, all[all.length - 1] + rows * columns], [0]), total = starts[starts.length - 1]
  const known = new Map((state.images || []).map(image => [image.src, image]))   // kept, so that nothing flickers
  state.images = data.images.map(src => known.get(src) || Object.assign(new Image(), { src }))
  state.images.forEach(image => { image.onload = () => draw() })
  canvas.setAttribute('aria-label', `${data.label} ${data.names.join(', ')}. Arrow keys move the patch, Enter keeps it.`)

  const layout = () => {                               // a box for each image, in CSS pixels
    const width = canvas.clientWidth, across = Math.min(data.images.length, width < NARROW ? 2 : data.images.length === 4 ? 4 : 3)
    const side = (width + GAP) / across - GAP
    let top = 0, tallest = 0
    const boxes = data.sizes.map(([h, w], i) => {
      if (i && i % across === 0) { top += tallest + TITLE + GAP; tallest = 0 }
      const high = side * h / w
      tallest = Math.max(tallest, high)
      return [i % across * (side + GAP), top + TITLE, side, high]
    })
    return { boxes, height: top + TITLE + tallest + 2 }
  }
  const imageOf = patch => starts.findIndex(start => start > patch) - 1
  const cellOf = patch => { const i = imageOf(patch), at = patch - starts[i], columns = data.grids[i][1]; return [i, Math.floor(at / columns), at % columns] }
  const boxOf = (boxes, patch) => {
    const [i, row, column] = cellOf(patch), [x, y, w, h] = boxes[i], [rows, columns] = data.grids[i]
    return [x + column * w / columns, y + row * h / rows, w / columns, h / rows]
  }
  const shown = () => state.over ?? (state.chosen < total ? state.chosen : -1)
  const alike = patch => Array.from({ length: data.count }, (_, at) => [ids[patch * data.count + at], cosines[patch * data.count + at] / STEPS])
  const sheetOf = i => {                               // one pixel for each patch
    const [rows, columns] = data.grids[i], sheet = new OffscreenCanvas(columns, rows), pen = sheet.getContext('2d'), pixels = pen.createImageData(columns, rows)
    for (let at = 0; at < rows * columns; at++) pixels.data.set([...tints.subarray(3 * (starts[i] + at), 3 * (starts[i] + at) + 3), 255], 4 * at)
    pen.putImageData(pixels, 0, 0)
    return sheet
  }
  const sheets = tints.length ? data.images.map((_, i) => sheetOf(i)) : null
  const frame = (pen, box, ink, thick) => {
    for (const [colour, wide] of [[UNDER, thick + 2], [ink, thick]]) { pen.strokeStyle = colour; pen.lineWidth = wide; pen.strokeRect(...box) }
  }
  const draw = () => {
    if (!root.isConnected || !canvas.clientWidth) return
    const { boxes, height } = layout(), ratio = window.devicePixelRatio || 1, pen = canvas.getContext('2d'), patch = shown()
    canvas.style.height = height + 'px'
    canvas.width = Math.round(canvas.clientWidth * ratio); canvas.height = Math.round(height * ratio)
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    const style = getComputedStyle(root)
    boxes.forEach(([x, y, w, h], i) => {
      const image = state.images[i]
      pen.font = '600 14px ' + style.fontFamily; pen.fillStyle = style.color; pen.fillText(data.names[i], x, y - 7, w)
      pen.imageSmoothingEnabled = data.sizes[i][1] > 128
      if (image.naturalWidth) pen.drawImage(image, x, y, w, h)
      pen.imageSmoothingEnabled = false
      if (patch >= 0 && !data.paired) dim(pen, [x, y, w, h])
      else if (sheets) { pen.globalAlpha = data.cover; pen.drawImage(sheets[i], x, y, w, h); pen.globalAlpha = 1 }
    })
    says.textContent = patch < 0 ? data.hint : said(patch)
    root.dataset.shown = patch
    if (patch < 0) return
    const own = boxOf(boxes, patch), others = alike(patch).map(([other, cosine]) => [other, boxOf(boxes, other), cosine])
    if (!data.paired) for (const each of [patch, ...others.map(([other]) => other)]) {   // these as they are
      const i = imageOf(each), [x, y, w, h] = boxOf(boxes, each), [left, top, wide, high] = boxes[i], image = state.images[i]
      if (image.naturalWidth) pen.drawImage(image, (x - left) / wide * image.naturalWidth, (y - top) / high * image.naturalHeight, w / wide * image.naturalWidth, h / high * image.naturalHeight, x, y, w, h)
    }
    const middle = ([x, y, w, h]) => [x + w / 2, y + h / 2]
    if (data.paired) for (const [, box] of others) for (const [colour, wide] of [[UNDER, 4], [RING, 2]]) {
      pen.strokeStyle = colour; pen.lineWidth = wide; pen.beginPath(); pen.moveTo(...middle(own)); pen.lineTo(...middle(box)); pen.stroke()
    }
    others.forEach(([, box], at) => frame(pen, box, RING, data.paired || at < data.count / 4 ? 2 : 1))
    frame(pen, own, CHOSEN, 3)
  }
  const two = value => value.toFixed(2).replace('-', '−')
  const said = patch => {
    const name = id => (([i, row, column]) => `${data.names[i]}, row ${row + 1}, column ${column + 1}`)(cellOf(id)), others = alike(patch)
    if (data.paired) return `${name(patch)} matches: ${others.map(([other, cosine]) => `${name(other)} (${two(cosine)})`).join(' · ')}`
    const where = data.names.map((each, i) => `${others.filter(([other]) => imageOf(other) === i).length} in ${each}`).join(' · ')
    return `${name(patch)}: of the ${data.count} most alike patches ${where}; cosine ${two(others[0][1])} to ${two(others[others.length - 1][1])}`
  }

  // ---- pointing and keeping --------------------------------------------------------------------------------------------
  const at = event => {
    const seen = canvas.getBoundingClientRect(), x = event.clientX - seen.left, y = event.clientY - seen.top, { boxes } = layout()
    const i = boxes.findIndex(([left, top, w, h]) => left <= x && x < left + w && top <= y && y < top + h)
    if (i < 0) return null
    const [left, top, w, h] = boxes[i], [rows, columns] = data.grids[i]
    return starts[i] + Math.min(rows - 1, Math.floor((y - top) / h * rows)) * columns + Math.min(columns - 1, Math.floor((x - left) / w * columns))
  }
  const over = patch => { if (state.over !== patch) { state.over = patch; draw() } }
  const choose = patch => {
    state.chosen = patch; state.over = null; expectEcho(state, 'chosen', patch); draw()
    if (!data.alone) setStateValue('pick', patch + 1)
  }
  canvas.onpointermove = event => { if (event.pointerType === 'mouse') over(at(event)) }
  canvas.onpointerleave = () => over(null)
  canvas.onclick = event => { const patch = at(event); if (patch !== null) choose(patch === state.chosen && !data.paired ? -1 : patch) }
  canvas.onkeydown = event => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key]
    if (event.key === 'Enter' && shown() >= 0) { event.preventDefault(); choose(shown()) }
    if (!by) return
    event.preventDefault()
    const [i, row, column] = cellOf(Math.max(0, shown())), [rows, columns] = data.grids[i]
    over(starts[i] + clamp(row + by[0], 0, rows - 1) * columns + clamp(column + by[1], 0, columns - 1))
  }
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => draw())
  state.observer.observe(canvas.parentElement)
  draw()
  return () => state.observer?.disconnect()
}
