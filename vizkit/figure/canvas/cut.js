// After short, news.
// How an image becomes tokens: it comes apart into patches, each patch becomes a row of numbers, the rows are multiplied
// into embeddings, and positions are added. `step` says how far, from 1 to 5; from one step to another everything moves
// there, unless the reader wants no motion. Above, the one chosen patch with its own numbers; below, over the full width,
// all rows as matrices up to the sequence, in which rows of special tokens stand above those of the patches.
// Where the numbers of all patches are here, a click is answered without a server. Another size of the patches is counted
// and cut here too, but only patches of the model's own size have numbers: `sizes[own]`.

const CUTS = new WeakMap()
const MOVE_MS = 650                                    // as long as the scrubber rests: it plays on without a stop
const LEGIBLE_PX = 40                                  // of a patch, from which its number can be read
const EDGE_PX = 3                                      // around everything, for half of a frame's line
const LABEL_PX = 17, GAP_PX = 16, BETWEEN_PX = 22, SPECIAL_PX = 7
const ease = share => share * share * (3 - 2 * share)
const mix = (from, to, share) => from + (to - from) * share
const read = pack => pack && { ...pack, numbers: new Uint16Array(bytes(pack.values).buffer) }

export default function ({ data, parentElement, setStateValue }) {
  const [canvas, said, slider, counted] = ['canvas', 'output', 'input', 'span'].map(tag => parentElement.querySelector(tag))
  const first = !CUTS.has(parentElement), card = CUTS.get(parentElement) || { at: data.step }
  CUTS.set(parentElement, card)
  card.data = data
  if (card.url !== data.seen) {
    card.url = data.seen
    card.image = Object.assign(new Image(), { src: data.seen, onload: () => card.paint() })
  }
  if (isNews(card, 'size', data.size)) card.size = data.size
  const signed = bytes(data.signed)
  const tone = share => 3 * Math.round(clamp(127.5 + 127.5 * share, 0, 255))
  const colour = share => `rgb(${signed.slice(tone(share), tone(share) + 3).join(' ')})`
  const sheet = pack => {                              // a matrix as a picture, painted once
    const { rows, columns, values } = pack, numbers = new Int8Array(bytes(values).buffer), pixels = new ImageData(columns, rows)
    numbers.forEach((value, i) => pixels.data.set([...signed.slice(tone(value / 127), tone(value / 127) + 3), 255], 4 * i))
    const drawn = Object.assign(document.createElement('canvas'), { width: columns, height: rows })
    drawn.getContext('2d').putImageData(pixels, 0, 0)
    return drawn
  }
  const tiled = src => Object.assign(new Image(), { src, onload: () => card.paint() })
  if (isNews(card, 'sheets', [data.sheets, data.signed])) card.sheets = data.sheets.map(each =>
    ({ ...each, drawn: each.tiles ? tiled(each.tiles) : sheet(each), first: each.above && sheet(each.above), special: each.above ? each.above.rows : 0 }))
  card.packs = [data.patches, data.embedding, data.position].map(read)
  const own = data.sizes[data.own]
  if (isNews(card, 'cell', [data.cell, own, data.patches.values])) {
    card.read = null
    card.spot = [(data.cell % own.columns + 0.5) / own.columns, (Math.floor(data.cell / own.columns) + 0.5) / own.rows]
    card.hovered = null
  }
  const grid = () => data.sizes[card.size], isOwn = () => card.size === data.own
  const chosen = () => Math.floor(card.spot[1] * grid().rows) * grid().columns + Math.floor(card.spot[0] * grid().columns)
  const known = () => isOwn() && (card.packs[0].rows > 1 || chosen() === data.cell)
  const numbersOf = pack => {                          // of the chosen patch
    const from = pack.rows > 1 ? chosen() * pack.columns : 0
    return Float32Array.from({ length: pack.columns }, (_, i) => pack.low + pack.numbers[from + i] * pack.step)
  }

  // ---- where everything is, in points of the page ------------------------------------------------------------------------
  const layout = () => {
    const width = canvas.clientWidth - 2 * EDGE_PX, phone = width < 440, wide = width >= 800
    const side = phone ? Math.min(0.7 * width, 260) : Math.min(wide ? 380 : 300, (wide ? 0.34 : 0.54) * width)
    const tall = side * card.image.naturalHeight / card.image.naturalWidth, right = side + GAP_PX
    const small = phone ? Math.min(100, width - right) : wide ? 96 : 72
    const slot = { x: right, y: 0, side: isOwn() || phone ? small : Math.min(width - right, tall, 240) }
    const x = phone ? 0 : right, lanes = []
    let y = (phone ? Math.max(tall, small) : small) + 8
    for (const height of [13 * data.channels, 16, 16, 16].slice(0, data.position ? 4 : 2)) {
      lanes.push({ x, y: y + LABEL_PX, width: width - x - 1, height })
      y += LABEL_PX + height + 6
    }
    const top = Math.max(tall, y) + 8, across = phone ? 3 : card.sheets.length || 1
    const each = (width + BETWEEN_PX) / across - BETWEEN_PX, high = wide ? 170 : 96, line = high + 2 * LABEL_PX + 8
    const sheets = card.sheets.map(({ special }, i) => {  // where the rows of its patches are
      const over = special * SPECIAL_PX + (special && 3), x = i % across * (each + BETWEEN_PX)
      return { x, y: top + Math.floor(i / across) * line + LABEL_PX + over, width: each, height: high - over, over }
    })
    const height = isOwn() ? top + Math.ceil(card.sheets.length / across) * line : Math.max(tall, slot.side)
    return { width, side, tall, slot, lanes, sheets, height }
  }
  const inside = ({ offsetX, offsetY }) => [offsetX - EDGE_PX, offsetY - EDGE_PX]
  const within = (event, { x, y, width, height }) => {
    const [right, down] = inside(event)
    return right >= x && down >= y && right < x + width && down < y + height
  }
  const cellOf = event => {                            // of a patch, or of a row of a matrix
    const { side, tall, sheets } = layout(), { rows, columns } = grid(), [right, down] = inside(event)
    if (within(event, { x: 0, y: 0, width: side, height: tall }))
      return Math.floor(down / tall * rows) * columns + Math.floor(right / side * columns)
    const over = isOwn() && sheets.find((place, i) => card.sheets[i].of === 'patch' && within(event, place))
    return over ? Math.floor((down - over.y) / over.height * rows * columns) : null
  }

  // ---- drawing -------------------------------------------------------------------------------------------------------------
  const paint = card.paint = () => {
    if (!canvas.clientWidth || !card.image.complete || !card.image.naturalWidth) return
    const ratio = window.devicePixelRatio || 1, place = layout(), style = getComputedStyle(canvas), { rows, columns, patch } = grid()
    canvas.style.height = place.height + 2 * EDGE_PX + 'px'
    const [width, height] = [place.width, place.height].map(each => Math.round((each + 2 * EDGE_PX) * ratio))
    Object.assign(canvas, { width, height })            // the pen forgets what was drawn before
    const pen = canvas.getContext('2d'), ink = style.color, mark = style.getPropertyValue('--st-primary-color') || '#4338ca'
    pen.setTransform(ratio, 0, 0, ratio, EDGE_PX * ratio, EDGE_PX * ratio)
    const part = from => clamp(card.at - from, 0, 1)
    const apart = isOwn() ? ease(part(1)) : 1, out = part(2), product = part(3), sum = part(4)
    const fly = isOwn() ? ease(clamp(2 * out, 0, 1)) : 1, roll = ease(clamp(2 * out - 1, 0, 1))
    const { image, sheets } = card, { slot } = place, cell = chosen(), count = rows * columns
    const [cw, ch] = [place.side / columns, place.tall / rows], gap = 0.14 * Math.min(cw, ch) * apart
    const from = cell => [cell % columns, Math.floor(cell / columns)]
    const cut = (cell, x, y, w, h) => {
      const [column, row] = from(cell), [sw, sh] = [image.naturalWidth / columns, image.naturalHeight / rows]
      pen.drawImage(image, column * sw, row * sh, sw, sh, x, y, w, h)
    }
    const words = (text, x, y, width, share = 1, align = 'left') => {
      pen.fillStyle = ink
      pen.textAlign = align
      pen.globalAlpha = mix(0.35, 1, share)            // pale where it is still to come
      pen.fillText(text, x, y, width)
      pen.globalAlpha = 1
      pen.textAlign = 'left'
    }
    const outline = ({ x, y, width, height }) => {
      pen.strokeStyle = ink; pen.globalAlpha = 0.3; pen.lineWidth = 1
      pen.strokeRect(x - 0.5, y - 0.5, width + 1, height + 1)
      pen.globalAlpha = 1
    }
    const frame = (x, y, w, h, dark = mark, thin = 1) => {
      for (const [line, shade] of [[5 * thin, '#fff'], [3 * thin, dark]]) {
        pen.strokeStyle = shade; pen.lineWidth = line
        pen.strokeRect(x, y, w, h)
      }
    }
    const around = (cell, dark, thin) => { const [column, row] = from(cell); frame(column * cw, row * ch, cw, ch, dark, thin) }

    pen.imageSmoothingEnabled = image.naturalWidth > 300
    if (!apart) pen.drawImage(image, 0, 0, place.side, place.tall)
    for (let cell = 0; apart && cell < count; cell++) {
      const [column, row] = from(cell)
      cut(cell, column * cw + gap / 2, row * ch + gap / 2, cw - gap, ch - gap)
      if (cw < LEGIBLE_PX) continue
      pen.globalAlpha = apart
      pen.font = `600 ${clamp(0.34 * cw, 11, 14)}px ${style.fontFamily}`
      Object.assign(pen, { lineWidth: 3, lineJoin: 'round', strokeStyle: '#0b0d19', fillStyle: '#fff' })
      const [x, y] = [column * cw + gap / 2 + 3, row * ch + gap / 2 + clamp(0.4 * ch, 12, 15)]
      pen.strokeText(cell + 1, x, y)
      pen.fillText(cell + 1, x, y)
      pen.globalAlpha = 1
    }
    if (card.hovered !== null && card.hovered !== cell) around(card.hovered, '#0b0d19', 0.7)
    around(cell)
    pen.font = `12px ${style.fontFamily}`
    pen.imageSmoothingEnabled = false
    if (fly && (out || !isOwn())) {                    // the chosen patch flies out and grows
      const [column, row] = from(cell)
      cut(cell, mix(column * cw, slot.x, fly), mix(row * ch, slot.y, fly), mix(cw, slot.side, fly), mix(ch, slot.side, fly))
    }
    if (!isOwn()) return

    // ---- the chosen patch: its numbers, its embedding, its position, their sum ------------------------------------------
    const lane = (index, share, limit) => {
      const where = place.lanes[index], scaled = data.lanes[index] && share && where.width >= 200
      words(data.lanes[index], where.x, where.y - 5, where.width - (scaled ? 92 : 0), share)
      if (scaled) {                                    // what its colours mean
        const end = Number(limit.toPrecision(2)).toString(), x = where.x + where.width
        words(end, x, where.y - 5, 24, share, 'right')
        words('−' + end, x - 66, where.y - 5, 30, share, 'right')
        for (let i = 0; i < 36; i++) { pen.fillStyle = colour(i / 17.5 - 1); pen.fillRect(x - 62 + i, where.y - 13, 1, 8) }
      }
      return where
    }
    const strip = (values, { x, y, width, height }, upto, limit) => {
      const step = width / values.length
      for (let i = 0; i < Math.round(values.length * upto); i++) {
        pen.fillStyle = colour(values[i] / limit)
        pen.fillRect(x + i * step, y, Math.max(step, 0.7) + 0.3, height)
      }
      if (upto) outline({ x, y, width, height })       // of a step to come there is no empty bar
    }
    if (known()) {
      const values = numbersOf(card.packs[0]), most = largest(values), each = values.length / data.channels
      const one = lane(0, out, most)
      for (let at = 0; at < data.channels; at++) {
        const own = values.slice(at * each, (at + 1) * each), letter = data.channels === 3 ? 'RGB'[at] : ''
        const row = { x: one.x + (letter && 14), y: one.y + 13 * at, width: one.width - (letter && 14), height: 11 }
        if (roll) words(letter, one.x, row.y + 10, 12, out)
        if (roll === 1 || !roll) strip(own, row, roll, most)
        else own.forEach((value, i) => {               // every pixel moves from its place in the patch to its place in the row
          const step = row.width / each, pixel = slot.side / patch, late = ease(clamp(1.6 * roll - 0.6 * i / each, 0, 1))
          pen.fillStyle = colour(value / most)
          pen.fillRect(mix(slot.x + i % patch * pixel, row.x + i * step, late),
            mix(slot.y + Math.floor(i / patch) * pixel, row.y, late), mix(pixel, step + 0.3, late), mix(pixel, row.height, late))
        })
      }
      const embedded = numbersOf(card.packs[1]), position = card.packs[2] && numbersOf(card.packs[2])
      const token = position && embedded.map((value, i) => value + position[i])
      const limit = largest(token ? [...embedded, ...token] : embedded)
      strip(embedded, lane(1, product, limit), ease(product), limit)
      if (token) {
        const own = largest(position)                  // often far smaller: on the others' scale they would be white
        strip(position, lane(2, sum, own), ease(clamp(2 * sum, 0, 1)), own)
        strip(token, lane(3, sum, limit), ease(clamp(2 * sum - 1, 0, 1)), limit)
      }
      card.values = [values, embedded, position, token]
    } else card.values = []

    // ---- all patches: a row each -------------------------------------------------------------------------------------------
    const landed = clamp((1.6 * out - 1) / 0.6, 0, 1)  // so many rows have come
    const shares = { patches: out === 1 ? 1 : landed, embeddings: product, positions: clamp(2 * sum, 0, 1), tokens: clamp(2 * sum - 1, 0, 1) }
    sheets.forEach(({ name, before, size, of, drawn, first, tiles, special }, i) => {
      const at = place.sheets[i], share = of === 'patch' ? shares[name] : Number(product > 0), head = at.y - at.over
      words(special ? `${data.special} + patches` : name, at.x, head - 5, at.width, share)
      words(size, at.x, at.y + at.height + 14, at.width, share)
      words(before, at.x - BETWEEN_PX / 2, at.y + at.height / 2 + 4, 18, share, 'center')
      if (first && share) {
        pen.drawImage(first, at.x, head, at.width, special * SPECIAL_PX)
        frame(at.x, head, at.width, special * SPECIAL_PX, mark, 0.4)
      }
      if (tiles) {                                     // as large as they fit, each a square
        const zoom = Math.min(at.width / drawn.naturalWidth, at.height / drawn.naturalHeight) || 0
        pen.globalAlpha = mix(0.25, 1, share)
        if (zoom) pen.drawImage(drawn, at.x, at.y, drawn.naturalWidth * zoom, drawn.naturalHeight * zoom)
        pen.globalAlpha = 1
        return
      }
      pen.drawImage(drawn, 0, 0, drawn.width, Math.max(0.01, drawn.height * share), at.x, at.y, at.width, at.height * share)
      outline(at)
      if (of !== 'patch') return
      const along = (cell, dark) => frame(at.x, at.y + (cell + 0.5) / count * at.height - 1.5, at.width, 3, dark, 0.6)
      if (share > (cell + 0.5) / count) along(cell)
      if (card.hovered !== null && share === 1) along(card.hovered, '#0b0d19')
    })
    if (card.read) {                                   // the number under the pointer, beside it
      const [text, right, down] = card.read, wide = pen.measureText(text).width + 14
      const x = clamp(right + 12, 0, place.width - wide), y = Math.max(0, down - 34)
      pen.fillStyle = '#0b0d19'; pen.fillRect(x, y, wide, 22)
      pen.fillStyle = '#fff'; pen.fillText(text, x + 7, y + 15)
    }
    if (out > 0 && out < 1) {                          // they fly there in reading order, and become flat
      const at = place.sheets[0]
      for (let cell = 0; cell < count; cell++) {
        const late = ease(clamp(1.6 * out - 0.6 * cell / count, 0, 1)), [column, row] = from(cell)
        if (late > 0 && late < 1) cut(cell, mix(column * cw, at.x, late), mix(row * ch, at.y + cell / count * at.height, late),
          mix(cw - gap, at.width, late), mix(ch - gap, Math.max(1, at.height / count), late))
      }
    }
  }

  // ---- words ---------------------------------------------------------------------------------------------------------------
  const name = cell => `patch ${cell + 1}: row ${Math.floor(cell / grid().columns) + 1}, column ${cell % grid().columns + 1}`
  const tell = (more = '') => { said.textContent = name(card.hovered ?? chosen()) + (!isOwn() ? ` · ${data.other}` : more && ` · ${more}`) }
  const point = event => {                             // one number of a strip
    const { lanes } = layout(), [right, down] = inside(event), index = isOwn() && card.values ? lanes.findIndex((place, i) => card.values[i] && within(event, place)) : -1
    if (index < 0) return ''
    const values = card.values[index], { x, y, width } = lanes[index], colours = index ? 1 : data.channels, lead = colours === 3 ? 14 : 0
    const each = values.length / colours, at = Math.floor(clamp((right - x - lead) / (width - lead), 0, 0.999) * each)
    const band = index ? 0 : clamp(Math.floor((down - y) / 13), 0, colours - 1), { patch } = grid()
    const where = index ? `number ${at + 1} of ${each}`
      : `${colours === 3 ? ['red', 'green', 'blue'][band] : 'value'} of its row ${Math.floor(at / patch) + 1}, column ${at % patch + 1}`
    return `${where}: ${number(values[band * each + at])}`
  }
  const count = () => {
    Object.assign(slider, { max: data.sizes.length - 1, value: card.size })
    counted.textContent = grid().words
    slider.parentElement.style.display = data.sizes.length < 2 ? 'none' : ''
    slider.setAttribute('aria-valuetext', `${grid().patch} pixels`)
  }

  // ---- the pointer and the keys --------------------------------------------------------------------------------------------
  const choose = cell => {
    const { rows, columns } = grid(), [x0, y0, x1, y1] = data.box, before = card.spot
    card.spot = [(cell % columns + 0.5) / columns, (Math.floor(cell / columns) + 0.5) / rows]
    card.hovered = null
    if (data.alone && isOwn() && !known()) card.spot = before  // nobody could answer
    paint()
    tell()
    const shown = [mix(x0, x1, card.spot[0]), mix(y0, y1, card.spot[1])]
    clearTimeout(card.timer)
    card.timer = setTimeout(() => setStateValue('point', shown.map(each => clamp(Math.round(1e4 * each) / 1e4, 0, 0.9999))), 120)
  }
  canvas.onpointermove = event => {
    card.hovered = cellOf(event)
    canvas.style.cursor = card.hovered === null ? '' : 'pointer'
    const text = point(event)
    card.read = text && [text, ...inside(event)]
    paint()
    tell(text)
  }
  canvas.onpointerleave = () => { card.hovered = card.read = null; tell(); paint() }
  canvas.onclick = event => { const cell = cellOf(event); if (cell !== null) choose(cell) }
  canvas.onkeydown = event => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] || [0, 0]
    if (!down && !right) return
    event.preventDefault()
    const { rows, columns } = grid(), cell = chosen()
    choose(clamp(Math.floor(cell / columns) + down, 0, rows - 1) * columns + clamp(cell % columns + right, 0, columns - 1))
  }
  canvas.setAttribute('aria-label', `${data.label} Use the arrow keys to choose another patch.`)
  slider.oninput = () => { card.size = Number(slider.value); card.hovered = null; count(); tell(); paint() }
  slider.onchange = () => { expectEcho(card, 'size', card.size); setStateValue('patch', isOwn() ? 0 : grid().patch) }

  // ---- from step to step ---------------------------------------------------------------------------------------------------
  count()
  tell()
  const still = first || matchMedia('(prefers-reduced-motion: reduce)').matches
  cancelAnimationFrame(card.frame)
  const begun = performance.now(), start = card.at
  const move = now => {
    card.at = still ? data.step : mix(start, data.step, clamp((now - begun) / MOVE_MS, 0, 1))
    paint()
    canvas.dataset.step = card.at
    if (card.at !== data.step) card.frame = requestAnimationFrame(move)
  }
  move(begun)
  if (first) new ResizeObserver(() => card.paint()).observe(canvas)
}
