// After short, scales, news, features/probe.
// Several images beside one another, their patches in colours. The patch under the pointer lights up with those that are most
// alike to it in all images; where they are pairs, lines lead to them. A click keeps it. Or a click paints a patch as one of a
// few things, and a probe says of all others which they are. figure/features/ draws the same on paper.

const STORE = new WeakMap()
const CHOSEN = '#f59e0b', RING = '#38e0ff', UNDER = 'rgb(0 0 0 / .75)'
const GAP = 12, TITLE = 22, NARROW = 560, STEPS = 10000

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('section'), canvas = root.querySelector('canvas'), says = root.querySelector('output'), bar = root.querySelector('nav')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  const labels = 'vectors' in data, set = labels ? 'clicks' : 'chosen', whole = (type, text) => new type(bytes(text || '').buffer)
  if (isNews(state, set, data[set])) state[set] = data[set]
  if (!labels) state.over = null
  const ids = whole(Int32Array, data.ids), cosines = whole(Int16Array, data.cosines), vectors = whole(Int16Array, data.vectors), right = whole(Uint8Array, data.right), back = whole(Uint8Array, data.back)
  let tints = whole(Uint8Array, data.tints), sheets = null, painted = new Map(), things = []
  const starts = data.grids.reduce((all, [rows, columns]) => [...all, all[all.length - 1] + rows * columns], [0]), total = starts[starts.length - 1]
  if (state.over >= total) state.over = null
  const known = new Map((state.images || []).map(image => [image.src, image]))   // kept, so that nothing flickers
  state.images = data.images.map(src => known.get(src) || Object.assign(new Image(), { src }))
  state.images.forEach(image => { image.onload = () => draw() })
  canvas.setAttribute('aria-label', `${data.label} ${data.names.join(', ')}. Arrow keys move the patch, Enter ${labels ? 'paints it, 1 to 4 choose as what' : 'keeps it'}.`)

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
  const shown = () => state.over ?? (labels ? -1 : state.chosen < total ? state.chosen : -1)
  const alike = patch => Array.from({ length: data.count }, (_, at) => [ids, cosines, back].map(each => each[patch * data.count + at]))
    .map(([other, cosine, sure = 1]) => [other, cosine / STEPS, sure])
  const sheetOf = i => {                               // one pixel for each patch
    const [rows, columns] = data.grids[i], sheet = new OffscreenCanvas(columns, rows), pen = sheet.getContext('2d'), pixels = pen.createImageData(columns, rows)
    for (let at = 0; at < rows * columns; at++) pixels.data.set([...tints.subarray(3 * (starts[i] + at), 3 * (starts[i] + at) + 3), 255], 4 * at)
    pen.putImageData(pixels, 0, 0)
    return sheet
  }
  const frame = (pen, box, ink, thick, under = UNDER) => {
    for (const [colour, wide] of [[under, thick + 2], [ink, thick]]) { pen.strokeStyle = colour; pen.lineWidth = wide; pen.strokeRect(...box) }
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
      if (patch >= 0 && ids.length && !data.paired) dim(pen, [x, y, w, h])
      else if (sheets) { pen.globalAlpha = data.cover; pen.drawImage(sheets[i], x, y, w, h); pen.globalAlpha = 1 }
    })
    const stale = labels && data.alone && state.clicks !== data.clicks ? ' The sentence above is of the patches painted at first.' : ''
    says.textContent = patch < 0 ? data.hint + stale : said(patch)
    root.dataset.shown = patch
    painted.forEach((thing, each) => frame(pen, boxOf(boxes, each), data.inks[thing - 1], 2, '#fff'))
    if (patch < 0) return
    if (labels) return frame(pen, boxOf(boxes, patch), '#fff', 2)
    const own = boxOf(boxes, patch), others = alike(patch).map(([other, , sure]) => [other, boxOf(boxes, other), sure])
    if (!data.paired) for (const each of [patch, ...others.map(([other]) => other)]) {   // these as they are
      const i = imageOf(each), [x, y, w, h] = boxOf(boxes, each), [left, top, wide, high] = boxes[i], image = state.images[i]
      if (image.naturalWidth) pen.drawImage(image, (x - left) / wide * image.naturalWidth, (y - top) / high * image.naturalHeight, w / wide * image.naturalWidth, h / high * image.naturalHeight, x, y, w, h)
    }
    const middle = ([x, y, w, h]) => [x + w / 2, y + h / 2]
    if (data.paired) for (const [, box, sure] of others) for (const [colour, wide] of sure ? [[UNDER, 4], [RING, 2]] : [[RING, 1]]) {
      pen.setLineDash(sure ? [] : [6, 5]); pen.strokeStyle = colour; pen.lineWidth = wide
      pen.beginPath(); pen.moveTo(...middle(own)); pen.lineTo(...middle(box)); pen.stroke()
    }
    others.forEach(([, box, sure], at) => {
      pen.setLineDash(sure ? [] : [3, 3])
      frame(pen, box, RING, (data.paired ? sure : at < data.count / 4) ? 2 : 1)
    })
    pen.setLineDash([])
    frame(pen, own, CHOSEN, 3)
  }
  const two = value => value.toFixed(2).replace('-', '−')
  const said = patch => {
    const name = id => (([i, row, column]) => `${data.names[i]}, row ${row + 1}, column ${column + 1}`)(cellOf(id))
    if (labels) return `${name(patch)}: ${things.length ? `thing ${things[patch]}` : 'no thing'}${painted.has(patch) ? ', painted' : ''}`
    const others = alike(patch)
    if (data.paired) return `${name(patch)} matches: ${others.map(([other, cosine, sure]) => `${name(other)} (${two(cosine)}${sure ? '' : ', one way'})`).join(' · ')}${patch < right.length ? right[patch] ? ' ✓' : ' ✗' : ''}`
    const where = data.names.map((each, i) => `${others.filter(([other]) => imageOf(other) === i).length} in ${each}`).join(' · ')
    return `${name(patch)}: of the ${data.count} most alike patches ${where}; cosine ${two(others[0][1])} to ${two(others[others.length - 1][1])}${patch === state.chosen ? '. Click it once more to see all colours.' : ''}`
  }

  // ---- painting: thing:image:x,y of each click ---------------------------------------------------------------------------
  const clicks = () => state.clicks === 'none' ? [] : state.clicks.split(' ')
  const patchOf = click => {
    const [, number, x, y] = click.split(/[:,]/).map(Number), [rows, columns] = data.grids[number - 1] ?? []
    return rows ? starts[number - 1] + Math.floor(y * rows / 1000) * columns + Math.floor(x * columns / 1000) : -1
  }
  const label = () => {
    if (labels) {
      painted = new Map(clicks().map(click => [patchOf(click), +click[0]]).filter(([patch]) => patch >= 0))
      things = painted.size ? probe(vectors, data.channels, painted, data.ridge) : []
      const inks = data.inks.map(ink => [1, 3, 5].map(at => parseInt(ink.slice(at, at + 2), 16)))
      tints = Uint8Array.from([...things].flatMap(thing => inks[thing - 1]))
      buttons.forEach((button, at) => {
        button.style.setProperty('--ink', data.inks[at] ?? 'none')
        if (at >= data.inks.length) return button.disabled = !clicks().length
        button.textContent = `${at + 1} · ${percent(things.filter(thing => thing === at + 1).length / total)}`
        button.setAttribute('aria-pressed', at + 1 === thing())
      })
    }
    root.dataset.things = [...things].join('')
    sheets = tints.length ? data.images.map((_, i) => sheetOf(i)) : null
  }
  const buttons = [...bar.children], thing = () => state.thing ?? 1
  const become = number => { state.thing = number; label() }
  const placeOf = patch => {                           // in thousandths, so that other grids know it
    const [i, row, column] = cellOf(patch), [rows, columns] = data.grids[i]
    return `${i + 1}:${[(column + 0.5) / columns, (row + 0.5) / rows].map(share => Math.round(1000 * share))}`
  }
  const paint = patch => {                             // once more takes it away
    const rest = clicks().filter(click => patchOf(click) !== patch)
    if (painted.get(patch) === thing()) tell(rest.join(' ') || 'none')
    else if (rest.length < data.most) tell([...rest, `${thing()}:${placeOf(patch)}`].join(' '))
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
  const tell = (value, told = value) => {
    state[set] = value; expectEcho(state, set, value); label(); draw()
    if (!data.alone) setStateValue(labels ? 'clicks' : 'pick', told)
  }
  const choose = patch => { state.over = null; tell(patch, patch < 0 ? '' : placeOf(patch)) }
  canvas.onpointermove = event => { if (event.pointerType === 'mouse') over(at(event)) }
  canvas.onpointerleave = () => over(null)
  canvas.onclick = event => { const patch = at(event); if (patch !== null) labels ? paint(patch) : choose(patch === state.chosen && !data.paired ? -1 : patch) }
  buttons.forEach((button, at) => {
    const act = [() => tell(clicks().slice(0, -1).join(' ') || 'none'), () => tell('none')][at - (data.inks ?? []).length]
    button.onclick = act ?? (() => become(at + 1))
  })
  canvas.onkeydown = event => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key]
    if (event.key === 'Enter' && shown() >= 0) { event.preventDefault(); (labels ? paint : choose)(shown()) }
    if (labels && data.inks[event.key - 1]) become(+event.key)
    if (!by) return
    event.preventDefault()
    const [i, row, column] = cellOf(Math.max(0, shown())), [rows, columns] = data.grids[i]
    over(starts[i] + clamp(row + by[0], 0, rows - 1) * columns + clamp(column + by[1], 0, columns - 1))
  }
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => draw())
  state.observer.observe(canvas.parentElement)
  bar.hidden = !labels
  label()
  draw()
  return () => state.observer?.disconnect()
}
