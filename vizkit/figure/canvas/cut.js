// How a picture becomes tokens: it comes apart into patches, the chosen one flies out, its pixels roll out into a row of
// numbers, these are multiplied into the embedding, and the position is added. `step` says how far, from 1 to 5; from one
// step to the next everything moves there, unless the reader wants no motion. The numbers are the model's own; where those of
// all patches are here, a click is answered without a server.

const CUTS = new WeakMap()
const MOVE_MS = 900
const LEGIBLE_PX = 36                                  // of a patch, from which its number can be read
const ease = share => share * share * (3 - 2 * share)
const mix = (from, to, share) => from + (to - from) * share
const read = pack => pack && { ...pack, numbers: new Uint16Array(bytes(pack.values).buffer) }

export default function ({ data, parentElement, setStateValue }) {
  const canvas = parentElement.querySelector('canvas'), said = parentElement.querySelector('output')
  const first = !CUTS.has(parentElement), card = CUTS.get(parentElement) || { at: data.step }
  CUTS.set(parentElement, card)
  card.data = data
  if (card.url !== data.seen) {
    card.url = data.seen
    card.image = Object.assign(new Image(), { src: data.seen, onload: () => card.paint() })
  }
  if (card.text !== data.patches.values || card.cell0 !== data.cell) {
    Object.assign(card, { text: data.patches.values, cell0: data.cell, cell: data.cell, hovered: null })
    card.patches = read(data.patches)
    card.lanes = [read(data.embedding), read(data.position)]
    card.weights = null
  }
  const signed = card.signed = card.signed || bytes(data.signed)
  const { rows, columns, channels, patch } = data, count = rows * columns
  const known = cell => card.patches.rows > 1 || cell === card.cell0
  const numbersOf = pack => {                          // of the chosen patch
    const from = pack.rows > 1 ? card.cell * pack.columns : 0
    return Float32Array.from({ length: pack.columns }, (_, i) => pack.low + pack.numbers[from + i] * pack.step)
  }
  const tone = share => 3 * Math.round(clamp(127.5 + 127.5 * share, 0, 255))
  const colour = share => `rgb(${signed.slice(tone(share), tone(share) + 3).join(' ')})`
  const list = values => [...values.slice(0, 6)].map(value => number(value, 2)).join(', ') + ' …'

  if (data.weights && !card.weights) {                 // a picture of W, painted once
    const { rows: down, columns: across, values } = data.weights, numbers = new Int8Array(bytes(values).buffer)
    const sheet = Object.assign(document.createElement('canvas'), { width: across, height: down })
    const pixels = new ImageData(across, down)
    numbers.forEach((value, i) => pixels.data.set([...signed.slice(tone(value / 127), tone(value / 127) + 3), 255], 4 * i))
    sheet.getContext('2d').putImageData(pixels, 0, 0)
    card.weights = sheet
  }

  // ---- where everything is, in points of the page ------------------------------------------------------------------------
  const layout = () => {
    const width = canvas.clientWidth, wide = width >= 720
    const side = wide ? Math.min(430, 0.46 * width) : Math.min(0.74 * width, 380), tall = side * rows / columns
    const slot = { x: side + 16, y: 0, side: wide ? 104 : Math.min(104, width - side - 16) }
    const x = wide ? side + 16 : 0, strip = channels > 1 ? 11 : 20
    const lanes = [], next = (height, y) => lanes.push({ x, y, width: width - x, height }) && y + 18 + height + 9
    let y = next(channels * (strip + 2), wide ? slot.side + 10 : Math.max(tall, slot.side) + 14)
    y = next(40, y)
    y = next(18, y)
    y = next(18, y)
    return { width, height: Math.max(tall, y), side, tall, slot, lanes, strip }
  }
  const cellOf = ({ offsetX, offsetY }) => {
    const { side, tall } = layout()
    if (offsetX >= side || offsetY >= tall) return null
    return Math.floor(offsetY / tall * rows) * columns + Math.floor(offsetX / side * columns)
  }

  // ---- drawing -------------------------------------------------------------------------------------------------------------
  const paint = card.paint = () => {
    const ratio = window.devicePixelRatio || 1, place = layout(), style = getComputedStyle(canvas)
    if (!place.width || !card.image.complete || !card.image.naturalWidth) return
    canvas.style.height = place.height + 'px'
    const [width, height] = [place.width, place.height].map(each => Math.round(each * ratio))
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
    const pen = canvas.getContext('2d'), ink = style.color, mark = style.getPropertyValue('--st-primary-color') || '#4338ca'
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.clearRect(0, 0, place.width, place.height)
    const part = from => ease(clamp(card.at - from, 0, 1)), apart = part(1), out = part(2), product = part(3), sum = part(4)
    const fly = ease(clamp(2 * out, 0, 1)), roll = ease(clamp(2 * out - 1, 0, 1))
    const image = card.image, [cw, ch] = [place.side / columns, place.tall / rows], gap = 0.14 * Math.min(cw, ch) * apart
    const from = cell => [cell % columns, Math.floor(cell / columns)]
    const cut = (cell, x, y, w, h) => {
      const [column, row] = from(cell), [sw, sh] = [image.naturalWidth / columns, image.naturalHeight / rows]
      pen.drawImage(image, column * sw, row * sh, sw, sh, x, y, w, h)
    }
    pen.imageSmoothingEnabled = image.naturalWidth > 300
    if (!apart) pen.drawImage(image, 0, 0, place.side, place.tall)
    for (let cell = 0; apart && cell < count; cell++) {
      const [column, row] = from(cell)
      cut(cell, column * cw + gap / 2, row * ch + gap / 2, cw - gap, ch - gap)
      if (cw < LEGIBLE_PX) continue
      pen.globalAlpha = apart
      pen.font = `${Math.min(13, 0.34 * cw)}px ${style.fontFamily}`
      pen.lineWidth = 2.5
      pen.strokeStyle = '#0b0d19'
      pen.fillStyle = '#fff'
      const [x, y] = [column * cw + gap / 2 + 3, row * ch + gap / 2 + Math.min(14, 0.4 * ch)]
      pen.strokeText(cell + 1, x, y)
      pen.fillText(cell + 1, x, y)
      pen.globalAlpha = 1
    }
    const frame = (cell, dark) => {
      const [column, row] = from(cell)
      for (const [line, shade] of [[4, dark], [2, '#fff']]) {
        pen.strokeStyle = shade; pen.lineWidth = line
        pen.strokeRect(column * cw, row * ch, cw, ch)
      }
    }
    if (card.hovered !== null && card.hovered !== card.cell) frame(card.hovered, mark)
    frame(card.cell, '#0b0d19')
    if (out) {                                         // the patch flies out and grows
      const [column, row] = from(card.cell), { slot } = place
      pen.imageSmoothingEnabled = false
      cut(card.cell, mix(column * cw, slot.x, fly), mix(row * ch, slot.y, fly), mix(cw, slot.side, fly), mix(ch, slot.side, fly))
    }
    pen.font = `12px ${style.fontFamily}`
    pen.textBaseline = 'alphabetic'
    const label = (lane, words, values, shown) => {    // pale where it is still to come
      pen.fillStyle = ink
      pen.globalAlpha = mix(0.3, 1, shown)
      pen.fillText(words, lane.x, lane.y + 12, lane.width)
      const left = pen.measureText(words + '  ').width
      pen.globalAlpha = 0.7 * shown
      if (shown && left + 60 < lane.width) {
        pen.save()
        pen.beginPath(); pen.rect(lane.x + left, lane.y, lane.width - left, 18); pen.clip()
        pen.fillText(list(values), lane.x + left, lane.y + 12)
        pen.restore()
      }
      pen.globalAlpha = 1
    }
    const strip = (values, x, y, width, height, upto = 1, limit = largest(values)) => {
      const step = width / values.length
      for (let i = 0; i < values.length * upto; i++) {
        pen.fillStyle = colour(values[i] / limit)
        pen.fillRect(x + i * step, y, Math.max(step, 0.7) + 0.3, height)
      }
      pen.strokeStyle = ink; pen.globalAlpha = 0.25; pen.lineWidth = 1
      pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1)
      pen.globalAlpha = 1
    }
    const [one, two, three, four] = place.lanes, values = numbersOf(card.patches), each = values.length / channels
    label(one, `${values.length} numbers${channels > 1 ? ': red, green, blue' : ''}`, values, roll)
    const most = largest(values)
    for (let colourAt = 0; colourAt < channels; colourAt++) {
      const own = values.slice(colourAt * each, (colourAt + 1) * each), y = one.y + 18 + colourAt * (place.strip + 2)
      if (roll === 1 || !out) strip(own, one.x, y, one.width, place.strip, roll, most)
      else if (roll) {                                 // every pixel moves from its place in the patch to its place in the row
        const step = one.width / each, pixel = place.slot.side / patch
        own.forEach((value, i) => {
          const late = ease(clamp(1.6 * roll - 0.6 * i / each, 0, 1))
          pen.fillStyle = colour(value / most)
          pen.fillRect(mix(place.slot.x + i % patch * pixel, one.x + i * step, late),
            mix(place.slot.y + Math.floor(i / patch) * pixel, y, late), mix(pixel, step + 0.3, late), mix(pixel, place.strip, late))
        })
      }
    }
    const embedded = numbersOf(card.lanes[0]), side = card.weights ? 40 : 0
    label(two, card.weights ? `× W (${embedded.length} × ${values.length})${data.bias ? ' + b' : ''} = its embedding` : 'its embedding', embedded, product)
    if (card.weights) {
      pen.globalAlpha = mix(0.15, 1, product)
      pen.imageSmoothingEnabled = false
      pen.drawImage(card.weights, two.x, two.y + 18, side, side)
      pen.globalAlpha = 1
      if (product > 0 && product < 1) {                // the row of W that makes the number
        pen.strokeStyle = mark; pen.lineWidth = 1.5
        pen.strokeRect(two.x, two.y + 18 + product * side - 1, side, 2)
      }
    }
    strip(embedded, two.x + side + (side && 10), two.y + 29, two.width - side - (side && 10), 18, product)
    if (card.lanes[1]) {
      const position = numbersOf(card.lanes[1]), token = embedded.map((value, i) => value + position[i])
      label(three, '+ the learned position of this place', position, sum)
      strip(position, three.x, three.y + 18, three.width, 18, clamp(2 * sum, 0, 1))
      label(four, '= the token that enters the first layer', token, sum)
      strip(token, four.x, four.y + 18, four.width, 18, clamp(2 * sum - 1, 0, 1))
    } else label(three, data.without, [], 0.4 + 0.6 * sum)
    if (!known(card.cell)) said.textContent = ''
  }
  const name = cell => `patch ${cell + 1}: row ${Math.floor(cell / columns) + 1}, column ${cell % columns + 1}`
  const tell = () => { said.textContent = name(card.hovered ?? card.cell) }

  // ---- the pointer and the keys --------------------------------------------------------------------------------------------
  const choose = cell => {
    const [x0, y0, x1, y1] = data.box, share = [(cell % columns + 0.5) / columns, (Math.floor(cell / columns) + 0.5) / rows]
    if (data.alone && !known(cell)) return
    if (known(cell)) { card.cell = cell; paint() }
    card.hovered = null
    tell()
    const point = [mix(x0, x1, share[0]), mix(y0, y1, share[1])]
    clearTimeout(card.timer)
    card.timer = setTimeout(() => setStateValue('point', point.map(each => clamp(Math.round(1e4 * each) / 1e4, 0, 0.9999))), 120)
  }
  canvas.onpointermove = event => {
    const cell = cellOf(event)
    if (cell === card.hovered) return
    card.hovered = cell
    canvas.style.cursor = cell === null ? '' : 'pointer'
    tell()
    paint()
  }
  canvas.onpointerleave = () => { card.hovered = null; tell(); paint() }
  canvas.onclick = event => { const cell = cellOf(event); if (cell !== null) choose(cell) }
  canvas.onkeydown = event => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] || [0, 0]
    if (!down && !right) return
    event.preventDefault()
    choose(clamp(Math.floor(card.cell / columns) + down, 0, rows - 1) * columns + clamp(card.cell % columns + right, 0, columns - 1))
  }
  canvas.setAttribute('aria-label', `${data.label} Use the arrow keys to choose another patch.`)

  // ---- from step to step ---------------------------------------------------------------------------------------------------
  tell()
  const still = first || matchMedia('(prefers-reduced-motion: reduce)').matches
  cancelAnimationFrame(card.frame)
  const begun = performance.now(), start = card.at
  const move = now => {
    card.at = still ? data.step : mix(start, data.step, clamp((now - begun) / (MOVE_MS * Math.max(1, Math.abs(data.step - start) / 2)), 0, 1))
    paint()
    canvas.dataset.step = card.at
    if (card.at !== data.step) card.frame = requestAnimationFrame(move)
  }
  move(begun)
  if (first) new ResizeObserver(() => card.paint()).observe(canvas)
}
